"""What the noise adds to a forward pass, and how it compares with the paper's formula in floats."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks._measure import child, interleaved, peak_mb
from benchmarks._plain import PlainNoise
from benchmarks._shipped import made_images
from benchmarks._text import Aim, duration, joined, percent, short, table, times
from ecm import ECM
from smoothing import Noise, Scheme, channels
from zoo import MODELS

ALPHA, BATCH = 18, 128
IMAGE = (3, 32, 32)
AIMS = {"small_cnn": 0.15, "wide_resnet40_2": 0.05}


def measure(quick: bool) -> dict[str, Any]:
    """Noise of a batch of samples of one image, the plain noise and the forward passes, in turn."""
    rounds, batch = (1, 8) if quick else (15, BATCH)
    metric = ECM.lp("1/2", ALPHA)
    periodic = metric.design(1000 * ALPHA, kind="periodic")
    schemes = {"periodic, published order": Scheme(periodic, IMAGE, coupling="independent", order="published")}
    if not quick:
        schemes |= {
            "periodic": Scheme(periodic, IMAGE),
            "periodic, global Lambda": Scheme(periodic, IMAGE, coupling="global"),
            "aperiodic": Scheme(metric.design(128 * ALPHA), IMAGE),
            "l1, alpha = 1: every feature shown": Scheme.l1(1, IMAGE),
        }
    x = made_images(1, IMAGE)
    samples = torch.arange(batch)
    widths = periodic.weights
    assert widths is not None
    plain = PlainNoise(widths[0], periodic.q, periodic.budget, IMAGE)
    names = ("small_cnn",) if quick else ("small_cnn", "wide_resnet40_2")
    networks = {name: MODELS[name]((channels("upper_lower", 3), *IMAGE[1:]), 10).eval() for name in names}
    for network in networks.values():
        network.to(memory_format=torch.channels_last)
    noises = {name: Noise(scheme) for name, scheme in schemes.items()}
    shown = next(iter(noises.values())).inputs(x, samples, channels_last=True).flatten(0, 1)
    actions: dict[str, Any] = {
        name: lambda n=noise: n.inputs(x, samples, channels_last=True) for name, noise in noises.items()
    }
    actions["plain"] = lambda: plain(x / 255, samples)
    with torch.inference_mode():
        actions |= {name: lambda n=network: n(shown) for name, network in networks.items()}
        found = interleaved(actions, rounds)
    rows = [
        {
            "scheme": name,
            "budget": scheme.total,
            "seconds": found[name].median / batch,
            "plain": found["plain"].over(found[name]),
            "forward": {network: found[name].over(found[network]) for network in networks},
        }
        for name, scheme in schemes.items()
    ]
    limit, side = (2**22, 32) if quick else (2**28, 224)
    (taken, chunk), _ = child("benchmarks.noise", "memory", side, limit)
    return {
        "batch": batch,
        "rows": rows,
        "plain_seconds": found["plain"].median / batch,
        "forward_seconds": {network: found[network].median / batch for network in networks},
        "memory": {"side": side, "limit_mb": limit / 2**20, "taken_mb": taken, "chunk": chunk},
    }


def memory(side: int, limit: int) -> tuple[float, int]:
    """What a call of the largest chunk takes above what was there (MB), and how many samples that chunk has."""
    shape = (3, side, side)
    noise = Noise(Scheme(ECM.lp("1/2", ALPHA).design(1000 * ALPHA, kind="periodic"), shape), memory=limit)
    x = torch.zeros((1, *shape), dtype=torch.uint8)
    noise.inputs(x, [0], channels_last=True)
    before = peak_mb()
    noise.inputs(x, range(noise.chunk), channels_last=True)
    return peak_mb() - before, noise.chunk


def section(found: dict[str, Any]) -> str:
    """Of the page."""
    networks = list(found["forward_seconds"])
    rows = [
        (
            f"{row['scheme']}, B = {row['budget']:,}",
            duration(row["seconds"]),
            times(row["plain"]),
            *(percent(row["forward"][network]["median"]) for network in networks),
        )
        for row in found["rows"]
    ]
    forward = ", ".join(f"`{n}` {duration(s)}" for n, s in found["forward_seconds"].items())
    kept = found["memory"]
    return joined(
        f"""Time per sample of the noise of a 3x32x32 image, in batches of {found["batch"]} samples. Our noise uses
        integer table lookups. It is compared with the paper's formula evaluated in floats
        ({duration(found["plain_seconds"])} per sample) and with the forward pass that follows
        ({forward} per sample).""",
        table(
            (
                "scheme (q = 255)",
                "noise",
                "plain floats take, times",
                *(f"share of a pass of `{n}`" for n in networks),
            ),
            rows,
        ),
        f"""Memory: with a limit of {short(kept["limit_mb"])} MB, one call on a
        3x{kept["side"]}x{kept["side"]} image makes {kept["chunk"]} samples and takes {short(kept["taken_mb"])} MB.""",
    )


def aims(found: dict[str, Any]) -> list[Aim]:
    """Of the page's first table: the slowest scheme decides."""
    worst = {
        n: max((row["forward"][n]["median"], row["scheme"]) for row in found["rows"]) for n in found["forward_seconds"]
    }
    return [
        Aim(
            f"noise at most {percent(AIMS[network])} of a forward pass of `{network}`",
            f"{percent(share)} ({scheme})",
            share <= AIMS[network],
        )
        for network, (share, scheme) in worst.items()
    ]
