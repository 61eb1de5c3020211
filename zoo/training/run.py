"""A training run: a base classifier learns under the noise it will be certified with, and is kept as a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import nn

from smoothing.scheme import Noise, Scheme, channels
from zoo.data import Dataset, key_seed, load_data
from zoo.distributed import workers
from zoo.errors import SettingError
from zoo.folder import CARD, CHECKPOINT
from zoo.models import (
    ENSEMBLE,
    NOISE_MEMORY,
    Base,
    Model,
    build_ensemble,
    build_network,
    given_model,
    load,
    read_card,
    require_fit,
    round_weights,
    unchanged,
    write_model,
)
from zoo.training.card import measured_card, opening_card
from zoo.training.estimator import find_estimator, train_estimator
from zoo.training.identity import Identity
from zoo.training.initial_weights import take_weights
from zoo.training.loop import fit
from zoo.training.recipe import preset as find_preset
from zoo.training.samples import noise_statistics
from zoo.training.scheme import Metric, declared_metric, make_scheme, run_name
from zoo.training.state import Run, prepared_by_leader
from zoo.training.teachers import Teachers, require_readers

Start = Model | str | os.PathLike[str]
Network = str | nn.Module | Callable[[int, int], nn.Module] | Any  # any estimator of scikit-learn's kind, for a table


def train(
    metric: Metric,
    data: Any = "digits",
    *,
    model: Network | None = None,
    start: Start | list[Start] | None = None,
    teacher: Start | list[Start] | None = None,
    preset: str = "standard",
    epochs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = True,
    device: str | torch.device | None = None,
    seed: int = 0,
    budget: int | None = None,
    pixel: bool = False,
    root: str | os.PathLike[str] | None = None,
    progress: bool = True,
    checkpoint_seconds: float = 60.0,
    **changes: Any,
) -> Model:
    """Train a base classifier for `metric` on `data` and keep it as the folder `out` (default `runs/<name>`).

    `metric` is an `ECM`, its formula, or a `Scheme` that fixes everything. `data` is anything that `load_data` accepts;
    `root` is the folder with the files of a named data set (`--data` on the command line). `model` is a name, a module
    or a factory `fn(in_channels, num_classes)`. `budget` is B, the number of votes per image; by default it is
    `ecm.default_budget`, or 1000/g(1) with the preset `paper`. `start` is a model (or its folder or name) from whose
    weights the training starts, such as one for a smaller alpha; without `model` its network is used, and the learning
    rate is half the preset's. With a list of models it starts from the mean of their weights, which is often better
    than each of them if they have a common ancestor; `epochs=0, renew=True` keeps that mean as it is. The members of
    an ensemble (`zoo.ensemble`) are trained together, on their mean logits. `teacher` is a finished model, or a list of
    them, whose mean answer to each noisy image is learned together with the label: that halves the epochs, and the
    network can become better than its teachers. With `pixel`, the channels of a pixel share their outcomes, for the
    sparse threat (`g = sign(z)/alpha` then counts pixels). `preset` is "standard" (an hour of one core), "strong" (a
    night: two standard models first, as teachers), "fast" (minutes) or "paper" (the published recipe), and `epochs` are
    the passes over the training images, instead of the preset's. `changes` replace settings of the preset's `Recipe`,
    such as `lr=0.1` or `objective="stability"`.

    For a `Table`, `metric` may also be formulas by column name, and `model` a scikit-learn classifier or its name: it
    is fitted on noisy rows, `copies` of each training row (see `fit_estimator`).

    With `resume`, a run that was stopped in the folder goes on; otherwise it is replaced. A checkpoint is written every
    `checkpoint_seconds`. `seed` is that of initialization, shuffling and noise. `device` is "cpu", "cuda" or "cuda:1";
    by default a GPU if there is one. With `progress` a bar is shown on a terminal, and a line per minute in a log.

    Each step shows every image at a random sample t of the scheme: the outcomes are those of the certification. The run
    can be killed at any time; the same call resumes it and, on a CPU with the same number of threads, ends with
    bitwise the same weights. Under torchrun the batch is shared among the processes; `out` must then be on a disk that
    all of them see.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as out:
    ...     model = train("z**0.5/2", "digits", epochs=1, budget=16, out=out, progress=False)
    >>> model.scheme
    Scheme(spread graded, B=16, q=16, shape=(1, 8, 8), upper_lower, seed=0)
    """
    loaded = load_data(data, root)
    chosen = find_preset(preset, len(loaded.train), loaded.shape)
    metric = declared_metric(metric, loaded)
    if (estimator := find_estimator(model, loaded)) is not None:
        if not (start is None and teacher is None and epochs is None):
            raise SettingError(f"{type(estimator).__name__} is fitted at once: leave out start, teacher and epochs")
        scheme = make_scheme(metric, loaded, chosen, budget, pixel)
        folder = _folder(out, f"{run_name(loaded, scheme, preset)}-{type(estimator).__name__}")
        return train_estimator(estimator, loaded, scheme, folder, changes, resume=resume, seed=seed)
    begun = _models(start)
    changes = changes if epochs is None else {**changes, "epochs": epochs}
    recipe = chosen.recipe_for(len(loaded.train), changes, started=bool(begun))
    scheme = make_scheme(metric, loaded, chosen, budget, pixel)
    folder = _folder(out, run_name(loaded, scheme, preset))
    taught = _models(teacher) or [
        train(
            scheme,
            loaded,
            model=model,
            start=start,
            out=folder / f"teacher-{k}",
            resume=resume,
            device=device,
            seed=seed + k,
            progress=progress,
            checkpoint_seconds=checkpoint_seconds,
        )
        for k in range(1, 1 + chosen.teachers)
    ]
    with workers(device) as here, torch.random.fork_rng(enabled=True):
        recipe.require_even(here.world)
        wanted = model or (begun and begun[0].card["model"]["name"]) or chosen.model
        first = begun[0].card["model"] if begun else {}
        joined = first if wanted == first.get("name") == ENSEMBLE else None
        name, network, shape = _first_network(wanted, scheme, loaded, seed, joined)
        require_readers(taught, shape, loaded.classes)
        training = {"preset": preset, "seed": seed, **attrs.asdict(recipe)}
        made = {"name": name, "input_shape": shape, **({} if joined is None else {"members": joined["members"]})}
        card = opening_card(folder.name, made, loaded, training, starts=begun, teachers=taught)
        identity = Identity.of(scheme, card)
        if resume and (folder / CARD).exists():
            identity.require(folder, read_card(folder))
            return load(folder, base=None if isinstance(model, str | None) else network)
        with prepared_by_leader(here, folder, resume):
            noise = Noise(scheme, here.device, NOISE_MEMORY)
            base = Base(network, *(noise_statistics(noise, loaded.train, seed) if joined is None else unchanged()))
            if begun:
                take_weights(base, begun)
            teachers = Teachers(taught) if taught else None
            run = Run(base, noise, loaded, recipe, seed, folder, here, identity, teachers, progress, checkpoint_seconds)
            seconds = fit(run)
            round_weights(base, recipe.bits)
            return _kept(run, card, seconds)


def _models(given: Start | list[Start] | None) -> list[Model]:
    every = given if isinstance(given, list) else [] if given is None else [given]
    return [given_model(one) for one in every]


def _folder(out: str | os.PathLike[str] | None, usual: str) -> Path:
    return Path(out) if out is not None else Path("runs") / usual


def _first_network(
    wanted: Network, scheme: Scheme, data: Dataset, seed: int, joined: dict[str, Any] | None
) -> tuple[str, nn.Module, list[int]]:
    """Return the name of the network, itself with its first weights, and the shape of what the noise shows it;
    `joined` is what the card of an ensemble says of its members, if the run starts with one."""
    torch.manual_seed(key_seed("init", seed))
    shape = (channels(scheme.representation, data.shape[0]), *data.shape[1:])
    if joined is None:
        name, network = build_network(wanted, shape, data.classes)
    else:
        name, network = ENSEMBLE, build_ensemble({**joined, "input_shape": shape})
    require_fit(name, network, shape, data.classes)
    return name, network, list(shape)


def _kept(run: Run, card: dict[str, Any], seconds: float) -> Model:
    """Return the model of a run that has ended, with its card, on every process; the leading one writes it to the
    folder."""
    base, scheme, here = run.base, run.noise.scheme, run.workers
    base.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    card = measured_card(card, run, seconds)
    finished = Model(run.folder, base.cpu().eval(), scheme, card)
    if here.leads:
        finished = write_model(run.folder, base, scheme, card)
        (run.folder / CHECKPOINT).unlink(missing_ok=True)
    here.wait()
    return finished if here.leads else finished.with_card(read_card(run.folder))
