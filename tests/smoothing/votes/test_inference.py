"""The copy that votes is the base: folded where that is certain, up to date, and otherwise the base itself."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, fx, nn
from torch.nn.utils import parametrize

from smoothing import Scheme, SmoothedClassifier, VoteError
from smoothing.votes.inference import prepare
from smoothing.votes.threads import in_order
from zoo.models import MODELS

EXAMPLE = torch.rand(3, 2, 8, 8, generator=torch.Generator().manual_seed(0))


def settled(network: nn.Module) -> nn.Module:
    """With running statistics and scales as a training leaves them: none is 0 or 1, some scales are negative."""
    torch.manual_seed(0)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d) and module.track_running_stats:
            module.running_mean.normal_()
            module.running_var.uniform_(0.2, 2)
            nn.init.normal_(module.weight, 0.5)
            nn.init.normal_(module.bias)
    return network.eval()


def norms(network: nn.Module) -> int:
    return sum(isinstance(module, nn.BatchNorm2d) for module in network.modules())


class Net(nn.Module):
    """A convolution, a norm and a head, put together by `join`."""

    fast_copy = True

    def __init__(self, join: Callable[[Net, Tensor], Tensor], norm: nn.Module | None = None) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.conv, self.norm = nn.Conv2d(2, 4, 3, padding=1), norm or nn.BatchNorm2d(4)
        self.head, self.join = nn.Linear(4, 3), join
        self.factor, self.plain, self.listed = 2.0, torch.tensor(2.0), [2.0]
        self.ends = nn.ModuleList([nn.Identity(), nn.ReLU()])

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.join(self, x).relu().mean((2, 3)))


class Silent(Net):
    """The same network, which does not ask for a copy."""


class Doubled(nn.BatchNorm2d):
    """Not what its base class computes."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def by_size(net: Net, x: Tensor) -> Tensor:
    return net.norm(net.conv(x)) if len(x) % 2 else net.conv(x)


FOLDED = {
    "norm after convolution": (Net(lambda net, x: net.norm(net.conv(x))), 0),
    "convolution read twice": (Net(lambda net, x: net.norm(y := net.conv(x)) + y), 1),
    "convolution called twice": (Net(lambda net, x: net.norm(net.conv(x)) + net.conv(2 * x)), 1),
    "weights read": (Net(lambda net, x: net.norm(net.conv(x)) + 1e-9 * net.conv.weight.sum()), 1),
    "norm of a sum": (Net(lambda net, x: net.norm(net.conv(x) + 1)), 1),
    "norm after norm": (Net(lambda net, x: net.norm(net.norm(net.conv(x)))), 0),
}


@pytest.mark.parametrize("case", FOLDED)
@pytest.mark.parametrize("channels_last", [False, True])
def test_norms_are_folded_where_the_pattern_is_certain(case: str, channels_last: bool) -> None:
    """Only a norm that alone reads a convolution called once goes away; the answers stay, up to the last bits."""
    network, left = FOLDED[case]
    settled(network)
    found = prepare(network, EXAMPLE, channels_last)
    assert found.pure
    assert norms(found.network) == left
    x = torch.rand(5, 2, 8, 8)
    assert torch.allclose(found.network(x), network(x), rtol=0, atol=1e-5)


def hooked(network: nn.Module) -> nn.Module:
    network.conv.register_forward_hook(lambda module, args, out: 2 * out)
    return network


AS_IT_IS = {
    "control flow": lambda: Net(by_size),
    "hooks": lambda: hooked(Net(lambda net, x: net.norm(net.conv(x)))),
    "compiled": lambda: torch.compile(Net(lambda net, x: net.norm(net.conv(x)))),
    "a norm of another class": lambda: Net(lambda net, x: net.norm(net.conv(x)), Doubled(4)),
    "random": lambda: Net(lambda net, x: net.conv(x) * torch.rand(4, 1, 1)),
    "no copy": lambda: Net(lambda net, x: net.norm(net.conv(x)), norm=Uncopied(4)),
    "a wrapped function": lambda: Silent(lambda net, x: counted(net.conv(x))),
    "a forward of its own": lambda: patched(Net(lambda net, x: net.norm(net.conv(x)))),
    "another way in": lambda: Called(lambda net, x: net.norm(net.conv(x))),
    "a buffer that is written": lambda: Scratch(lambda net, x: torch.mul(net.conv(x), 2, out=net.scratch)),
    "a parametrization": lambda: parametrized(Net(lambda net, x: net.norm(net.conv(x)))),
    "a layer with a forward of its own": lambda: rewired(Net(lambda net, x: net.norm(net.conv(x)))),
    "a look at its input": lambda: Net(asking),
    "an activation of its own": lambda: Net(lambda net, x: net.norm(x.flatten(2))[..., None], Attending()),
}


def asking(net: Net, x: Tensor) -> Tensor:
    """A tensor on the way in; what a trace passes is none. Only dark images are treated otherwise."""
    y = net.norm(net.conv(x))
    return y * torch.where(x.mean((1, 2, 3), keepdim=True) < 0.1, -3, 1) if isinstance(x, Tensor) else y


def rewired(network: nn.Module) -> nn.Module:
    """A bound method in place of a layer's `forward`: it may keep anything between calls."""
    network.conv.forward = MethodType(lambda conv, x: 2 * nn.Conv2d.forward(conv, x), network.conv)
    return network


class Attending(nn.Sequential):
    """Our code called by a layer of PyTorch's."""

    def __init__(self) -> None:
        layer = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True, activation=lambda x: x.relu())
        super().__init__(nn.Linear(64, 8), layer, nn.Conv1d(2, 4, 1))


def patched(network: nn.Module) -> nn.Module:
    """Another function where an input is bright, which a few examples need not show."""
    inner = network.forward
    network.forward = lambda x: inner(x) * torch.where(x.mean((1, 2, 3)) > 0.9, -1, 1)[:, None]
    return network


class Called(Net):
    """As `patched`, by its class."""

    fast_copy = True

    def __call__(self, x: Tensor) -> Tensor:
        return super().__call__(x) * torch.where(x.mean((1, 2, 3)) > 0.9, -1, 1)[:, None]


class Scratch(Net):
    """Keeps what it last computed in a buffer, where threads would write over each other."""

    fast_copy = True

    def __init__(self, join: Callable[[Net, Tensor], Tensor]) -> None:
        super().__init__(join)
        self.register_buffer("scratch", torch.zeros(0))


@fx.wrap
def counted(x: Tensor) -> Tensor:
    """Python code that a traced graph calls as it is: it may keep anything between calls."""
    return x


class Halved(nn.Module):
    """Code of our own inside a module of PyTorch's."""

    def forward(self, x: Tensor) -> Tensor:
        return x / 2


def parametrized(network: nn.Module) -> nn.Module:
    parametrize.register_parametrization(network.conv, "weight", Halved())
    return network


class Uncopied(nn.BatchNorm2d):
    fast_copy = True

    def __deepcopy__(self, memo: object) -> nn.Module:
        raise TypeError("no copies")


@pytest.mark.parametrize("case", AS_IT_IS)
def test_what_cannot_be_traced_is_called_as_it_is(case: str) -> None:
    """The base itself is called, from one thread, and is left as it was."""
    network = AS_IT_IS[case]().eval()
    found = prepare(network, EXAMPLE, channels_last=True)
    assert found.network is network
    assert not found.pure


def test_a_network_has_to_ask_for_the_copy() -> None:
    """All of its modules, each for itself, and the votes are those of the network either way."""
    asking_one, silent = (settled(made(lambda net, x: net.norm(net.conv(x)))) for made in (Net, Silent))
    silent.load_state_dict(asking_one.state_dict())
    found = [smoothed(network) for network in (asking_one, silent)]
    assert [classifier.prepared.pure for classifier in found] == [True, False]
    assert found[1].prepared.network is silent
    assert np.array_equal(found[0].votes(IMAGES), found[1].votes(IMAGES))
    silent.fast_copy = True
    assert smoothed(silent).prepared.pure
    silent.conv.fast_copy = False
    assert not smoothed(silent).prepared.pure


def test_batch_statistics_are_not_folded() -> None:
    """A norm without running statistics reads the batch; nothing can be folded."""
    network = Net(lambda net, x: net.norm(net.conv(x)), nn.BatchNorm2d(4, track_running_stats=False)).eval()
    assert norms(prepare(network, EXAMPLE, channels_last=True).network) == 1


@pytest.mark.parametrize("name", ["small_cnn", "wide_resnet40_2", "resnet18", "mlp"])
def test_the_zoo_is_prepared(name: str) -> None:
    """Every network of the zoo can be traced, and its copy agrees with it."""
    torch.manual_seed(0)
    network = settled(MODELS[name]((6, 32, 32), 10))
    x = torch.rand(3, 6, 32, 32)
    found = prepare(network, x, channels_last=True)
    assert found.pure
    assert norms(found.network) <= norms(network) // 2 + 2
    given, folded = network(x), found.network(x)
    assert (given - folded).abs().max() <= 1e-5 * given.abs().max()


def smoothed(base: nn.Module, **settings: object) -> SmoothedClassifier:
    return SmoothedClassifier(base, Scheme.l1(4, (1, 8, 8), q=16), 3, **settings)


IMAGES = torch.from_numpy(np.random.RandomState(0).randint(17, size=(4, 1, 8, 8)))


def logits(classifier: SmoothedClassifier, images: Tensor = IMAGES) -> Tensor:
    return torch.cat([out.flatten(0, 1) for _, _, out in classifier.outputs(images)])


CHANGES = {
    "an optimizer's step": lambda net: net.conv.weight.data.mul_(1 + 1e-6),
    "a buffer": lambda net: net.norm.running_mean.sub_(5),
    "a module replaced": lambda net: setattr(net, "head", nn.Linear(4, 3)),
    "loaded weights": lambda net: net.load_state_dict({k: 1.5 * v for k, v in net.state_dict().items()}),
    "a Python attribute": lambda net: setattr(net, "join", lambda net, x: -net.conv(x)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_base_is_prepared_anew(change: str) -> None:
    """After any change the outputs are those of a classifier made from the changed base."""
    network = settled(Net(lambda net, x: net.norm(net.conv(x))))
    classifier = smoothed(network)
    before = logits(classifier)
    kept = classifier.prepared
    assert classifier.prepared is kept
    with torch.no_grad():
        CHANGES[change](network)
    after = logits(classifier)
    assert torch.equal(after, logits(smoothed(network)))
    assert not torch.equal(after, before)


def on_dark(factor: Callable[[Net], Tensor | float]) -> Callable[[Net, Tensor], Tensor]:
    """What a network does with its own factor, on dark images alone: those that a copy is tried on are not."""
    return lambda net, x: net.norm(net.conv(x)) * torch.where(x.mean((1, 2, 3), keepdim=True) < 0.45, factor(net), 1.0)


def darkened(module: nn.Module, args: tuple[Tensor], out: Tensor) -> Tensor:
    return torch.where(args[0].mean((1, 2, 3), keepdim=True) < 0.45, -3 * out, out)


UNSEEN: dict[str, tuple[Callable[[Net, Tensor], Tensor], Callable[[Net], object]]] = {
    "a number": (on_dark(lambda net: net.factor), lambda net: setattr(net, "factor", -3.0)),
    "a tensor that is no buffer": (on_dark(lambda net: net.plain), lambda net: net.plain.fill_(-3)),
    "an item of a list": (on_dark(lambda net: net.listed[0]), lambda net: net.listed.insert(0, -3.0)),
    "a hook": (on_dark(lambda net: 1.0), lambda net: net.conv.register_forward_hook(darkened)),
    "a module used again": (
        on_dark(lambda net: net.ends[0](torch.tensor(-2.0))),
        lambda net: net.ends.__setitem__(0, net.ends[1]),
    ),
}


@pytest.mark.parametrize("change", UNSEEN)
def test_a_change_that_the_example_does_not_show_is_noticed(change: str) -> None:
    """A copy is given up for what its base has become, not only for what it answers."""
    join, apply = UNSEEN[change]
    network, dark = settled(Net(join)), torch.zeros_like(IMAGES)
    classifier = smoothed(network)
    before = logits(classifier, dark)
    apply(network)
    after = logits(classifier, dark)
    assert torch.equal(after, logits(smoothed(network), dark))
    assert not torch.equal(after, before)


def test_the_copy_is_traced_as_it_is_called() -> None:
    """A base may ask whether gradients are wanted: they are not."""
    asked = on_dark(lambda net: 9.0 if torch.is_grad_enabled() else 1.0)
    classifier, dark = smoothed(network := settled(Net(asked))), torch.zeros_like(IMAGES)
    shown = classifier.noise.inputs(dark, range(classifier.scheme.samples), channels_last=True).flatten(0, 1)
    assert classifier.prepared.pure
    assert torch.allclose(logits(classifier, dark), classifier.evaluate(shown, network), rtol=0, atol=1e-5)


def test_the_copy_is_traced_in_the_precision_in_which_it_is_called() -> None:
    """A base may ask for that, too; and it may be changed."""
    asked = on_dark(lambda net: 9.0 if torch.is_autocast_enabled("cpu") else 1.0)
    classifier, dark = smoothed(network := settled(Net(asked))), torch.zeros_like(IMAGES)
    shown = classifier.noise.inputs(dark, range(classifier.scheme.samples), channels_last=True).flatten(0, 1)
    for precision in (torch.bfloat16, None):
        classifier.autocast = precision
        expected = classifier.evaluate(shown, network).float()
        assert torch.allclose(logits(classifier, dark).float(), expected, rtol=0.1, atol=0.1)


@pytest.mark.parametrize(
    "norm", [nn.BatchNorm2d(4, track_running_stats=False), nn.Softmax(dim=0)], ids=["statistics", "softmax"]
)
def test_a_base_that_mixes_the_rows_of_a_batch_is_refused(norm: nn.Module) -> None:
    """Its votes would depend on how samples are batched."""
    network = Net(lambda net, x: 9 * net.norm(net.conv(x)), norm)
    with pytest.raises(VoteError, match="function of the input alone"):
        smoothed(network).votes(IMAGES)


def test_a_base_may_use_up_its_input() -> None:
    """By operations in place."""
    used = smoothed(settled(Net(lambda net, x: net.conv(x.mul_(3).sub_(1)))))
    kept = smoothed(settled(Net(lambda net, x: net.conv(x * 3 - 1))))
    assert torch.equal(logits(used, IMAGES), logits(kept, IMAGES))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_matter(threads: int) -> None:
    """Batches are evaluated one by one in a thread each: the outputs are the same bits for any number of threads."""
    classifier = smoothed(settled(Net(lambda net, x: net.norm(net.conv(x)))), batch_size=7)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = [out.clone() for _, _, out in classifier.outputs(IMAGES)]
        torch.set_num_threads(threads)
        found = list(classifier.outputs(IMAGES))
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(out, wanted) for (_, _, out), wanted in zip(found, expected, strict=True))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [7, 64, 300])
def test_groups_cut_between_batches(threads: int, rows: int) -> None:
    """A run that votes group by group gets the bits of one call, and a group keeps every thread busy."""
    classifier = smoothed(settled(Net(lambda net, x: net.norm(net.conv(x)))), batch_size=rows)
    images = IMAGES.repeat(10, 1, 1, 1)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        size = classifier.group
        assert size * classifier.scheme.samples >= (1 if threads == 1 else 4 * threads) * min(rows, 64)
        parts = [logits(classifier, images[i : i + size]) for i in range(0, len(images), size)]
        assert torch.equal(torch.cat(parts), logits(classifier, images))
    finally:
        torch.set_num_threads(before)


@given(st.lists(st.integers(), max_size=40), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_work_comes_back_in_order(jobs: list[int], threads: int) -> None:
    """Whatever the threads do, results are those of `map`."""
    assert list(in_order(lambda job: 3 * job, jobs, threads)) == [3 * job for job in jobs]


def test_an_error_in_a_thread_is_the_callers() -> None:
    """It is raised where the result is taken, and PyTorch's number of threads is as before."""
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda job: 1 // (3 - job), range(100), 2))
    assert torch.get_num_threads() == before


def test_large_activations_make_small_batches() -> None:
    """Four times the pixels, a fourth of the rows."""
    small, large = (
        prepare(nn.Conv2d(2, 4, 3), torch.rand(3, 2, side, side), channels_last=True).rows for side in (34, 66)
    )
    assert small == 4 * large
