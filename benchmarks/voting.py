"""Voting from end to end: against a plain loop, the bare network, and what the machine can multiply."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.fx.experimental.optimization import fuse
from torch.utils.flop_counter import FlopCounterMode

from benchmarks._measure import interleaved
from benchmarks._plain import PlainNoise, plain_votes
from benchmarks._shipped import NAME, shipped
from benchmarks._text import Aim, duration, joined, percent, short, table, times
from ecm import ECM
from smoothing import Noise, Scheme, SmoothedClassifier, channels
from zoo import MODELS

ALPHA = 18
PLAIN_AIM, FORWARD_AIM = 3.0, 0.9
PAPER_NETWORK, TOLERANCE = "wide_resnet40_2", 1e-4
SIZES = (16, 32, 64, 128, 256, 512)


def measure(quick: bool) -> dict[str, Any]:
    """The paper's scheme (periodic, B = 1000 alpha, published order) on the shipped network, everything in turn.

    The plain loop and the library cast the same votes: of the same images at the same samples.
    """
    images, samples, rounds = (2, 64, 1) if quick else (2, 512, 15)  # two images: a batch of the plain loop
    sizes = SIZES[2:3] if quick else SIZES
    side = 256 if quick else 2048
    ours = shipped()
    model, x = ours.model, ours.images[:images]
    design = ECM.lp("1/2", ALPHA).design(1000 * ALPHA, kind="periodic")
    scheme = Scheme(design, model.scheme.shape, coupling="independent", order="published")
    voter = SmoothedClassifier(model.base, scheme, model.classes, tolerance=ours.tolerance)
    own = model.smoothed(tolerance=ours.tolerance)
    assert design.weights is not None
    plain = PlainNoise(design.weights[0], design.q, design.budget, scheme.shape)
    # Samples from all over the list: the published order has the narrow widths first.
    chosen = torch.arange(0, scheme.samples, scheme.samples // samples)[:samples]
    wanted = chosen.tolist()
    shown = Noise(scheme).inputs(x, chosen).flatten(0, 1)
    last = shown.contiguous(memory_format=torch.channels_last)
    pairs = images * samples
    bare = model.base.eval()
    turned = copy.deepcopy(bare).to(memory_format=torch.channels_last)
    tuned = fuse(bare).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    square = torch.rand((side, side))
    actions: dict[str, Any] = {
        "plain": lambda: plain_votes(model.base, plain, x / 255, chosen),
        "votes": lambda: voter.votes(x, wanted),
        "matmul": lambda: square @ square,
    }
    bares = {f"batch {size}": partial(forward, bare, shown.contiguous(), size) for size in sizes}
    bares |= {f"batch {size}, channels last": partial(forward, turned, last, size) for size in sizes}
    tuneds = {f"batch {size} a thread": partial(forward_threads, tuned, last, size) for size in sizes}
    found = interleaved(actions | bares | tuneds, rounds)
    recorded = range(samples if quick else own.scheme.samples)
    found |= interleaved({"own": lambda: own.votes(x, recorded)}, 1 if quick else 3)
    best, best_tuned = (min(names, key=lambda name: found[name].median) for names in (bares, tuneds))
    flops = _flops(bare, shown[:1])
    peak = 2 * side**3 / found["matmul"].median

    def rate(name: str) -> dict[str, float]:
        return {
            "a_second": pairs / found[name].median,
            "gflops": flops * pairs / found[name].median / 1e9,
            "of_peak": flops * pairs / found[name].median / peak,
        }

    return {
        "network": NAME,
        "images": images,
        "samples": samples,
        "agreement": agreement(
            voter.votes(x, wanted), plain_votes(model.base, plain, x / 255, chosen).numpy(), ours.tolerance
        ),
        "recorded": agreement(own.votes(x, recorded), ours.votes[:images, recorded], ours.tolerance),
        "rates": {"plain": rate("plain"), "votes": rate("votes"), "bare": rate(best), "tuned": rate(best_tuned)},
        "speedup": found["plain"].over(found["votes"]),
        "of_bare": found[best].over(found["votes"]),
        "of_tuned": found[best_tuned].over(found["votes"]),
        "best": {"bare": best, "tuned": best_tuned},
        "forward": {name: pairs / found[name].median for name in (*bares, *tuneds)},
        "own": {
            "budget": own.scheme.total,
            "a_second": images * len(recorded) / found["own"].median,
            "an_image": found["own"].median / images * own.scheme.samples / len(recorded),
        },
        "flops": flops,
        "matmul": {"side": side, "gflops": peak / 1e9},
        "paper_network": None if quick else paper_network(scheme, plain, x, chosen[:: len(chosen) // 128]),
    }


def paper_network(scheme: Scheme, noise: PlainNoise, x: Tensor, samples: Tensor) -> dict[str, Any]:
    """The same comparison for the paper's network, whose weights are drawn: they do not change how long it takes."""
    torch.manual_seed(0)
    shown = (channels(scheme.representation, scheme.shape[0]), *scheme.shape[1:])
    network = MODELS[PAPER_NETWORK](shown, 10).eval()
    voter = SmoothedClassifier(network, scheme, 10, tolerance=TOLERANCE)
    wanted = samples.tolist()
    found = interleaved(
        {"plain": lambda: plain_votes(network, noise, x / 255, samples), "votes": lambda: voter.votes(x, wanted)}, 3
    )
    pairs = len(x) * len(samples)
    return {
        "name": PAPER_NETWORK,
        "samples": len(samples),
        "agreement": agreement(
            voter.votes(x, wanted), plain_votes(network, noise, x / 255, samples).numpy(), TOLERANCE
        ),
        "a_second": {name: pairs / times.median for name, times in found.items()},
        "flops": _flops(network, torch.zeros(1, *shown)),
        "speedup": found["plain"].over(found["votes"]),
    }


def forward(network: nn.Module, inputs: Tensor, batch: int) -> None:
    """The outputs of all inputs, batch by batch; PyTorch's threads share every operation."""
    with torch.inference_mode():
        for i in range(0, len(inputs), batch):
            network(inputs[i : i + batch])


def forward_threads(network: nn.Module, inputs: Tensor, batch: int) -> None:
    """The same with one batch per thread, so that no thread waits for another after every operation."""
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            list(pool.map(lambda i: forward(network, inputs[i : i + batch], batch), range(0, len(inputs), batch)))
    finally:
        torch.set_num_threads(threads)


def agreement(ours: np.ndarray[Any, Any], other: np.ndarray[Any, Any], tolerance: float) -> dict[str, Any]:
    """How two ways to vote agree: a vote that ours calls unsure (its two best logits within `tolerance`) may be any."""
    unsure = np.iinfo(ours.dtype).max
    free = (ours == unsure) | (other == unsure)
    different = int((ours != other)[~free].sum())
    if different:
        raise AssertionError(f"{different} of {ours.size} votes differ beyond the tolerance {tolerance}")
    return {"votes": ours.size, "unsure": int(free.sum()), "different": different, "tolerance": tolerance}


def _flops(network: nn.Module, one: Tensor) -> int:
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        network(one)
    return int(counter.get_total_flops())


def section(found: dict[str, Any]) -> str:
    """Of the page."""
    names = {
        "plain": "plain loop",
        "votes": "`SmoothedClassifier.votes`",
        "bare": f"bare forward pass, best: {found['best']['bare']}",
        "tuned": f"bare forward pass, tuned: {found['best']['tuned']}",
    }
    rows = [
        (names[name], f"{rate['a_second']:,.0f}", short(rate["gflops"]), percent(rate["of_peak"]))
        for name, rate in found["rates"].items()
    ]
    rows.append((f"matrix product, side {found['matmul']['side']}", "", short(found["matmul"]["gflops"]), "100%"))
    agreed, own, recorded = found["agreement"], found["own"], found["recorded"]
    return joined(
        f"""The network of `{found["network"]}` under the paper's scheme (periodic, B = {1000 * ALPHA:,}):
        {found["images"]} CIFAR-10 test images at the same {found["samples"]:,} samples. The plain loop is what the
        paper describes: 2 images x 128 samples per batch, float noise, gradients not disabled. The bare forward pass
        is the network as it was trained, in inference mode, on inputs made before; *tuned* is what can be had by hand:
        norms folded into convolutions, channels last, a batch per thread. Both at the best of several batch sizes;
        {short(found["flops"] / 1e6)} million operations per sample.""",
        table(("", "samples per second", "GFLOPS", "of the matrix product"), rows),
        "![Throughput by batch size](img/bench-voting.svg)",
        f"""Same votes: of {agreed["votes"]:,}, {agreed["different"]} differ; {agreed["unsure"]} are UNSURE (two best
        logits within {agreed["tolerance"]:g}), and count against the prediction.""",
        f"""Voting, noise included, is {times(found["speedup"])} times as fast as the plain loop. It reaches
        {percent(found["of_bare"]["median"])} of the throughput of the bare network as trained, and
        {percent(found["of_tuned"]["median"])} of the tuned one. The plain loop already computes at
        {percent(found["rates"]["plain"]["of_peak"])} of the rate of the matrix product: no float32 arithmetic at that
        rate would be more than {short(1 / found["rates"]["plain"]["of_peak"])} times as fast here.""",
        _paper_network(found["paper_network"], found["matmul"]["gflops"]),
        f"""With the model's own aperiodic scheme, B = {own["budget"]:,}, it casts {own["a_second"]:,.0f} votes per
        second, or {duration(own["an_image"])} per image. They agree with the recorded votes: of {recorded["votes"]:,},
        {recorded["different"]} differ, and {recorded["unsure"]} are UNSURE here or there.""",
    )


def _paper_network(found: dict[str, Any] | None, peak: float) -> str:
    if found is None:
        return ""
    rates, agreed = found["a_second"], found["agreement"]
    ours, plain = (percent(rates[name] * found["flops"] / 1e9 / peak) for name in ("votes", "plain"))
    return f"""`{found["name"]}`, the paper's network, with weights that were drawn and not trained, on the same images
        at {found["samples"]} samples: {rates["votes"]:,.0f} votes per second against {rates["plain"]:,.0f} of the plain
        loop, {times(found["speedup"])} times as fast and {ours} of the rate of the matrix product against {plain};
        {agreed["different"]} of {agreed["votes"]:,} votes differ, {agreed["unsure"]} are UNSURE."""


def aims(found: dict[str, Any]) -> list[Aim]:
    """Of the page's first table."""
    speedup, bare, tuned = (found[name]["median"] for name in ("speedup", "of_bare", "of_tuned"))
    return [
        Aim(f"voting at least {PLAIN_AIM:g} times as fast as a plain loop", short(speedup), speedup >= PLAIN_AIM),
        *_paper_aim(found["paper_network"]),
        Aim(f"voting at {percent(FORWARD_AIM)} of the bare network's throughput", percent(bare), bare >= FORWARD_AIM),
        Aim("the same, of the network tuned by hand", percent(tuned), tuned >= FORWARD_AIM),
    ]


def _paper_aim(found: dict[str, Any] | None) -> list[Aim]:
    if found is None:
        return []
    speedup = found["speedup"]["median"]
    return [Aim(f"the same, with the paper's network `{found['name']}`", short(speedup), speedup >= PLAIN_AIM)]


def figure(found: dict[str, Any]) -> Any:
    """Throughput by batch size of the bare network, with voting and the plain loop as levels."""
    from matplotlib.figure import Figure

    from ecm.figure import BLUE, GREEN, ORANGE, PURPLE

    drawn = Figure(figsize=(6, 3.2), layout="constrained")
    axes = drawn.subplots()
    for end, colour, label in (
        ("", GREEN, "bare network"),
        (", channels last", PURPLE, "bare network, channels last"),
        (" a thread", ORANGE, "bare network, tuned"),
    ):
        sizes = [size for size in SIZES if f"batch {size}{end}" in found["forward"]]
        rates = [found["forward"][f"batch {size}{end}"] for size in sizes]
        axes.plot(sizes, rates, color=colour, marker="o", markersize=4, label=label)
    axes.axhline(found["rates"]["votes"]["a_second"], color=BLUE, label="voting")
    axes.axhline(found["rates"]["plain"]["a_second"], color="grey", linestyle="--", label="plain loop")
    axes.set_xscale("log", base=2)
    axes.set_xticks(SIZES, [str(size) for size in SIZES])
    axes.set(xlabel="batch size", ylabel="samples per second", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return drawn
