"""Schemes: which outcome each feature uses at each sample, and the noise that follows from it."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from smoothing.scheme.facts import cost_scale, facts_of
    from smoothing.scheme.lattice import Grid, stride_order
    from smoothing.scheme.noise import Noise
    from smoothing.scheme.quantization import Images, digest, levels, quantize
    from smoothing.scheme.representation import channels
    from smoothing.scheme.scheme import Coupling, Scheme

__all__ = [
    "Coupling",
    "Grid",
    "Images",
    "Noise",
    "Scheme",
    "channels",
    "cost_scale",
    "digest",
    "facts_of",
    "levels",
    "quantize",
    "stride_order",
]

__getattr__ = lazy(
    __name__,
    {
        "facts": "cost_scale facts_of",
        "lattice": "Grid stride_order",
        "noise": "Noise",
        "quantization": "Images digest levels quantize",
        "representation": "channels",
        "scheme": "Coupling Scheme",
    },
)
