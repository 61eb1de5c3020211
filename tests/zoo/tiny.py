"""A tiny model made without a training run, for tests of what happens to models afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from ecm import ECM
from smoothing import Scheme
from smoothing.scheme import channels
from zoo import Dataset, Model
from zoo.models import Base, build_network, write_model

BUDGET = 12


def tiny_data(images: int = 20, seed: int = 0) -> Dataset:
    """Two classes of 1x3x3 images with levels 0..4, dark and bright; every seventh label is wrong."""
    random = np.random.RandomState(seed)
    labels = np.arange(images) % 2
    levels = np.clip(random.randint(0, 3, (images, 1, 3, 3)) + 2 * labels[:, None, None, None], 0, 4)
    labels[::7] ^= 1
    pair = levels.astype(np.uint8), labels.astype(np.int64)
    return Dataset.from_arrays(pair, pair, q=4, name="tiny", class_names=["dark", "bright"])


def tiny_scheme(formula: str = "z**0.5/2", **choices: Any) -> Scheme:
    """Twelve outcomes for nine features of five levels."""
    return Scheme(ECM.from_expr(formula).design(BUDGET, 4), (1, 3, 3), **choices)


def tiny_model(path: Path, formula: str = "z**0.5/2", seed: int = 0, data: Dataset | None = None) -> Model:
    """A network that knows bright from dark without training: it adds up what it is shown."""
    path.mkdir(parents=True, exist_ok=True)
    scheme, data = tiny_scheme(formula), data or tiny_data()
    torch.manual_seed(seed)
    shape = (channels(scheme.representation, 1), 3, 3)
    name, network = build_network("mlp", shape, 2)
    with torch.no_grad():
        first, middle, last = (network[k] for k in (1, 3, 5))
        for layer in (first, middle, last):
            layer.weight.mul_(0.02)
            layer.bias.zero_()
        first.weight[0] += 1.0
        middle.weight[0, 0] += 1.0
        last.weight[1, 0] += 1.0
        last.bias[0] += 9.1
    base = Base(network, torch.zeros(shape[0], 1, 1), torch.ones(shape[0], 1, 1))
    card = {
        "name": path.name,
        "model": {"name": name, "input_shape": list(shape), "classes": 2},
        "data": {
            "name": data.name,
            "digest": data.digest,
            "q": data.q,
            "shape": list(data.shape),
            "class_names": list(data.class_names),
            "source": {},
        },
        "training": {"preset": "by hand", "seed": seed},
        "accuracy": {"base": {"value": 0.5, "images": 20, "how": "not measured"}},
    }
    return write_model(path, base, scheme, card)
