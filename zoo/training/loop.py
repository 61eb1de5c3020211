"""Training a base classifier under the noise it will be certified with."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch
from torch import Tensor, nn

from ecm import ECM, default_budget
from smoothing.scheme import Noise, Scheme, channels
from zoo.data import Dataset, Split, Table, generator, key_seed, load_data
from zoo.distributed import workers
from zoo.errors import SettingError, TrainingError
from zoo.folder import CARD, CHECKPOINT
from zoo.models import (
    NOISE_MEMORY,
    Base,
    Model,
    build_network,
    default_model,
    load,
    read_card,
    require_fit,
    write_model,
)
from zoo.training.estimator import find_estimator, train_estimator
from zoo.training.initial_weights import take_weights
from zoo.training.journal import Journal
from zoo.training.objectives import OBJECTIVES
from zoo.training.optimizer import Average, learning_rate, make_optimizer
from zoo.training.recipe import Preset
from zoo.training.recipe import preset as find_preset
from zoo.training.state import Run, diverged, prepared, require_same, restore, save, stop_signal

LIVE_IMAGES = 2000  # test images on which the base accuracy is watched during a run
Network = str | nn.Module | Callable[[int, int], nn.Module] | Any  # any estimator of scikit-learn's kind, for a table
Metric = ECM | Scheme | str | Mapping[str, ECM | str]


def train(
    metric: Metric,
    data: Any = "digits",
    *,
    model: Network | None = None,
    start: Model | str | os.PathLike[str] | None = None,
    preset: str = "fast",
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

    `metric` is an `ECM`, its formula, or a `Scheme` that fixes everything. `data`: see `load_data`; `root` is where the
    files of a named set lie (`--data` on the command line). `model` is a name,
    a module or a factory `fn(in_channels, num_classes)`. `budget` is B: by default `ecm.default_budget`, or
    1000/g(1) with the preset `paper`. `start` is a model (or its folder or name) of the same network whose weights are
    the first ones, such as one for a smaller alpha; without `model` its network is taken, and the learning rate is half
    the preset's. With `pixel` the channels of a pixel share their outcomes, for the sparse threat (`g = sign(z)/alpha`
    then counts pixels). `changes` replace settings of the preset's `Recipe`, such as `lr=0.1` or
    `objective="stability"`.

    For a `Table`, `metric` may also be formulas by column name, and `model` a scikit-learn classifier or its name: it
    is fitted on noisy rows, `copies` of each training row (see `fit_estimator`).

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
        if start is not None or epochs is not None:
            raise SettingError(f"{type(estimator).__name__} is fitted at once: leave out start and epochs")
        scheme = make_scheme(metric, loaded, chosen, budget, pixel)
        usual = f"{run_name(loaded, scheme, preset)}-{type(estimator).__name__}"
        folder = Path(out) if out is not None else Path("runs") / usual
        return train_estimator(estimator, loaded, scheme, folder, changes, resume=resume, seed=seed)
    begun = start if isinstance(start, Model | None) else load(start)
    recipe = chosen.usual(begun is not None).changed(changes if epochs is None else {**changes, "epochs": epochs})
    recipe = attrs.evolve(recipe, batch=min(recipe.batch, len(loaded.train)))
    scheme = make_scheme(metric, loaded, chosen, budget, pixel)
    folder = Path(out) if out is not None else Path("runs") / run_name(loaded, scheme, preset)
    with workers(device) as here, torch.random.fork_rng(enabled=True), ExitStack() as held:
        if left := recipe.batch % here.world:
            even = recipe.batch - left or here.world
            raise TrainingError(
                f"a batch of {recipe.batch} images is not shared evenly by {here.world} processes: write batch={even} "
                f"(--set batch={even}), or start another number of processes"
            )
        torch.manual_seed(key_seed("init", seed))
        shape = (channels(scheme.representation, loaded.shape[0]), *loaded.shape[1:])
        wanted = model or (begun and begun.card["model"]["name"]) or chosen.model or default_model(loaded.shape)
        name, network = build_network(wanted, shape, loaded.classes)
        require_fit(name, network, shape, loaded.classes)
        card: dict[str, Any] = {
            "name": folder.name,
            "model": {"name": name, "input_shape": list(shape), "classes": loaded.classes},
            "data": loaded.describe(),
            "training": {"preset": preset, "seed": seed, **attrs.asdict(recipe)},
        }
        if begun is not None:
            card["training"]["start"] = {"name": begun.name, "weights": begun.card["weights"]}
        identity = {"scheme": scheme.fingerprint, **{part: card[part] for part in ("model", "data")}}
        # said also where there is no start: a folder whose run had one is then another run's
        identity["training"] = {"start": {"name": None, "weights": None}, **card["training"]}
        if resume and (folder / CARD).exists():
            require_same(folder, {**read_card(folder)}, identity)
            return load(folder, base=None if isinstance(model, str | None) else network)
        here.wait()  # nobody may see what the leader is about to write
        if here.leads:
            held.enter_context(prepared(folder, resume))
        here.wait()
        noise = Noise(scheme, here.device, NOISE_MEMORY)
        base = Base(network, *_statistics(noise, loaded.train, seed))
        if begun is not None:
            take_weights(base, begun)
        run = Run(base, noise, loaded, recipe, seed, folder, here, identity, progress, checkpoint_seconds)
        began = time.time()
        fit(run)
        base.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        card["training"] |= {
            "seconds_of_last_session": round(time.time() - began, 1),
            "device": here.device.type,
            "processes": here.world,
            "threads": torch.get_num_threads(),
        }
        card["accuracy"] = {"base": base_accuracy(base.to(here.device), noise, loaded.test, seed=seed)}
        finished = Model(folder, base.cpu().eval(), scheme, card)
        if here.leads:
            finished = write_model(folder, base, scheme, card)
            (folder / CHECKPOINT).unlink(missing_ok=True)
        here.wait()
        return finished if here.leads else finished.with_card(read_card(folder))


def fit(run: Run) -> None:
    """Train `run.base`, from its checkpoint if there is one; afterwards it holds the averaged weights."""
    base, recipe, here, seed = run.base, run.recipe, run.workers, run.seed
    objective = OBJECTIVES[recipe.objective]
    data = run.data.train.to(here.device)
    labels = data.labels.to(here.device)
    per_epoch = len(data) // recipe.batch
    steps = recipe.epochs * per_epoch
    augment = run.data.augment if recipe.shift else attrs.evolve(run.data.augment, shift=0)
    layout = torch.channels_last if len(data.shape) == 3 else torch.contiguous_format
    base.to(device=here.device, memory_format=layout).train()  # type: ignore[call-overload]
    optimizer, average = make_optimizer(base, recipe), Average(base, recipe.ema)
    step, sums = restore(run, optimizer, average)
    network = nn.parallel.DistributedDataParallel(base) if here.world > 1 else base
    cast = torch.autocast(here.device.type, torch.bfloat16, enabled=recipe.bf16 and bf16_pays(here.device))
    saved = time.monotonic()
    journal = Journal(run.folder if here.leads else None, run.data.name, steps, step, run.progress)
    with stop_signal() as stop, journal:
        for epoch in range(step // per_epoch, recipe.epochs):
            began = time.monotonic()
            order = torch.randperm(len(data), generator=generator("order", seed, epoch))
            batches = order[: per_epoch * recipe.batch].view(per_epoch, recipe.batch)[step - epoch * per_epoch :]
            ours = [here.share(batch) for batch in batches]
            for indices, images in zip(ours, data.batches(ours, augment, (seed, epoch)), strict=True):
                samples = draw_samples(run.noise.scheme, (objective.draws, recipe.batch), "noise", seed, step)
                samples = samples[:, here.rank :: here.world].flatten()
                torch.manual_seed(key_seed("module", seed, step, here.rank))  # for dropout and the like
                many = images.to(here.device).repeat(objective.draws, *[1] * len(data.shape))
                shown = run.noise.paired(many, samples, channels_last=len(data.shape) == 3)
                target = labels[indices.to(here.device)]
                with cast:
                    logits = network(shown)
                logits = logits.float().unflatten(0, (objective.draws, -1))
                loss = objective.loss(logits, target, recipe.label_smoothing)
                for group in optimizer.param_groups:
                    group["lr"] = learning_rate(recipe, step, steps)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                if recipe.clip:
                    nn.utils.clip_grad_norm_(base.parameters(), recipe.clip)
                hits = (logits.detach().argmax(-1) == target).float().mean()
                sums += torch.stack([loss.detach(), hits, torch.ones_like(hits)])
                if not _finite(run, step, loss):
                    raise TrainingError(diverged(run, step))
                optimizer.step()
                average.update(step)
                step += 1
                if here.leads and (step % 10 == 0 or step == steps):
                    journal.step(step, float(sums[0] / sums[2]), float(sums[1] / sums[2]))
                stopping = stop.is_set()
                if here.leads and (stopping or time.monotonic() - saved > run.checkpoint_seconds):
                    save(run, step, sums, optimizer, average)
                    saved = time.monotonic()
                if stopping:
                    raise KeyboardInterrupt(f"stopped at step {step} of {steps}; the same command resumes")
            loss_sum, hit_sum, count = here.total(*sums.tolist())
            sums.zero_()
            if here.leads:
                row = {
                    "epoch": epoch + 1,
                    "step": step,
                    "loss": loss_sum / count,
                    "train_base_accuracy": hit_sum / count,
                    "test_base_accuracy": _watch(run, average),
                    "lr": learning_rate(recipe, step - 1, steps),
                    "seconds": round(time.monotonic() - began, 3),
                }
                journal.epoch(row)
    if here.leads:
        save(run, step, sums, optimizer, average)
    base.load_state_dict(average.state, strict=False)


def draw_samples(scheme: Scheme, shape: tuple[int, ...], *key: int | str) -> Tensor:
    """Random samples t of the scheme, each with the share that it has in the vote."""
    drawn = torch.randint(scheme.total, shape, generator=generator(*key))
    if scheme.weights is None:
        return drawn
    return torch.searchsorted(torch.from_numpy(np.cumsum(scheme.weights)), drawn, right=True)


@torch.inference_mode()
def base_accuracy(
    base: nn.Module, noise: Noise, split: Split, limit: int | None = None, *, seed: int = 0
) -> dict[str, Any]:
    """Share of images that the base classifier gets right at one random sample each: not smoothed, not certified."""
    count = len(split) if limit is None else min(limit, len(split))
    samples = draw_samples(noise.scheme, (count,), "accuracy", seed)
    base.eval()
    hits = 0
    for start in range(0, count, 250):
        part = torch.arange(start, min(count, start + 250))
        shown = noise.paired(split.take(part).to(noise.device), samples[part], channels_last=len(split.shape) == 3)
        hits += int((base(shown).argmax(-1).cpu() == split.labels[part].cpu()).sum())
    return {"value": hits / count, "images": count, "how": "one random sample an image"}


def declared_metric(metric: Metric, data: Dataset) -> ECM | Scheme | str:
    """The metric of a run: for a table with the roles of its columns, for other data as it is."""
    if isinstance(data, Table):
        if isinstance(metric, Scheme):
            data.spec.require_roles(metric.metric)
            return metric
        return data.spec.metric(metric)
    if isinstance(metric, Mapping):
        raise SettingError(f"formulas by column name, but {data.name} has no named columns: give one formula or an ECM")
    return metric


def make_scheme(
    metric: ECM | Scheme | str, data: Dataset, chosen: Preset, budget: int | None, pixel: bool = False
) -> Scheme:
    """The scheme of a run: the one given, or the preset's kind of design with B outcomes."""
    if isinstance(metric, Scheme):
        if pixel and not metric.pixel:
            raise SettingError("pixel=True, but the scheme does not share offsets by pixel: Scheme(..., pixel=True)")
        if metric.shape != data.shape or metric.q != data.q:
            raise SettingError(
                f"the scheme is for inputs of shape {metric.shape} with q = {metric.q}; "
                f"{data.name} has {data.shape} with q = {data.q}: write "
                f"Scheme(metric.design(B, q={data.q}), shape={data.shape}), or pass the metric alone"
            )
        if budget not in (None, metric.total):
            raise SettingError(f"budget = {budget}, but the scheme has {metric.total} outcomes: leave the budget out")
        return metric
    declared = ECM.from_expr(metric) if isinstance(metric, str) else metric
    if not isinstance(declared, ECM):
        raise SettingError(f"a metric of type {type(metric).__name__}: give an ECM, its formula as text, or a Scheme")
    if budget is None:
        budget = default_budget(_priced(declared, data.q), data.q)
        if chosen.per_alpha is not None:
            top = max(float(g.values(data.q)[-1]) for g in _priced(declared, data.q).components) or 1.0
            budget = math.ceil(round(chosen.per_alpha / top, 6))
    design = declared.design(budget, data.q, kind=chosen.kind)
    return Scheme(design, data.shape, coupling=chosen.coupling, order=chosen.order, pixel=pixel)


def _priced(metric: ECM, q: int) -> ECM:
    """The metric without the components that no certified change can touch (g(1/q) = 1): they say nothing about B."""
    kept = tuple(profile for profile in metric.components if profile.floors(1, q)[1] < 1)
    return ECM(kept, tuple(range(len(kept)))) if kept and len(kept) < len(metric.components) else metric


def run_name(data: Dataset, scheme: Scheme, preset: str) -> str:
    """A folder's name, such as `cifar10-l0.5-a18`; a metric without such a short name is named by a digest."""
    power = scheme.metric.power()
    short = hashlib.sha256(scheme.metric.to_json().encode()).hexdigest()[:8]
    metric = f"l{float(power[0]):.3g}-a{float(power[1]):g}" if power else f"ecm-{short}"
    return f"{data.name}-{metric}" + ("-pixel" if scheme.pixel else "") + ("" if preset == "fast" else f"-{preset}")


def _statistics(noise: Noise, split: Split, seed: int) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each shown channel over noisy training images."""
    count = min(512, len(split))
    chosen = torch.randperm(len(split), generator=generator("statistics", seed))[:count]
    samples = draw_samples(noise.scheme, (count,), "statistics", seed)
    return Base.statistics(noise.paired(split.take(chosen).to(noise.device), samples).cpu())


@torch.no_grad()
def _watch(run: Run, average: Average) -> float:
    """Base accuracy of the averaged weights on some test images, while the run's own weights stay as they are."""

    class Averaged(nn.Module):
        def forward(self, shown: Tensor) -> Any:
            return torch.func.functional_call(run.base, average.state, (shown,), tie_weights=False)

    run.base.eval()
    accuracy = base_accuracy(Averaged(), run.noise, run.data.test, LIVE_IMAGES, seed=run.seed)
    run.base.train()
    return float(accuracy["value"])


def _finite(run: Run, step: int, loss: Tensor) -> bool:
    """Reading the loss waits for a GPU, so there it is read now and then; `save` looks again before it writes."""
    if run.workers.device.type == "cpu" or step % 50 == 0:
        return math.isfinite(float(loss.detach()))
    return True


def bf16_pays(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())
