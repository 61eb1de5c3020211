"""Votes are what the base says sample by sample, and their shares are 1-Lipschitz in the metric, in integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from torch import Tensor, nn

from ecm import ECM, Design
from ecm.errors import ECMError
from smoothing import (
    UNIT,
    FromArrays,
    Noise,
    Scheme,
    SchemeError,
    SmoothedClassifier,
    SmoothedFunction,
    VoteError,
    certify,
)
from smoothing.verification.strategies import HashVote, small_inputs, small_schemes, votes
from smoothing.votes.early_stop import asking_order


def small_network(channels: int, pixels: int, classes: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(channels, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * pixels, classes)
    )


def touched(noise: Noise, x: Tensor, y: Tensor) -> NDArray[np.bool_]:
    """Samples at which the bins of x and y differ somewhere."""
    samples = range(noise.scheme.samples)
    (a, _), (b, _) = noise.bounds(x[None], samples), noise.bounds(y[None], samples)
    return (a != b)[0].flatten(1).any(dim=1).numpy()


def allowed(scheme: Scheme, x: Tensor, y: Tensor) -> int:
    """sum_i floor(B g_i(|x_i - y_i|)): what B d(x, y) allows, in integers."""
    floors = np.stack(scheme.metric.floors(scheme.total, scheme.q))
    return int(floors[scheme.component, (x.long() - y.long()).abs().flatten().numpy()].sum())


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_shares_are_lipschitz_for_any_base(data: st.DataObject) -> None:
    """|n_c(x) - n_c(y)| <= weight of the touched samples <= sum_i floor(B g_i), for any base, coupling and design."""
    scheme = data.draw(small_schemes())
    classifier = SmoothedClassifier(FromArrays(data.draw(votes(3)), classes=3), scheme, 3)
    pair = torch.from_numpy(data.draw(small_inputs(scheme, count=2)))
    counts = classifier.counts(classifier.votes(pair))
    weights = np.ones(scheme.samples, dtype=np.int64) if scheme.weights is None else scheme.weights
    moved = int(weights[touched(classifier.noise, *pair)].sum())
    assert counts.sum(axis=1).tolist() == [scheme.total] * 2
    assert np.abs(counts[0] - counts[1]).max() <= moved <= allowed(scheme, *pair)


def digits(channels: int) -> Tensor:
    """Real images: scanned digits, 8x8, levels 0..16; as colour images three digits make one."""
    images = load_digits().images.astype(np.int64)
    return torch.from_numpy(images[: len(images) // channels * channels].reshape(-1, channels, 8, 8))


GREY, COLOUR = (1, 8, 8), (3, 8, 8)
LIPSCHITZ = {
    "root": (ECM.lp("1/2", 6), GREY, {}),
    "l1 global": (ECM.l1(6), GREY, {"coupling": "global"}),
    "log": (ECM.log1p(5, 6), GREY, {"coupling": "independent", "order": "published"}),
    "saturating, permutations": (ECM.from_expr("Min(3*z, 1)/8"), GREY, {"coupling": "permutation"}),
    "grouped": (ECM.grouped([ECM.lp("1/2", 6), ECM.l0(12), ECM.l1(6)]), COLOUR, {}),
    "pixels": (ECM.l0(6), COLOUR, {"pixel": True}),
}


@pytest.mark.parametrize("case", LIPSCHITZ)
def test_shares_of_a_network_are_lipschitz_on_real_images(case: str) -> None:
    """On pairs of images, and on images changed in a few pixels, the counts move no more than B d allows, exactly."""
    metric, shape, choices = LIPSCHITZ[case]
    scheme = Scheme(metric.design(96, q=16, kind="periodic" if "global" in case else "aperiodic"), shape, **choices)
    classifier = SmoothedClassifier(small_network(2 * shape[0], 64, 10), scheme, 10)
    images = digits(shape[0])[:12]
    near = images.clone()
    rng = np.random.RandomState(0)
    for image in near:
        where = rng.randint(64, size=2)
        image.view(shape[0], 64)[:, where] = torch.from_numpy(rng.randint(17, size=(shape[0], 2)))
    for other in (near, images.roll(1, 0)):
        a, b = (classifier.counts(classifier.votes(part)) for part in (images, other))
        for x, y, n, m in zip(images, other, a, b, strict=True):
            moved = np.ones(scheme.samples, dtype=int) if scheme.weights is None else scheme.weights
            assert np.abs(n - m).max() <= moved[touched(classifier.noise, x, y)].sum() <= allowed(scheme, x, y)


def test_votes_are_the_bases_answers_sample_by_sample() -> None:
    """Entry [n, t] is the label of image n's bins at sample t; a subset of samples gives those columns."""
    scheme = Scheme.l1(3, (2, 2), q=4)
    base = HashVote(1, 4)
    classifier = SmoothedClassifier(FromArrays(base, 4), scheme, 4, rule="plurality")
    x = torch.from_numpy(np.random.RandomState(0).randint(5, size=(5, 2, 2)))
    cast = classifier.votes(x)
    assert cast.dtype == np.uint8
    assert cast.shape == (5, 12)
    for t in range(12):
        lower, upper = (end[:, 0].numpy().astype(np.float32) / np.float32(8) for end in classifier.noise.bounds(x, [t]))
        assert np.array_equal(cast[:, t], base(lower, upper))
    assert np.array_equal(classifier.votes(x, [7, 2]), cast[:, [7, 2]])
    shares = classifier(x)
    assert torch.equal(shares, torch.from_numpy(classifier.counts(cast) / 12))
    assert classifier.predict(x).tolist() == [np.bincount(v, minlength=4).argmax() for v in cast]


@pytest.mark.parametrize("batch_size", [1, 5, 12, 30, 1000])
@pytest.mark.parametrize("memory", [1, 2**28])
def test_batches_do_not_matter(batch_size: int, memory: int) -> None:
    """Any batch size and memory limit gives the same votes."""
    scheme = Scheme.l1(3, (2, 2, 1), q=4)
    x = torch.from_numpy(np.random.RandomState(0).randint(5, size=(5, 2, 2, 1)))
    one = SmoothedClassifier(FromArrays(HashVote(1, 4), 4), scheme, 4)
    other = SmoothedClassifier(FromArrays(HashVote(1, 4), 4), scheme, 4, batch_size=batch_size, memory=memory)
    assert np.array_equal(one.votes(x), other.votes(x))


def fixed(*rows: list[float]) -> nn.Module:
    """A base that gives the same logits for every input, or cycles through rows."""

    class Fixed(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.tensor(rows).repeat(len(x), 1)[: len(x)]

    return Fixed()


def test_near_ties_are_unsure() -> None:
    """A vote whose two best logits differ by at most the tolerance is 255, and nobody's."""
    scheme = Scheme.l1(1, (1,), q=4)
    x = torch.zeros((1, 1), dtype=torch.uint8)
    base = fixed([0.0, 1.0, 0.5], [2.0, 2.0, 1.0], [0.0, 1.0, 1.25], [3.0, 0.0, 0.0])
    assert SmoothedClassifier(base, scheme, 3).votes(x).tolist() == [[1, 255, 2, 0]]
    assert SmoothedClassifier(base, scheme, 3, tolerance=0.25).votes(x).tolist() == [[1, 255, 255, 0]]
    assert SmoothedClassifier(base, scheme, 3, tolerance=0.5).votes(x).tolist() == [[255, 255, 255, 0]]
    assert SmoothedClassifier(base, scheme, 3, rule="plurality")(x).tolist() == [[0.25, 0.25, 0.25]]


def test_many_classes_take_two_bytes() -> None:
    """Beyond 255 classes votes are uint16 and UNSURE is 65535."""
    scheme = Scheme.l1(1, (1,), q=2)
    base = fixed([float(k == 299) for k in range(300)], [0.0] * 300)
    cast = SmoothedClassifier(base, scheme, 300).votes(torch.zeros((1, 1), dtype=torch.uint8))
    assert cast.dtype == np.uint16
    assert cast.tolist() == [[299, 65535]]


def test_a_base_that_gives_nonsense_is_refused() -> None:
    """NaN logits and outputs of another shape raise; infinite logits are votes as long as one is largest."""
    scheme = Scheme.l1(1, (1,), q=2)
    x = torch.zeros((1, 1), dtype=torch.uint8)
    with pytest.raises(VoteError, match="NaN"):
        SmoothedClassifier(fixed([0.0, float("nan")]), scheme, 2).votes(x)
    with pytest.raises(VoteError, match="3 numbers per input"):
        SmoothedClassifier(fixed([0.0, 1.0]), scheme, 3).votes(x)
    inf = float("inf")
    cast = SmoothedClassifier(fixed([-inf, 0.0, inf], [inf, inf, 0.0]), scheme, 3).votes(x)
    assert cast.tolist() == [[2, 255]]
    with pytest.raises(VoteError, match="labels"):
        SmoothedClassifier(FromArrays(lambda low, up: np.full(len(low), 7), 2), scheme, 2).votes(x)
    with pytest.raises(VoteError, match="float scores"):
        SmoothedClassifier(FromArrays(lambda low, up: low[0], 2), scheme, 2).votes(x)
    for classes in (1, 65536):
        with pytest.raises(VoteError, match="classes"):
            SmoothedClassifier(fixed([0.0]), scheme, classes)
    with pytest.raises(VoteError, match="tolerance"):
        SmoothedClassifier(fixed([0.0, 1.0]), scheme, 2, tolerance=float("nan"))
    with pytest.raises(VoteError, match="batch_size"):
        SmoothedClassifier(fixed([0.0, 1.0]), scheme, 2, batch_size=0)
    with pytest.raises(SchemeError, match="upper_lower"):
        SmoothedClassifier(FromArrays(HashVote(0, 2), 2), Scheme.l1(1, (1,), q=2, representation="center_center"), 2)


def test_the_network_is_left_as_it_was() -> None:
    """Voting happens in evaluation mode without gradients; every module's own mode is back afterwards."""
    scheme = Scheme.l1(2, (1, 4, 4), q=4)
    base = small_network(2, 16, 3)
    base.train()
    base[1].eval()
    modes, state = [m.training for m in base.modules()], {k: v.clone() for k, v in base.state_dict().items()}
    shares = SmoothedClassifier(base, scheme, 3)(torch.ones((2, 1, 4, 4), dtype=torch.uint8))
    assert not shares.requires_grad
    assert [m.training for m in base.modules()] == modes
    assert all(torch.equal(v, state[k]) for k, v in base.state_dict().items())


def test_mixed_precision_is_a_choice() -> None:
    """With autocast the base computes in the given dtype; votes stay close to those in float32."""
    scheme = Scheme.l1(4, (1, 4, 4), q=16)
    x = torch.from_numpy(np.random.RandomState(0).randint(17, size=(4, 1, 4, 4)))
    base = small_network(2, 16, 3)
    full, half = (SmoothedClassifier(base, scheme, 3, autocast=t) for t in (None, torch.bfloat16))
    assert half.evaluate(half.noise.inputs(x, [0])[:, 0]).dtype == torch.bfloat16
    assert (full.votes(x) == half.votes(x)).mean() > 0.9


def test_a_tree_on_a_table_can_be_smoothed() -> None:
    """A gradient-boosted tree on columns is a base like any other: it reads arrays and its votes are counted."""
    rng = np.random.RandomState(0)
    table = rng.randint(17, size=(300, 4))
    label = (table[:, 0] + table[:, 1] > 16).astype(int)
    scheme = Scheme(ECM.lp("1/2").design(32, q=16), (4,))
    noise = Noise(scheme)
    seen = noise.paired(torch.from_numpy(table), rng.randint(32, size=300)).numpy()
    tree = GradientBoostingClassifier(n_estimators=10).fit(seen, label)
    base = FromArrays(lambda lower, upper: tree.predict_proba(np.hstack([upper, lower])), classes=2)
    classifier = SmoothedClassifier(base, scheme, 2)
    assert (classifier.predict(table[:60]) == label[:60]).mean() > 0.8


def test_soft_outputs_are_means() -> None:
    """A smoothed function is the (weighted) mean of the base's values, Lipschitz, and refuses values outside [0,1]."""
    scheme = Scheme.l1(3, (1, 4, 4), q=16, coupling="global")
    base = nn.Sequential(small_network(2, 16, 3), nn.Softmax(dim=1)).eval()
    x = torch.from_numpy(np.random.RandomState(0).randint(17, size=(4, 1, 4, 4)))
    smoothed = SmoothedFunction(base, scheme, 3)
    with torch.inference_mode():
        every = base(smoothed.noise.inputs(x, range(scheme.samples)).flatten(0, 1)).view(4, scheme.samples, 3).double()
    assert scheme.weights is not None
    mean = (every * torch.from_numpy(scheme.weights.copy())[:, None]).sum(dim=1) / scheme.total
    assert torch.allclose(smoothed(x), mean, atol=1e-6)
    assert smoothed.sums(x).dtype == torch.int64
    split = SmoothedFunction(base, scheme, 3, batch_size=7)
    assert (split.sums(x) - smoothed.sums(x)).abs().max() <= 8 * scheme.total  # float32 outputs in other batches
    assert torch.allclose(smoothed(x).sum(dim=1), torch.ones(4, dtype=torch.float64), atol=1e-6)
    with pytest.raises(VoteError, match=r"\[0,1\]"):
        SmoothedFunction(small_network(2, 16, 3), scheme, 3)(x)
    with pytest.raises(VoteError, match="NaN"):
        SmoothedFunction(fixed([float("nan")]), scheme, 1)(x)


def test_sums_that_would_overflow_are_refused() -> None:
    """Wrapped around, the weight of a large budget would certify anything."""
    budget = 1 << 50
    design = Design.from_weights(ECM.l1(budget // 4), {4: 1}, q=4, budget=budget)
    smoothed = SmoothedFunction(fixed([1.0, 0.0]), Scheme(design, (1,), coupling="global"), 2)
    with pytest.raises(SchemeError, match="need B"):
        smoothed.sums(torch.zeros((1, 1), dtype=torch.uint8))


def test_soft_sums_are_lipschitz() -> None:
    """In units of 1/UNIT the sums of x and y differ by at most UNIT a touched sample, in integers."""
    scheme = Scheme(ECM.lp("1/2", 4).design(64, q=16), GREY)
    smoothed = SmoothedFunction(nn.Sequential(small_network(2, 64, 10), nn.Softmax(dim=1)), scheme, 10)
    images = digits(1)[:8]
    sums = smoothed.sums(images)
    for x, y, a, b in zip(images, images.roll(1, 0), sums, sums.roll(1, 0), strict=True):
        assert (a - b).abs().max() <= UNIT * touched(smoothed.noise, x, y).sum() <= UNIT * allowed(scheme, x, y)


def test_preferences_rank_every_pair_of_classes() -> None:
    """Entry [a, b] counts the samples that prefer a to b, ties going to the smaller index, and votes agree with it."""
    scheme = Scheme.l1(1, (1,), q=4)
    base = fixed([0.0, 1.0, 0.5], [2.0, 2.0, 1.0], [0.0, 1.0, 1.25], [3.0, 0.0, 0.0])
    (pairs,) = SmoothedClassifier(base, scheme, 3, batch_size=4).preferences(torch.zeros((1, 1), dtype=torch.uint8))
    assert pairs.tolist() == [[0, 2, 2], [2, 0, 3], [2, 1, 0]]
    near = SmoothedClassifier(base, scheme, 3, batch_size=4, tolerance=0.5)
    assert near.preferences(torch.zeros((1, 1), dtype=torch.uint8))[0].tolist() == [[0, 1, 2], [2, 0, 1], [1, 0, 0]]
    smoothed = SmoothedClassifier(FromArrays(HashVote(0, 4), 4), Scheme.l1(3, (3,), q=4, coupling="global"), 4)
    x = torch.tensor([[0, 3, 1]])
    off = ~np.eye(4, dtype=bool)
    every = smoothed.preferences(x)[0]
    assert ((every + every.T)[off] == smoothed.scheme.total).all()


def test_certificates_come_from_the_votes() -> None:
    """`certify` is voting followed by certifying, image by image."""
    scheme = Scheme(ECM.lp("1/2", 2).design(40, q=16), (4,))
    smoothed = SmoothedClassifier(FromArrays(lambda low, up: (low[:, 0] > 0.2).astype(int), 2), scheme, 2)
    x = torch.tensor([[16, 3, 2, 1], [0, 3, 2, 1]])
    expected = [certify(v, i.numpy(), scheme, 2) for v, i in zip(smoothed.votes(x), x, strict=True)]
    assert [c.radius for c in smoothed.certify(x)] == [c.radius for c in expected]
    assert [c.prediction for c in smoothed.certify(x)] == smoothed.predict(x).tolist()


class Moving(nn.Module):
    """Logits that move by `eta` = 1 each from one evaluation to the next: the lead of the second class, 3, falls to 1;
    that of the first, where there is one, is large."""

    def __init__(self) -> None:
        super().__init__()
        self.later = False

    def forward(self, planes: Tensor) -> Tensor:
        first = planes.flatten(1).sum(dim=1, keepdim=True) > 4.4
        lead = torch.where(first, -40.0, 1.0 if self.later else 3.0)
        return torch.cat([torch.zeros_like(lead), lead], dim=1)


def test_a_vote_that_becomes_a_near_tie_is_still_a_vote() -> None:
    """What is certified in one evaluation is predicted in the next, although sure votes are unsure there."""
    base, x = Moving(), torch.tensor([[4, 4, 4]])
    classifier = SmoothedClassifier(base, Scheme.l1(2, shape=(3,), q=4), classes=2, tolerance=2.0)
    (ball,) = classifier.certify(x)
    assert (ball.prediction, ball.exists) == (1, True)
    assert 0 < (classifier.votes(x) == 0).sum() < 4
    base.later = True
    assert not (classifier.votes(x) == 1).any()
    assert classifier.predict(x).tolist() == [1]
    assert int(classifier(x).argmax()) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"base": lambda planes: planes}, "FromArrays"),
        ({"base": None}, "FromArrays"),
        ({"scheme": ECM.l1(2)}, "no Scheme"),
        ({"classes": 2.0}, "classes"),
        ({"classes": 1}, "classes"),
        ({"tolerance": float("nan")}, "tolerance"),
    ],
    ids=range(6),
)
def test_what_makes_no_classifier_is_refused(wrong: dict[str, Any], message: str) -> None:
    """When it is made, not by what breaks later."""
    given = {"base": nn.Linear(6, 2), "scheme": Scheme.l1(2, shape=(3,), q=4), "classes": 2} | wrong
    with pytest.raises(ECMError, match=message):
        SmoothedClassifier(**given)


@pytest.mark.parametrize("answer", [lambda x: x.mean(), lambda x: x[:, :0], lambda x: x[:, 0]], ids=["0", "n0", "n"])
def test_answers_that_are_no_rows_of_logits_are_refused(answer: Callable[[Tensor], Tensor]) -> None:
    """Whatever their shape."""

    class Answering(nn.Module):
        forward = staticmethod(answer)

    with pytest.raises(VoteError, match="one row of 2 numbers"):
        SmoothedClassifier(Answering(), Scheme.l1(2, shape=(3,), q=4), 2).votes(torch.zeros((1, 3), dtype=torch.uint8))


class Exported(nn.Linear):
    """What `torch.export` makes of a module has no other mode than its own."""

    def train(self, mode: bool = True) -> nn.Module:
        raise NotImplementedError("Calling train() is not supported yet.")


def test_a_base_may_have_one_mode_only() -> None:
    """It is called as it is."""
    votes = SmoothedClassifier(Exported(6, 2), Scheme.l1(2, shape=(3,), q=4), 2).votes(np.zeros((1, 3), np.uint8))
    assert votes.shape == (1, 8)


@pytest.mark.parametrize("rule", ["plurality", "runoff"])
def test_a_few_samples_predict_as_their_own_votes_do(rule: str) -> None:
    """The first samples of the asking order vote; all of them are the full vote; none at all is refused."""
    torch.manual_seed(0)
    scheme = Scheme.l1(6, shape=(3,), q=4)
    smoothed = SmoothedClassifier(nn.Linear(6, 3), scheme, classes=3, rule=rule)  # type: ignore[arg-type]
    x = torch.randint(0, 5, (20, 3), generator=torch.Generator().manual_seed(1))
    assert smoothed.predict(x, samples=scheme.samples).tolist() == smoothed.predict(x).tolist()
    if rule == "plurality":
        few = asking_order(scheme)[:5].tolist()
        assert (
            smoothed.predict(x, samples=5).tolist() == smoothed.counts(smoothed.votes(x, few), few).argmax(1).tolist()
        )
    with pytest.raises(VoteError, match="how many of the 24 samples"):
        smoothed.predict(x, samples=0)
