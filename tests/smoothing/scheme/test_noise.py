"""The noise puts every level into the bin that its outcome says, whatever the shape, grid and way of looking up."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import ECM
from ecm.allocation import Outcomes
from ecm.arrays import Ints
from ecm.design import Design
from smoothing import InputError, Noise, Scheme, SchemeError, channels
from smoothing.scheme import noise as _noise
from smoothing.scheme.representation import PLANES
from smoothing.verification.strategies import small_inputs, small_schemes


def bins(scheme: Scheme, x: Ints, samples: range) -> tuple[Ints, Ints]:
    """(lower, upper) by the definition: the nearest dividers on either side of each level, one by one."""
    flat = x.reshape(len(x), -1)
    lower = np.zeros((len(x), len(samples), scheme.features), dtype=np.int64)
    upper = np.full_like(lower, 2 * scheme.q)
    for f in range(scheme.features):
        outcomes = scheme.design.outcomes[scheme.component[f]]
        rows = list(outcomes.rows())
        for s, outcome in enumerate(scheme.outcome(f, np.array(samples)).tolist()):
            dividers = 2 * rows[outcome] - 1 if outcome < outcomes.finite else []
            for n in range(len(x)):
                lower[n, s, f] = max([0, *(d for d in dividers if d < 2 * flat[n, f])])
                upper[n, s, f] = min([2 * scheme.q, *(d for d in dividers if d > 2 * flat[n, f])])
    shape = (len(x), len(samples), *scheme.shape)
    return lower.reshape(shape), upper.reshape(shape)


@pytest.mark.parametrize("largest", [2**23, 0], ids=["rows", "bisection"])
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_bounds_are_the_bins_of_the_outcomes(largest: int, data: st.DataObject) -> None:
    """Both ways of looking up agree with the definition on small schemes of every kind; a network reads the same."""
    scheme = data.draw(small_schemes())
    x = data.draw(small_inputs(scheme, count=2))
    samples = range(scheme.samples - 1, -1, -1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_noise, "_LARGEST_TABLE", largest)
        noise = Noise(scheme, memory=data.draw(st.sampled_from([1, 2**28])))
    lower, upper = noise.bounds(torch.from_numpy(x), samples)
    expected = bins(scheme, x, samples)
    assert np.array_equal(lower.numpy(), expected[0])
    assert np.array_equal(upper.numpy(), expected[1])
    shown = noise.inputs(torch.from_numpy(x), samples)
    both = torch.cat([upper, lower], dim=2).double() / (2 * scheme.q)
    assert torch.equal(shown, both.float())
    assert torch.equal(shown, noise.inputs(torch.from_numpy(x), samples, channels_last=True))
    picked = [0, scheme.samples - 1]
    assert torch.equal(noise.paired(torch.from_numpy(x), picked), shown[[0, 1], [scheme.samples - 1, 0]])


def step(q: int) -> ECM:
    """The metric with g(0) = 0 and g = 1 elsewhere on the grid: it allows any outcomes."""
    return ECM.from_values([0, *[1] * q])


def test_every_width_separates_min_of_width_and_distance() -> None:
    """At q = 255, for every width j and all pairs of levels k apart, exactly min(j, k) of the j offsets separate."""
    q = 255
    budget = q * (q + 1) // 2
    scheme = Scheme(
        Design.from_weights(step(q), dict.fromkeys(range(1, q + 1), 1), q, budget),
        (1,),
        coupling="independent",
        order="published",
    )
    level = torch.arange(q + 1)
    lower, upper = (end[:, :, 0] for end in Noise(scheme).bounds(level[:, None], range(budget)))
    assert bool(((lower <= 2 * level[:, None]) & (2 * level[:, None] <= upper)).all())
    by_outcome = torch.from_numpy(np.argsort(scheme.outcome(0, np.arange(budget))))
    ends = lower[:, by_outcome].T.contiguous().numpy().astype(np.int16)
    distance = np.abs(np.subtract.outer(np.arange(q + 1), np.arange(q + 1)))
    first = 0
    for j in range(1, q + 1):
        same = np.zeros((q + 1, q + 1), dtype=np.int16)
        for row in ends[first : first + j]:  # two levels share a bin if and only if its lower end is the same
            same += row[:, None] == row
        assert np.array_equal(j - same, np.minimum(j, distance)), f"width {j}"
        first += j


WIDTH = 300


@pytest.fixture(scope="module")
def designs() -> dict[int, Design]:
    """One width with all its offsets, by q. At q = 65535 the rows would take gigabytes, so bins are bisected."""
    return {q: Design.from_weights(step(q), {min(q, WIDTH): 1}, q, WIDTH) for q in (16, 255, 65535)}


@pytest.mark.parametrize("q", [16, 255, 65535])
@pytest.mark.parametrize("shape", [(7,), (28, 28), (3, 32, 32), (3, 224, 224)], ids=str)
def test_shapes_and_grids(designs: dict[int, Design], shape: tuple[int, ...], q: int) -> None:
    """Vectors, small and large images on coarse and fine grids: bins agree with arithmetic on the width."""
    scheme, width = Scheme(designs[q], shape), min(q, WIDTH)
    noise = Noise(scheme)
    assert (noise._keys is None) == (q < 65535)
    x = torch.from_numpy(np.random.RandomState(0).randint(q + 1, size=(2, *shape)))
    samples = np.array([0, 5, 299])
    lower, upper = noise.bounds(x, samples)
    outcome = torch.from_numpy(scheme.outcome(np.arange(scheme.features), samples[:, None])).view(3, *shape)
    gap = outcome + 1  # the first gap with a divider; the others follow at distance `width`
    below = (x[:, None] - gap).div(width, rounding_mode="floor") * width + gap
    low = torch.where(below >= 1, 2 * below - 1, 0)
    high = torch.where(below + width <= q, 2 * (below + width) - 1, 2 * q)
    assert torch.equal(lower, torch.where(outcome < width, low, 0).int())
    assert torch.equal(upper, torch.where(outcome < width, high, 2 * q).int())


@pytest.mark.parametrize("representation", PLANES)
def test_representations_are_functions_of_the_bounds(representation: str) -> None:
    """Every plane is what its name says, in [0,1], and there are as many as `channels` says."""
    scheme = Scheme.l1(2, (3, 2, 2), q=4, representation=representation)  # type: ignore[arg-type]
    noise = Noise(scheme)
    x = torch.from_numpy(np.random.RandomState(0).randint(5, size=(2, 3, 2, 2)))
    lower, upper = (end.double() / 8 for end in noise.bounds(x, range(8)))
    center, error = (lower + upper) / 2, (upper - lower) / 2
    parts = {
        "upper_lower": [upper, lower],
        "center": [center],
        "center_center": [center] * 2,
        "center_error": [center, error],
    }
    shown = noise.inputs(x, range(8))
    assert shown.dtype == torch.float32
    assert shown.shape[2] == channels(scheme.representation, 3)
    assert torch.equal(shown, torch.cat(parts[representation], dim=2).float())


def test_channels_last_is_the_storage_only() -> None:
    """With channels_last the batch can be read by a network without a copy."""
    noise = Noise(Scheme.l1(2, (3, 8, 8), q=4))
    shown = noise.inputs(torch.zeros((2, 3, 8, 8), dtype=torch.uint8), range(8), channels_last=True)
    assert shown.flatten(0, 1).is_contiguous(memory_format=torch.channels_last)
    assert shown.flatten(0, 1).data_ptr() == shown.data_ptr()


def test_wrong_samples_and_shapes_are_refused() -> None:
    """Samples beyond T and inputs of another shape raise, with both numbers in the message."""
    noise = Noise(Scheme.l1(2, (3,), q=4))
    for wrong in ([8], [-1], [0, 8], [-1, 7]):
        with pytest.raises(SchemeError, match=r"0\.\.7"):
            noise.bounds(torch.zeros((1, 3), dtype=torch.int64), wrong)
    with pytest.raises(InputError, match="3"):
        noise.bounds(torch.zeros((1, 4), dtype=torch.int64), [0])
    with pytest.raises(InputError, match="one sample per image"):
        noise.paired(torch.zeros((2, 3), dtype=torch.int64), [0])


def test_infinite_outcomes_are_one_row() -> None:
    """Tables grow with the outcomes that have dividers, not with the budget."""
    small, large = (
        Noise(Scheme(Design.from_rows(step(255), [[3]], q=255, budget=budget), (4,))) for budget in (2, 2000)
    )
    assert len(small._shown) == len(large._shown) == 2 * 2 * 256


PEAK = """
import resource, numpy as np, torch
from ecm import ECM
from ecm.design.design import Design
from smoothing import Noise, Scheme
torch.set_num_threads(1)
rows = [sorted(set(np.random.RandomState(i).randint(1, 256, size=4).tolist())) for i in range(1000)]
step = ECM.from_values([0, *["1/18"] * 255])
noise = Noise(Scheme(Design.from_rows(step, rows, q=255, budget=18000), (3, 224, 224)), memory=2**27)
x = torch.randint(0, 256, (1, 3, 224, 224), dtype=torch.uint8)
noise.inputs(x, [0], channels_last=True)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
noise.inputs(x, range(17000, 17000 + noise.chunk), channels_last=True)
print(noise.chunk, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_memory_stays_under_the_limit() -> None:
    """3x224x224 with B = 18 000: a call with `chunk` pairs takes no more than `memory`, measured by the system."""
    out = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True).stdout.split()
    assert int(out[0]) > 8
    assert int(out[1]) <= 2**27


def test_outcomes_without_dividers_only() -> None:
    """A feature of the zero metric is never shown: its bin is everything."""
    metric = ECM.grouped([ECM.l1(2), ECM.from_expr("0")])
    outcomes = (Outcomes.from_weights({4: 1}, 4, 8), Outcomes.from_rows([], 4, 8))
    noise = Noise(Scheme(Design(metric, 4, 8, outcomes), (2, 3)))
    lower, upper = noise.bounds(torch.full((1, 2, 3), 2), range(8))
    assert lower[:, :, 1].unique().tolist() == [0]
    assert upper[:, :, 1].unique().tolist() == [8]
    assert len(lower[:, :, 0].unique()) > 1
