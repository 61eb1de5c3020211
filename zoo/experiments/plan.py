"""What an experiment costs: counted in forward passes, and in time by steps measured on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch
from torch import nn

from ecm.errors import ECMError
from ecm.jsontext import read_json
from smoothing import Scheme, SmoothedClassifier
from smoothing.certificates import Certifier
from smoothing.scheme import Noise, channels
from zoo.certification import METHODS
from zoo.data import Dataset
from zoo.distributed import choose_device
from zoo.experiments.catalogue import FAMILIES
from zoo.experiments.declarations import Experiment, Scale
from zoo.experiments.schemes import make_scheme, votes_an_image
from zoo.files import write_json
from zoo.folder import PLAN
from zoo.models import Base, build_network
from zoo.training import OBJECTIVES, Average, Preset, bf16_pays, make_optimizer, preset

MOST_EPOCHS = 120  # as many as the paper's
FEWEST_IMAGES = 20
_CERTIFY_SHARE = 0.25  # of the time, at most
_PART = (3, 32, 32)  # certificates of larger images are timed on so many features and scaled


@attrs.frozen
class Size:
    """How large a data set is."""

    shape: tuple[int, ...]
    q: int
    classes: int
    train: int
    test: int

    @classmethod
    def of(cls, data: Dataset) -> Size:
        """
        >>> from zoo import load_data
        >>> Size.of(load_data("digits")) == SIZES["digits"]
        True
        """
        return cls(data.shape, data.q, data.classes, len(data.train), len(data.test))


SIZES = {  # known without the files
    "digits": Size((1, 8, 8), 16, 10, 1438, 359),
    "cifar10": Size((3, 32, 32), 255, 10, 50_000, 10_000),
    "imagenet": Size((3, 224, 224), 255, 1000, 1_281_167, 50_000),
}


@attrs.frozen
class Speed:
    """Seconds on this machine: of a training draw (one noisy image, forward and backward), of a vote, of the three
    certificates of an image."""

    draw: float
    vote: float
    certificate: float


@attrs.frozen
class Cost:
    """The cost of a whole experiment at one scale."""

    models: int
    draws: int  # training: epochs x images x draws per image, over all models
    votes: int  # certification: images x forward passes per image, over all models
    certified: int  # images, over all models
    seconds: float


def recipe_of(scale: Scale, size: Size) -> Preset:
    """Return the preset of a scale."""
    return preset("paper" if scale == "paper" else "fast", size.train, size.shape)


def cost(
    experiment: Experiment, scale: Scale, speed: Speed, size: Size, *, epochs: int | None = None, images: int = 0
) -> Cost:
    """Return what `epochs` (None: the recipe's) and `images` (0: the experiment's) come to on data of this size.

    >>> from zoo.experiments.catalogue import find_experiment
    >>> found = cost(find_experiment("digits"), "small", Speed(1e-3, 1e-4, 0), SIZES["digits"], epochs=2, images=100)
    >>> found.models, found.draws, found.votes, round(found.seconds, 1)
    (4, 11504, 129600, 24.5)
    """
    epochs = recipe_of(scale, size).recipe.epochs if epochs is None else epochs
    images = images or experiment.images or size.test
    models = experiment.models(scale).values()
    trained = [family for family, _ in models if family.lender(scale) is None]
    draws = sum(epochs * size.train * OBJECTIVES[family.objective].draws for family in trained)
    votes = sum(images * votes_an_image(family, alpha, size.q, scale) for family, alpha in models)
    certified = images * len(models)
    seconds = draws * speed.draw + votes * speed.vote + certified * speed.certificate
    return Cost(len(models), draws, votes, certified, seconds)


def measure(size: Size, scale: Scale, device: str | torch.device | None = None, seconds: float = 0.3) -> Speed:
    """Time a few steps of the network of this scale on made-up images of this size; takes a second or a few."""
    where = choose_device(device)
    chosen = recipe_of(scale, size)
    scheme = Scheme.l1(6, size.shape, size.q)
    shape = (channels(scheme.representation, size.shape[0]), *size.shape[1:])
    with torch.random.fork_rng():
        _, network = build_network(chosen.model, shape, size.classes)
    base = Base(network, torch.zeros(()), torch.ones(())).to(where).train()
    base.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    batch = 2 if size.shape[-1] > 64 else min(16 if scale == "paper" else 128, chosen.recipe.batch)
    levels = torch.arange(batch * scheme.features).remainder(size.q + 1).view(batch, *size.shape).to(torch.uint8)
    levels, labels = levels.to(where), torch.arange(batch, device=where) % size.classes
    samples = torch.arange(batch) % scheme.samples
    noise, recipe = Noise(scheme, where), chosen.recipe
    optimizer, average = make_optimizer(base, recipe), Average(base, recipe.ema)
    cast = torch.autocast(where.type, torch.bfloat16, enabled=recipe.bf16 and bf16_pays(where))

    def step() -> None:
        shown = noise.paired(levels, samples, channels_last=True)
        with cast:
            logits = base(shown)
        loss = OBJECTIVES["noisy"].loss(logits.float()[None], labels, 0.0)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if recipe.clip:
            nn.utils.clip_grad_norm_(base.parameters(), recipe.clip)
        optimizer.step()
        average.update(1)
        float(loss.detach())  # waits for a GPU

    draw = _timed(step, seconds) / batch
    few = levels[:4]
    # eight batches, so that there is work for a few threads
    classifier = SmoothedClassifier(base.eval(), scheme, size.classes, batch_size=max(1, len(few) * batch // 8))
    vote = _timed(lambda: classifier.votes(few, samples.tolist()), seconds) / (len(few) * batch)
    return Speed(draw, vote, _certificate_seconds(size, scale))


def _certificate_seconds(size: Size, scale: Scale) -> float:
    """Return the seconds of all three certificates of one image, for a large alpha and votes that mostly agree."""
    shape = size.shape if np.prod(size.shape) <= np.prod(_PART) else _PART
    scheme = make_scheme(FAMILIES["variable"], 12, shape, size.q, scale)
    random = np.random.RandomState(0)
    votes = np.where(random.rand(scheme.samples) < 0.7, 0, random.randint(10, size=scheme.samples)).astype(np.uint8)
    levels = random.randint(size.q + 1, size=shape)
    certifiers = [Certifier(scheme, 10, method) for method in METHODS]
    once = _timed(lambda: [certifier(votes, levels) for certifier in certifiers], 0.0)
    return once * float(np.prod(size.shape) / np.prod(shape))


def _timed(step: Callable[[], Any], seconds: float) -> float:
    """Return seconds of one call: once to warm up, then again for `seconds`, at least once."""
    step()
    began, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - began < seconds:
        step()
        calls += 1
    return (time.perf_counter() - began) / calls


@attrs.frozen
class Plan:
    """How far a run goes. At the small scale the epochs are sized to the time once and kept with the run, because a
    model that was begun with them can only go on with them."""

    experiment: str
    minutes: float | None
    epochs: int | None
    images: int
    estimated_seconds: float | None = None

    @classmethod
    def small(cls, experiment: Experiment, minutes: float, images: int | None, speed: Speed, size: Size) -> Plan:
        """Spend up to a quarter of the time on images and the rest on training: all models for the same number of
        epochs.

        One epoch and 20 images are the least, however short the time.

        >>> from zoo.experiments.catalogue import find_experiment
        >>> plan = Plan.small(find_experiment("digits"), 1.0, None, Speed(1e-4, 1e-5, 1e-3), SIZES["digits"])
        >>> plan.epochs, plan.images
        (93, 359)
        """
        seconds, cap = 60 * minutes, min(size.test, experiment.small_images)
        one = cost(experiment, "small", speed, size, epochs=0, images=1).seconds
        chosen = images or max(FEWEST_IMAGES, min(cap, int(_CERTIFY_SHARE * seconds / one)))
        an_epoch = cost(experiment, "small", speed, size, epochs=1, images=1).seconds - one
        epochs = max(1, min(MOST_EPOCHS, int((seconds - chosen * one) / an_epoch)))
        return cls(experiment.name, minutes, epochs, chosen, round(chosen * one + epochs * an_epoch, 1))

    @classmethod
    def paper(cls, experiment: Experiment, images: int | None, size: Size) -> Plan:
        """Return the full recipe, on as many images as the paper certified."""
        return cls(experiment.name, None, None, images or experiment.images or size.test)

    @property
    def expected(self) -> str:
        """How long that takes from the start, and whether it is more than was asked for."""
        if self.estimated_seconds is None or self.minutes is None:
            return ""
        over = self.estimated_seconds > 66 * self.minutes
        more = f", more than the {self.minutes:g} asked for: this is the least" if over else ""
        return f", about {self.estimated_seconds / 60:.1f} minutes{more}"

    def write(self, folder: Path) -> None:
        """Keep the plan beside the runs."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / PLAN, attrs.asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Plan | None:
        """Return the plan of a folder that was begun before."""
        try:
            return cls(**read_json((folder / PLAN).read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise ECMError(f"{folder / PLAN} cannot be read ({error}): choose another --out") from error
