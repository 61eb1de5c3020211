"""The training loop: every image at a random sample of the scheme, step after step."""

from __future__ import annotations

import math
import time
from typing import Any

import attrs
import torch
from torch import Tensor, nn

from zoo.data import generator, key_seed
from zoo.errors import TrainingError
from zoo.training.jitter import jittered
from zoo.training.journal import Journal
from zoo.training.norms import renew_norms
from zoo.training.objectives import OBJECTIVES
from zoo.training.optimizer import Average, learning_rate, make_optimizer
from zoo.training.samples import base_accuracy, draw_samples
from zoo.training.state import Run, diverged, restore, save, stop_signal
from zoo.training.teachers import surprise

LIVE_IMAGES = 2000  # test images on which the base accuracy is watched during a run


def fit(run: Run) -> float:
    """Train `run.base`, from its checkpoint if there is one; afterwards it holds the averaged weights. Return the
    seconds that it took, those of earlier sessions included."""
    started = time.monotonic()
    base, recipe, here, seed = run.base, run.recipe, run.workers, run.seed
    objective = OBJECTIVES[recipe.objective]
    given = recipe.objective_settings()
    data = run.data.train.to(here.device)
    labels = data.labels.to(here.device)
    per_epoch = len(data) // recipe.batch
    steps = recipe.epochs * per_epoch
    augment = run.data.augment if recipe.shift else attrs.evolve(run.data.augment, shift=0)
    layout = torch.channels_last if len(data.shape) == 3 else torch.contiguous_format
    base.to(device=here.device, memory_format=layout).train()  # type: ignore[call-overload]
    optimizer, average = make_optimizer(base, recipe), Average(base, recipe.ema)
    step, sums, spent = restore(run, optimizer, average)
    started -= spent
    network = nn.parallel.DistributedDataParallel(base) if here.world > 1 else base
    teachers = None if run.teachers is None else run.teachers.to(device=here.device, memory_format=layout)  # type: ignore[call-overload]
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
                many = images.to(here.device)
                if recipe.jitter and len(data.shape) == 3:
                    draws = torch.rand(recipe.batch, 2, generator=generator("jitter", seed, step))
                    many = jittered(many, recipe.jitter, run.data.q, here.share(draws))
                many = many.repeat(objective.draws, *[1] * len(data.shape))
                shown = run.noise.paired(many, samples, channels_last=len(data.shape) == 3)
                target = labels[indices.to(here.device)]
                with cast:
                    logits = network(shown)
                    told = None if teachers is None else teachers(shown)
                answers = logits.float()
                logits = answers.unflatten(0, (objective.draws, -1))
                loss = objective.loss(logits, target, recipe.label_smoothing, **given)
                if told is not None:
                    loss = torch.lerp(loss, surprise(answers, told), recipe.teaching)
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
                    save(run, step, sums, optimizer, average, seconds=time.monotonic() - started)
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
        save(run, step, sums, optimizer, average, seconds=time.monotonic() - started)
    base.load_state_dict(average.state, strict=False)
    if recipe.renew:
        renew_norms(run)
    return time.monotonic() - started


@torch.no_grad()
def _watch(run: Run, average: Average) -> float:
    """Return base accuracy of the averaged weights on some test images, while the run's own weights stay as they
    are."""

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
