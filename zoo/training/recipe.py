"""How to train: every hyper-parameter in one frozen object, with its unit, and the presets."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal, get_args

import attrs

from zoo.errors import SettingError, TrainingError
from zoo.names import OBJECTIVE_NAMES, OBJECTIVE_SETTINGS, default_model

Schedule = Literal["one_cycle", "cosine"]
Optimizer = Literal["sgd", "muon"]
# Settings that were added later, with the one value that they had before: what a card means that does not name them.
UNNAMED = {
    "shift": True,
    "jitter": 0.0,
    "teaching": 0.7,
    "renew": False,
    "optimizer": "sgd",
    "bits": 32,
    "divergence": None,
    "aim": None,
}
_ONLY_SOMETIMES = sorted({name for name in OBJECTIVE_SETTINGS.values() if name})  # settings of single objectives
BITS = (32, 16, 8)
PRESETS = ("standard", "strong", "fast", "paper")
LARGE = 10_000  # training images from which a recipe makes fewer passes, with larger batches


@attrs.frozen(kw_only=True)
class Recipe:
    """The settings of a training run. They go into the model's card as they stand here.

    >>> Recipe(epochs=10, lr=0.2).batch
    256
    >>> Recipe(epochs=10, objective="stabilty")
    Traceback (most recent call last):
        ...
    zoo.errors.SettingError: objective = 'stabilty': write one of noisy, stability, consistency, radius
    """

    epochs: int  # passes over the training images; 0 keeps the weights that a run starts with
    batch: int = 256  # images a step, over all processes together
    objective: str = "noisy"  # one of OBJECTIVE_NAMES
    divergence: float | None = None  # weight of the divergence between two draws; None: as published, 6 and 10
    aim: float | None = None  # the distance in the metric at which `radius` certifies most; None: 0.22
    optimizer: Optimizer = "sgd"  # SGD with momentum; muon makes its steps of matrices and kernels orthogonal
    schedule: Schedule = "one_cycle"  # after the warm-up: a straight line, or half a cosine, down to lr * final
    lr: float = 0.2  # peak learning rate, a step
    warmup: float = 0.2  # share of all steps during which the rate rises in a straight line from 0 to lr
    final: float = 0.0  # last learning rate, as a share of lr
    momentum: float = 0.9  # of the gradient, a step
    nesterov: bool = True
    weight_decay: float = 5e-4  # a step, times the learning rate; not for norms and biases
    label_smoothing: float = 0.0  # share of the target given to all classes alike
    teaching: float = (
        0.7  # share of the loss that compares with the teachers, if there are any; the rest is the labels'
    )
    ema: float = 0.995  # decay a step of the averaged weights, which are the ones kept; 0 keeps the last weights
    renew: bool = False  # estimate batch norms again for the averaged weights: for a large ema and rates that stay high
    shift: bool = True  # move images by a few pixels, where the data set says that this keeps the class
    jitter: float = 0.0  # random change of contrast by up to this share, of brightness by up to half of it; images only
    clip: float = 5.0  # largest norm of the gradient; 0 does not clip
    bf16: bool = True  # autocast to bfloat16 where the device computes faster in it
    bits: int = 32  # of each weight on the disk: 16 or 8 rounds matrices and kernels at the end, for a smaller file

    def __attrs_post_init__(self) -> None:
        if self.objective not in OBJECTIVE_NAMES:
            raise SettingError(f"objective = {self.objective!r}: write one of {', '.join(OBJECTIVE_NAMES)}")
        for name, choices in (("schedule", get_args(Schedule)), ("optimizer", get_args(Optimizer))):
            if getattr(self, name) not in choices:
                raise SettingError(f"{name} = {getattr(self, name)!r}: write one of {', '.join(choices)}")
        for name in ("nesterov", "renew", "shift", "bf16"):
            if not isinstance(getattr(self, name), bool):
                raise SettingError(f"{name} = {getattr(self, name)!r}: write true or false (True or False in Python)")
        for name in _ONLY_SOMETIMES:
            if getattr(self, name) is not None and name != OBJECTIVE_SETTINGS[self.objective]:
                fitting = [repr(key) for key, setting in OBJECTIVE_SETTINGS.items() if setting == name]
                raise SettingError(
                    f"{name} = {getattr(self, name)!r}: the objective {self.objective!r} has no such setting; write "
                    f"objective={' or '.join(fitting)}"
                )
        if self.bits not in BITS:
            raise SettingError(f"bits = {self.bits!r}: write one of {', '.join(map(str, BITS))}")
        ranges: dict[str, tuple[float, float]] = {
            "epochs": (0, 10**6),
            "batch": (1, 10**6),
            "lr": (0, 1e3),
            "warmup": (0, 1),
            "final": (0, 1),
            "momentum": (0, 1),
            "weight_decay": (0, 1),
            "label_smoothing": (0, 1),
            "teaching": (0, 1),
            "ema": (0, 1),
            "jitter": (0, 1),
            "clip": (0, float("inf")),
            "divergence": (0, 1e3),
            "aim": (0, 0.5),
        }
        for name in _ONLY_SOMETIMES:
            if getattr(self, name) is None:
                del ranges[name]
        for name, (low, high) in ranges.items():
            value, whole = getattr(self, name), name in ("epochs", "batch")
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                raise SettingError(f"{name} = {value!r}: write {'a whole number' if whole else 'a number'}")
            if not low <= value <= high:
                raise SettingError(f"{name} = {value}: it lies between {low} and {high}")

    def objective_settings(self) -> dict[str, float]:
        """Return what the objective is told beside logits and labels: a setting of its own that was given."""
        name = OBJECTIVE_SETTINGS[self.objective]
        return {} if name is None or getattr(self, name) is None else {name: getattr(self, name)}

    def changed(self, changes: dict[str, Any]) -> Recipe:
        """Return the recipe with some fields replaced; an unknown field is an error that names the nearest one.

        >>> Recipe(epochs=10).changed({"learning_rate": 1})
        Traceback (most recent call last):
            ...
        zoo.errors.SettingError: unknown training setting 'learning_rate'; the settings are epochs, batch, ...
        """
        known = [field.name for field in attrs.fields(Recipe)]
        for name in changes:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"the settings are {', '.join(known)}"
                raise SettingError(f"unknown training setting {name!r}; {hint}")
        return attrs.evolve(self, **changes)

    def require_even(self, processes: int) -> None:
        """Raise TrainingError where so many processes cannot have equal shares of a batch."""
        if left := self.batch % processes:
            even = self.batch - left or processes
            raise TrainingError(
                f"a batch of {self.batch} images is not shared evenly by {processes} processes: write batch={even} "
                f"(--set batch={even}), or start another number of processes"
            )


def settings_in(training: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a card says of a training, with the settings that are newer than the card.

    >>> settings_in({"lr": 0.1, "half": True})["bits"]
    16
    """
    half = {"bits": 16} if training.get("half") else {}  # the name that this setting had at first
    return {**UNNAMED, **half, **training}


def seconds_of(training: Mapping[str, Any]) -> float:
    """Return what a training took, by its card; cards of earlier versions know the last session of a resumed one."""
    return float(training.get("seconds", training.get("seconds_of_last_session", 0.0)))


@attrs.frozen(kw_only=True)
class Preset:
    """A recipe together with the network and the design it was made for."""

    recipe: Recipe
    model: str
    per_alpha: int | None  # B = per_alpha * alpha outcomes, alpha = 1/g(1); None: the default budget of the metric
    kind: Literal["aperiodic", "periodic"]
    coupling: Literal["spread", "independent"]
    order: Literal["graded", "interleaved", "published"]
    teachers: int = 0  # networks that are trained first, by `standard` with other seeds, unless teachers are given

    def usual(self, started: bool) -> Recipe:
        """Return the recipe; at half the learning rate if the run starts with the weights of a finished model."""
        return attrs.evolve(self.recipe, lr=self.recipe.lr / 2) if started else self.recipe

    def recipe_for(self, images: int, changes: dict[str, Any], *, started: bool) -> Recipe:
        """Return the usual recipe with these settings changed, and a batch of at most all images."""
        recipe = self.usual(started).changed(changes)
        return attrs.evolve(recipe, batch=min(recipe.batch, images))


def preset(name: str, images: int, shape: tuple[int, ...]) -> Preset:
    """Return the preset called `name` for so many training images of that shape.

    `standard` is the default: what an hour of one CPU core gives on CIFAR-10. `fast` gives a first model in minutes.
    Both have an aperiodic design of about 128 alpha outcomes in a spread coupling; they differ for large sets of small
    images, where `standard` has a wider network and twice as many epochs. `strong` takes several hours: it trains two
    networks by `standard`, and then one that learns their mean answers together with the labels.
    `paper` is the recipe of Levine & Feizi (2022) for CIFAR-10 (and ResNet-50 for large images): B = 1000 alpha
    periodic outcomes in the published order, 120 epochs, cosine; add objective="stability" for its second half.

    >>> [preset(name, 50_000, (3, 32, 32)).recipe.epochs for name in PRESETS]
    [48, 32, 24, 120]
    >>> preset("standard", 1438, (1, 8, 8)) == preset("fast", 1438, (1, 8, 8))
    True
    >>> preset("paper", 50_000, (3, 32, 32)).model
    'wide_resnet40_2'
    """
    if name == "strong":
        usual = preset("standard", images, shape)
        wide = usual.model == "medium_cnn"
        recipe = attrs.evolve(usual.recipe, epochs=32, bits=8) if wide else usual.recipe
        return attrs.evolve(usual, recipe=recipe, model="large_cnn" if wide else usual.model, teachers=2)
    if name in ("standard", "fast"):
        wide = name == "standard" and images >= LARGE and len(shape) == 3 and 16 <= shape[-1] < 64
        epochs = max(48 if wide else 24, min(150, 240_000 // max(1, images)))
        many = Recipe(epochs=epochs, shift=wide, optimizer="muon", bits=16 if wide else 32)
        few = Recipe(epochs=epochs, batch=128, lr=0.1)
        return Preset(
            recipe=many if images >= LARGE else few,
            model="medium_cnn" if wide else default_model(shape),
            per_alpha=None,
            kind="aperiodic",
            coupling="spread",
            order="graded",
        )
    if name == "paper":
        large = len(shape) == 3 and shape[-1] > 64
        paper = Recipe(
            epochs=90 if large else 120,
            batch=256 if large else 64,
            schedule="cosine",
            lr=0.1,
            warmup=0.0,
            nesterov=False,
            weight_decay=1e-4,
            ema=0.0,
            clip=0.0,
        )
        network = "resnet50" if large else "wide_resnet40_2"
        return Preset(
            recipe=paper, model=network, per_alpha=1000, kind="periodic", coupling="independent", order="published"
        )
    raise SettingError(
        f"preset {name!r}: write one of {', '.join(PRESETS)}, and change single settings by name, as in lr=0.1"
    )
