"""What a model's card says about its training: what was asked for, and afterwards what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from zoo.data import Dataset
from zoo.models import Model
from zoo.training.samples import base_accuracy
from zoo.training.state import Run

MEAN = " + "  # between the models whose weights, or answers, are averaged


def opening_card(
    name: str,
    network: dict[str, Any],
    data: Dataset,
    training: dict[str, Any],
    *,
    starts: Sequence[Model] = (),
    teachers: Sequence[Model] = (),
    members: Sequence[Model] = (),
) -> dict[str, Any]:
    """Return the card before the run: network, data, settings, the models whose mean weights are the first ones, and
    those whose answers are learned, or averaged."""
    for role, models in (("start", starts), ("teacher", teachers), ("members", members)):
        if models:
            names, weights = (
                MEAN.join(one) for one in zip(*((m.name, m.card["weights"]) for m in models), strict=True)
            )
            training = {**training, role: {"name": names, "weights": weights}}
    return {
        "name": name,
        "model": {**network, "classes": data.classes},
        "data": data.describe(),
        "training": training,
    }


def measured_card(card: dict[str, Any], run: Run, seconds: float) -> dict[str, Any]:
    """Return the card after the run: with what it took, and the base accuracy on the test images."""
    here = run.workers
    took = {
        "seconds": round(seconds, 1),
        "device": here.device.type,
        "processes": here.world,
        "threads": torch.get_num_threads(),
    }
    accuracy = {"base": base_accuracy(run.base.to(here.device), run.noise, run.data.test, seed=run.seed)}
    return {**card, "training": {**card["training"], **took}, "accuracy": accuracy}
