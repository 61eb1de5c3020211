"""A trained model: the base classifier, the scheme it was trained under, and the folder that holds both."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from smoothing import Certificate, InputError, SmoothedClassifier
from smoothing import quantize as nearest_levels
from smoothing.certificates import DEFAULT_RULE, Method, Rule, checked_rule
from smoothing.scheme import Images, Scheme
from zoo.models.deployment import export_base
from zoo.models.hub import download, save_model, upload
from zoo.models.loading import load_as, read_as
from zoo.models.storage import write_files
from zoo.models.tolerance import rounded_tolerance

NOISE_MEMORY = 2**30  # bytes; enough to keep the table of an arbitrary permutation a feature at B = 18000 on CIFAR
_JITTER_IMAGES = 8  # whose logits are evaluated in many ways before the first certificate


class Model(nn.Module):
    """A trained model: call it with images, and it answers with the share of the votes that each class gets.

    `base` maps what the noise of `scheme` shows to logits; `card` is the content of `card.json` in the folder `path`.
    Images are integer levels 0..q (uint8 for q = 255) or floats v/q in [0, 1], one image or a batch. Floats between
    two levels are refused, unless `quantize` is True: then they are rounded, and everything that is said (class,
    certificate) is about the rounded image. Each answer takes `scheme.samples` evaluations of `base` per image.

    `half()`, `bfloat16()` and `double()` change the precision in which `base` computes. That is another classifier with
    other votes, all of them well defined (a tie between two logits is a vote for nobody); `zoo.certify` takes it after
    `save` has given it a folder of its own.

    >>> import torch, zoo
    >>> model = zoo.load("digits-l0.5-a4")
    >>> images = zoo.load_data("digits").test.take([0, 1])
    >>> model(images).shape, model.predict(images).tolist()
    (torch.Size([2, 10]), [3, 7])
    >>> [ball.prediction for ball in model.certify(images[0])]
    [3]
    >>> model.name, model.classes, str(model.scheme.metric)
    ('digits-l0.5-a4', 10, 'z**(1/2)/4')
    """

    base: nn.Module
    path: Path
    scheme: Scheme
    card: dict[str, Any]
    quantize: bool
    _made: dict[str, Any]  # on demand: the smoothed classifier, and the tolerance by device and precision

    def __init__(
        self, path: Path, base: nn.Module, scheme: Scheme, card: dict[str, Any], *, quantize: bool = False
    ) -> None:
        super().__init__()
        self.path, self.base, self.scheme, self.card, self.quantize = path, base, scheme, card, quantize
        self.training = base.training
        self._made = {}

    def __repr__(self) -> str:
        return f"Model({str(self.path)!r}, {self.card['model']['name']}, {self.card['data']['name']}, {self.scheme})"

    @property
    def name(self) -> str:
        """Folder name."""
        return self.path.name

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.card["model"]["classes"])

    @property
    def class_names(self) -> tuple[str, ...]:
        """Name of each class, in the order of the shares."""
        return tuple(self.card["data"]["class_names"])

    @property
    def rule(self) -> Rule:
        """How the votes make a class: as in the certification that the card reports, else by the package's default.

        >>> from zoo import load
        >>> load("cifar10-l0.5-a18").rule
        'runoff'
        """
        certified = self.card.get("certification")
        if not certified:
            return DEFAULT_RULE
        return checked_rule(certified.get("rule", "plurality"))  # cards of earlier versions name no rule

    @property
    def device(self) -> torch.device:
        """Device of the base classifier; `to` moves it."""
        return self._voting.device

    # ---- what a module does ----------------------------------------------------------------------------------------

    def forward(self, x: Images, *, quantize: bool | None = None) -> Tensor:
        """Return the share of the votes of each class, float64 [N, classes], on the model's device.

        They are the shares in the round that decides, so that the largest is that of the class of `predict`: under the
        rule "runoff" all classes but the two finalists have none. `x` is one image or a batch; `quantize` replaces the
        model's own setting for this call. Votes are counted, so they have no gradient: `zoo.train` trains
        the base classifier, and `zoo.attack` uses its gradients.
        """
        shares: Tensor = self._voting(self.levels(x, quantize=quantize))
        return shares

    def predict(self, x: Images, *, quantize: bool | None = None) -> Tensor:
        """Return the class that the smoothed classifier gives each image, int64 [N], on the model's device.

        `x` and `quantize` are as in `forward`.
        """
        found = self._voting.predict(self.levels(x, quantize=quantize))
        return torch.as_tensor(found, dtype=torch.int64, device=self.device)

    def certify(
        self,
        x: Images,
        *,
        certificate: Method = "strongest",
        rule: Rule | None = None,
        tolerance: float | None = None,
        quantize: bool | None = None,
    ) -> list[Certificate]:
        """Return the certificate of each image: the class, and the ball around the image in which it cannot change.

        `x` and `quantize` are as in `forward`. The class is that of `predict`, by the model's rule, unless you choose
        another `rule`; `certificate` is one of the methods of that rule, such as "vote-aware". A vote whose two best
        logits differ by at most `tolerance` counts against the prediction; by default it is measured on the first
        images that are given. `zoo.certify` does the same for a data set, keeps the votes, and can be resumed.
        """
        levels = self.levels(x, quantize=quantize)
        if not len(levels):
            return []
        if tolerance is None:
            tolerance = self._measured_tolerance(levels)
        chosen = {} if rule is None else {"rule": rule}
        return self.smoothed(tolerance=tolerance, **chosen).certify(levels, certificate=certificate)

    def levels(self, x: Images, *, quantize: bool | None = None) -> Tensor:
        """Return `x` as a batch of levels 0..q: one image becomes a batch of one, (N, H, W) is one channel.

        `quantize` is as in `forward`.
        """
        if isinstance(x, Tensor) and x.requires_grad and torch.is_grad_enabled():
            raise InputError(
                "the input requires a gradient, but the class shares are counts of votes and have none: call the model "
                "under torch.no_grad() or with x.detach(); zoo.attack(model, ...) uses gradients of the base classifier"
            )
        batch = x if isinstance(x, Tensor) else torch.as_tensor(np.array(x))  # a copy: a PIL image is read-only
        shape = self.scheme.shape
        if shape[0] == 1 and tuple(batch.shape[-2:]) == shape[1:] and batch.ndim in (2, 3):
            batch = batch.reshape(-1, *shape)
        elif tuple(batch.shape) == shape:
            batch = batch[None]
        if batch.dtype.is_floating_point and (self.quantize if quantize is None else quantize):
            batch = nearest_levels(batch, self.scheme.q)
        try:
            return self._voting.levels(batch)
        except InputError as error:
            if "is not v/" not in str(error):
                raise
            raise InputError(
                f"{str(error).split(':')[0]}: pass integer levels 0..{self.scheme.q}, or round to the nearest level "
                "with quantize=True, as in model(x, quantize=True) or zoo.load(name, quantize=True)"
            ) from None

    @property
    def _voting(self) -> SmoothedClassifier:
        voter = self._made.get("voter")
        if voter is None:
            voter = self._made["voter"] = self.smoothed()
        return voter

    def _measured_tolerance(self, levels: Tensor) -> float:
        """Measured once for each device and precision, and rounded up to a power of ten."""
        where = f"{self.device} {next((p.dtype for p in self.base.parameters()), None)}"
        if where not in self._made:
            self._made[where] = rounded_tolerance(self._voting, levels[:_JITTER_IMAGES])
        return float(self._made[where])

    def smoothed(self, **settings: Any) -> SmoothedClassifier:
        """Return the smoothed classifier of this model, by its rule; `settings` are those of `SmoothedClassifier`."""
        made = {"memory": NOISE_MEMORY, "rule": self.rule, **settings}
        return SmoothedClassifier(self.base, self.scheme, self.classes, **made)

    # ---- copies and folders ----------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """The scheme as JSON: it is proven again wherever a pickle is read."""
        return {**self.__dict__, "scheme": self.scheme.to_json(), "_made": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**state, "scheme": Scheme.from_json(state["scheme"])})  # type: ignore[no-untyped-call]

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        base, card = copy.deepcopy(self.base, memo), copy.deepcopy(self.card, memo)
        twin = Model(self.path, base, self.scheme, card, quantize=self.quantize)
        twin.training = self.training
        return twin

    def with_card(self, card: dict[str, Any]) -> Model:
        """Return the same model, network included, with another `card`."""
        return Model(self.path, self.base, self.scheme, card, quantize=self.quantize)

    @classmethod
    def read(cls, path: Path, network: nn.Module | None = None) -> Model:
        """Return the model in the folder `path`; `network` is needed if it is a user's own class or factory."""
        return read_as(cls, path, network)

    def save(self, folder: str | os.PathLike[str]) -> Model:
        """Write the model into a folder that follows the conventions of the Hugging Face Hub; return it as kept there.

        The `folder` gets `model.safetensors`, `config.json`, `README.md` (a model card), `scheme.json` and `card.json`.
        The votes and certificates of the model's own folder come along if the weights are still those.

        >>> import tempfile, zoo
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     kept = zoo.load("digits-l0.5-a4").save(f"{folder}/mine")
        ...     sorted(path.name for path in kept.path.iterdir())[:4]
        ['README.md', 'card.json', 'certify.json', 'certify.tsv']
        """
        return save_model(self, Path(folder))

    def save_pretrained(
        self, save_directory: str | os.PathLike[str], *, push_to_hub: bool = False, **options: Any
    ) -> Model:
        """Write the model into the folder `save_directory`, as `save` does; with `push_to_hub` also upload it.

        `options` are those of the method `push_to_hub`; `repo_id` is by default the name of the folder.
        """
        kept = self.save(save_directory)
        if push_to_hub:
            kept.push_to_hub(**{"repo_id": kept.name, **options})
        return kept

    @classmethod
    def from_pretrained(
        cls, name: str | os.PathLike[str], *, base: nn.Module | None = None, quantize: bool = False, **options: Any
    ) -> Model:
        """Return the model in a local folder, of a known name, or of a Hub repository such as "someone/some-model".

        `name` is one of these three; `base` and `quantize` are as in `zoo.load`. `options` are those of
        `huggingface_hub.snapshot_download` (revision, token, cache_dir, local_files_only, ...). Only data are read; no
        code is loaded from a folder or a repository.

        >>> Model.from_pretrained("digits-l0.5-a4").classes
        10
        """
        return load_as(cls, download(name, options), base=base, quantize=quantize)

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Upload the model's folder to the Hugging Face Hub and return its address there.

        `repo_id` is "someone/some-model". `options`: token, private, revision, commit_message. Needs the extra `hub`.
        """
        return upload(self, repo_id, options)

    def export_base(self, path: str | os.PathLike[str]) -> Path:
        """Write the base classifier for another runtime: `.pt2` (`torch.export`) or `.onnx` (needs the extra `onnx`).

        The end of `path` chooses. The file reads what the noise shows, in batches of any size, and gives logits:
        `model.smoothed().noise.inputs(levels, samples)` makes its input, and counting the votes stays with the caller.
        """
        return export_base(self, Path(path))


def write_model(path: Path, base: nn.Module, scheme: Scheme, card: dict[str, Any]) -> Model:
    """Write weights, scheme and card into the folder, and return the model as it is kept there."""
    card = write_files(path, base, scheme, card)
    return Model(path, base.eval(), scheme, card)
