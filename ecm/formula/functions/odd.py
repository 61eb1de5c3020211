"""The shape that tanh, atan and asinh share: odd and increasing, convex below 0 and concave above."""

from flint import arb

from ecm.formula.functions.function import Shape


def odd_shape(lo: arb, hi: arb) -> Shape:
    """Return what is known of such a function between lo and hi."""
    return True, False, bool(lo >= 0), bool(hi <= 0)
