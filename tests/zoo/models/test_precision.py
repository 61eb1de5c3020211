"""Few bits on the disk lose nothing that the model had when it was saved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

import zoo
from zoo.errors import CheckpointError, ModelError
from zoo.models import Base, require_unchanged, round_weights
from zoo.models.precision import compact, expanded


@pytest.mark.parametrize(("bits", "share", "near"), [(16, 0.55, 2**-10), (8, 0.3, 0.1)])
def test_a_rounded_model_is_kept_in_less_space_and_read_back_exactly(
    tmp_path: Path, bits: int, share: float, near: float
) -> None:
    """`bits` at the end of a training: the same votes after loading, and a smaller file."""
    settings = {"epochs": 1, "budget": 16, "progress": False}
    full = zoo.train("z**0.5/2", "digits", out=tmp_path / "full", **settings)
    small = zoo.train("z**0.5/2", "digits", out=tmp_path / "small", bits=bits, **settings)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("full", "small")]
    assert sizes[1] < share * sizes[0]
    again = zoo.load(tmp_path / "small")
    for name, tensor in small.base.state_dict().items():
        assert again.base.state_dict()[name].dtype == tensor.dtype
        assert torch.equal(again.base.state_dict()[name], tensor)
    require_unchanged(again)  # what certify and save ask for
    with pytest.raises(ModelError, match="holds other weights"):
        require_unchanged(zoo.load(tmp_path / "small").half())
    images = zoo.load_data("digits").test.take(range(20))
    assert torch.equal(again(images), small(images))
    for name, tensor in again.base.state_dict().items():
        exact = full.base.state_dict()[name]
        assert float((tensor - exact).abs().max()) <= near * float(exact.abs().max())


def test_a_folder_of_before_is_the_same_run(tmp_path: Path) -> None:
    """Cards once said `half`; the same settings by their new name find the finished run."""
    settings = {"epochs": 1, "budget": 16, "progress": False, "out": tmp_path}
    zoo.train("z**0.5/2", "digits", bits=16, **settings)
    card = json.loads((tmp_path / "card.json").read_text())
    del card["training"]["bits"]
    (tmp_path / "card.json").write_text(json.dumps({**card, "training": {**card["training"], "half": True}}))
    assert zoo.train("z**0.5/2", "digits", bits=16, **settings).card["training"]["half"]
    with pytest.raises(CheckpointError, match="bits is 16 there, 8 here"):
        zoo.train("z**0.5/2", "digits", bits=8, **settings)


def test_the_normalisation_keeps_its_type() -> None:
    """It says in which precision a model computes; round numbers such as 0.5 do not make that float16."""
    base = Base(nn.Linear(2, 2, bias=False), torch.full((3, 1, 1), 0.5), torch.ones(3, 1, 1))
    nn.init.ones_(base.network.weight)
    types = {name: tensor.dtype for name, tensor in compact(base).items()}
    assert types == {"mean": torch.float32, "std": torch.float32, "network.weight": torch.float16}


def test_what_float16_cannot_hold_stays() -> None:
    """A kernel beyond its range, biases and norms keep their values; a tensor that is not exact keeps its type."""
    network = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with torch.no_grad():
        network[0].weight.fill_(0.1)
        network[1].weight.fill_(1e6)
        network[0].bias.fill_(0.1)
    round_weights(network, 16)
    assert torch.equal(network[0].weight, torch.full((2, 2), 0.1).half().float())
    assert torch.equal(network[1].weight, torch.full((2, 2), 1e6))
    assert torch.equal(network[0].bias, torch.full((2,), 0.1))
    types = {name: tensor.dtype for name, tensor in compact(network).items()}
    assert types["0.weight"] == torch.float16
    assert {types["1.weight"], types["0.bias"]} == {torch.float32}


@pytest.mark.parametrize("seed", range(5))
def test_eight_bits_are_exact_and_near(seed: int) -> None:
    """Rounding to bytes moves a weight by at most 1/127 of the row's largest one, is done once and for
    all, and is read back bit by bit; rows of zeros and single weights are no exception."""
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Conv2d(3, 5, 3), nn.Linear(4, 1, bias=False), nn.Linear(2, 3))
    with torch.no_grad():
        network[0].weight[2] = 0
        network[2].weight *= 10.0 ** torch.randint(-20, 20, (3, 1))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    round_weights(network, 8)
    once = {name: value.clone() for name, value in network.state_dict().items()}
    round_weights(network, 8)
    kept = compact(network)
    assert {kept[name].dtype for name in ("0.weight", "1.weight", "2.weight")} == {torch.int8}
    read = expanded(kept)
    for name, value in network.state_dict().items():
        assert torch.equal(value, once[name])
        assert torch.equal(value, read[name])
        if value.ndim > 1:
            largest = before[name].flatten(1).abs().amax(1)
            moved = (value - before[name]).flatten(1).abs().amax(1)
            assert bool((moved <= largest / 127).all())
        else:
            assert torch.equal(value, before[name])
    assert read.keys() == before.keys()
