"""Every network takes the channels of its representation, and the normalisation travels with the weights."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn

from zoo.errors import ModelError
from zoo.models.networks import MODELS, Base, build_network, default_model, require_fit


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("small_cnn", (6, 32, 32)),
        ("medium_cnn", (6, 32, 32)),
        ("small_cnn", (2, 28, 28)),
        ("small_cnn", (2, 8, 8)),
        ("small_cnn", (6, 96, 96)),
        ("wide_resnet40_2", (6, 32, 32)),
        ("resnet18", (6, 32, 32)),
        ("resnet50", (6, 96, 96)),
        ("mlp", (24,)),
        ("mlp", (2, 8, 8)),
    ],
)
def test_every_network_maps_its_input_to_logits(name: str, shape: tuple[int, ...]) -> None:
    """Any channels, any size it is meant for, one finite logit per class, and a gradient for every parameter."""
    torch.manual_seed(0)
    _, network = build_network(name, shape, 7)
    logits = network(torch.rand(2, *shape))
    assert logits.shape == (2, 7)
    assert bool(logits.isfinite().all())
    logits.sum().backward()
    assert all(p.grad is not None for p in network.parameters())


def test_sizes_are_what_the_names_promise() -> None:
    """WRN-40-2 has its published 2.2 million parameters, the small network half a million."""
    sizes = {
        name: sum(p.numel() for p in build_network(name, (6, 32, 32), 10)[1].parameters())
        for name in ("wide_resnet40_2", "small_cnn", "medium_cnn")
    }
    assert 2.2e6 < sizes["wide_resnet40_2"] < 2.3e6
    assert 0.4e6 < sizes["small_cnn"] < 0.6e6
    assert 1.3e6 < sizes["medium_cnn"] < 1.5e6


def test_own_modules_and_factories_are_taken() -> None:
    """A module is copied as it is; a factory gets (in_channels, num_classes), as timm's do."""
    module = nn.Flatten()
    name, network = build_network(module, (6, 4, 4), 3)
    assert (name, type(network)) == ("Flatten", nn.Flatten)
    assert network is not module  # a copy

    def pooled(in_channels: int, num_classes: int) -> nn.Module:
        return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(in_channels, num_classes))

    name, network = build_network(pooled, (6, 4, 4), 3)
    assert name == "pooled"
    assert network(torch.zeros(1, 6, 4, 4)).shape == (1, 3)


def test_unknown_and_unfit_models_are_refused() -> None:
    """The nearest name is suggested; an image network is not given a table."""
    with pytest.raises(ModelError, match="did you mean 'wide_resnet40_2'"):
        build_network("wide_resnet_40_3", (6, 32, 32), 10)
    assert build_network("MLP", (12,), 10)[0] == "mlp"
    with pytest.raises(ModelError, match="use 'mlp'"):
        build_network("small_cnn", (12,), 10)
    assert all(default_model(shape) in MODELS for shape in ((3, 224, 224), (1, 8, 8), (5,)))


def test_a_factory_that_takes_something_else_is_told_how_it_is_called() -> None:
    """Torchvision's builders, say, take no channels; an error inside a factory is the factory's own."""

    def builder(*, weights: object = None) -> nn.Module:
        return nn.Flatten()

    with pytest.raises(ModelError, match=r"builder\(6, 3\) \(too many positional .* fn\(in_channels, num_classes\)"):
        build_network(builder, (6, 4, 4), 3)
    with pytest.raises(TypeError, match="of its own"):
        build_network(lambda channels, classes: (_ for _ in ()).throw(TypeError("of its own")), (6, 4, 4), 3)


def test_damaged_weights_are_noticed_before_the_training() -> None:
    """A loss that is NaN from the first step on is not the learning rate's fault."""
    network = nn.Linear(6, 3)
    with torch.no_grad():
        network.weight[0, 0] = torch.nan
    with pytest.raises(ModelError, match=r"Linear answers zeros with NaN or infinity: its weights are damaged"):
        require_fit("Linear", network, (6,), 3)


@pytest.mark.parametrize("shape", [(4, 5, 5), (6,)])
def test_normalisation_belongs_to_the_channels_and_is_saved(shape: tuple[int, ...]) -> None:
    """Shown values reach the network with mean 0 and deviation 1 a channel; a constant channel is left finite."""
    shown = torch.rand(200, *shape) * 3 + torch.arange(shape[0]).view(-1, *[1] * (len(shape) - 1))
    shown[:, 0] = 0.5
    base = Base(nn.Identity(), *Base.statistics(shown))
    seen = base(shown).transpose(0, 1).flatten(1)
    assert bool((seen.mean(1).abs() < 1e-4).all())
    assert bool(((seen[1:].std(1) - 1).abs() < 1e-3).all())
    assert set(base.state_dict()) == {"mean", "std"}


def test_torchvision_imports_beside_this_torch() -> None:
    """Whatever torch is installed, torchvision's data sets and networks can be used, and are imported once."""
    code = (
        "from zoo.data import torchvision as t; import sys; a = t('models'); assert t('models') is a;"
        "import torchvision; assert torchvision is t(); print(a.resnet18.__name__, t('datasets').CIFAR10.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["resnet18", "CIFAR10"], done.stderr
