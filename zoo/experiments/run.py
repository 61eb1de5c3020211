"""Running an experiment: train what is missing, certify what is missing, read the table from the run folders."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import torch

from ecm.errors import ECMError
from zoo.certification import certify
from zoo.data import load_data
from zoo.distributed import Workers, workers
from zoo.experiments.catalogue import find_experiment
from zoo.experiments.declarations import Experiment, Scale
from zoo.experiments.plan import Plan, Size, measure
from zoo.experiments.schemes import make_scheme
from zoo.experiments.table import Reproduction, collect
from zoo.models import RUNS
from zoo.training import train


def reproduce(
    name: str,
    *,
    scale: Scale = "small",
    root: str | os.PathLike[str] | None = None,
    minutes: float | None = None,
    epochs: int | None = None,
    images: int | None = None,
    start: str | os.PathLike[str] | None = None,
    coupling: str | None = None,
    out: str | os.PathLike[str] | None = None,
    device: str | torch.device | None = None,
    progress: bool = True,
    say: Callable[[str], None] = lambda text: None,
    **changes: Any,
) -> Reproduction:
    """Run an experiment of the paper and return its table; what is in `out` already is not done again.

    `name` is that of an experiment; `ecm reproduce --list` has all of them. `root`, `device` and `progress` are as in
    `train`. `scale` is "paper" or "small".

    `paper`: the published recipe on all its alphas. Its models lie in `runs/reproduce/paper`, where other experiments
    find them. `small`: the fast preset on a few alphas, with epochs and images sized to `minutes` by steps timed on
    this machine, in `runs/reproduce/<name>-small`. With `epochs` there is nothing to size: the models are those of
    every experiment with so many epochs, and share the folder `runs/reproduce/<epochs>-epochs`. `images` certifies so
    many test images instead. `start` is a model whose weights every training begins with, and `changes` replace
    settings of the recipe (see `train`). `coupling` is "independent" (the paper's, and the default at its scale) or
    "spread" (the default at the small scale). `say` is told what happens. Under torchrun `train` and `certify` share
    their work among the processes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as out:
    ...     done = reproduce("digits", epochs=1, images=5, out=out, progress=False)
    >>> done.images, list(done.models)
    (5, ['digits-l1-a3', 'digits-l1-a6', 'digits-l0.5-a3', 'digits-l0.5-a6'])
    """
    experiment = find_experiment(name)
    if scale not in ("paper", "small"):
        raise ECMError(f"scale = {scale!r}: write 'paper' or 'small'")
    if scale == "paper" and minutes is not None:
        raise ECMError("minutes belong to the small scale: the paper's recipe takes as long as it takes")
    if minutes is not None and not minutes > 0:
        raise ECMError(f"minutes = {minutes}: write a number above 0")
    if images is not None and images < 1:
        raise ECMError(f"images = {images}: write a number of test images >= 1")
    if epochs is not None and minutes is not None:
        raise ECMError("minutes size the epochs: give one of the two")
    if epochs is not None and (scale == "paper" or epochs < 1):
        raise ECMError(f"epochs = {epochs}: write a number >= 1, at the small scale (the paper's recipe has its own)")
    if "objective" in changes:
        raise ECMError(f"objective = {changes['objective']!r}: every row declares its own; leave it out")
    if coupling not in (None, "independent", "spread"):
        raise ECMError(f"coupling = {coupling!r}: write 'independent' (the paper's) or 'spread'")
    folder = Path(out) if out is not None else default_folder(experiment, scale, epochs, coupling)
    data = load_data(experiment.data, root)
    size = Size.of(data)
    with workers(device) as here:
        if scale == "paper":
            plan = Plan.paper(experiment, images, size)
        elif epochs is not None:
            plan = Plan(experiment.name, None, epochs, images or min(size.test, experiment.small_images))
        else:
            plan = _small_plan(experiment, size, (minutes, images), folder, here)
        models = experiment.models(scale)
        if here.leads:
            long = "the recipe's" if plan.epochs is None else plan.epochs
            say(f"{experiment.title}\n{len(models)} models, {long} epochs, {plan.images} images each{plan.expected}")
        for number, (run, (family, alpha)) in enumerate(models.items(), 1):
            if here.leads:
                say(f"[{number}/{len(models)}] {folder / run}")
            scheme = make_scheme(family, alpha, data.shape, data.q, scale, coupling=coupling)  # type: ignore[arg-type]
            lender = family.lender(scale)
            train(
                scheme,
                data,
                preset="paper" if scale == "paper" else "fast",
                epochs=0 if lender else plan.epochs,
                start=folder / lender.run_name(experiment.data, alpha) if lender else start,
                out=folder / run,
                device=device,
                progress=progress,
                objective=family.objective,
                **changes,
            )
            certify(folder / run, data, limit=plan.images, rule="plurality", device=device, progress=progress)
        here.wait()
        return collect(experiment, scale, folder)


def default_folder(
    experiment: Experiment, scale: Scale, epochs: int | None = None, coupling: str | None = None
) -> Path:
    """Return the default folder of an experiment's models.

    Experiments share models of the full recipe, or of a given number of epochs. Models that are sized to a time belong
    to one experiment, and models with another coupling than the usual one have a folder of their own.
    """
    name = "paper" if scale == "paper" else f"{experiment.name}-small"
    if epochs is not None:
        name = f"{epochs}-epochs"
    usual = "independent" if scale == "paper" else "spread"
    return RUNS / "reproduce" / (name if coupling in (None, usual) else f"{name}-{coupling}")


def _small_plan(
    experiment: Experiment, size: Size, asked: tuple[float | None, int | None], folder: Path, here: Workers
) -> Plan:
    """Return the plan that the folder holds, or a new one, timed by one process."""
    minutes, images = asked
    before = Plan.read(folder)
    here.wait()
    if before is None:
        if here.leads:
            speed = measure(size, "small", here.device)
            Plan.small(experiment, minutes or experiment.minutes, images, speed, size).write(folder)
        here.wait()
        before = Plan.read(folder)
        assert before is not None
    if before.experiment != experiment.name or minutes not in (None, before.minutes):
        raise ECMError(
            f"{folder} was started by `ecm reproduce {before.experiment} --minutes {before.minutes:g}` and can only be "
            "resumed like that: leave out --minutes, or choose another --out"
        )
    return before if images is None else attrs.evolve(before, images=images)
