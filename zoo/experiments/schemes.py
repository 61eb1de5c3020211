"""The scheme of each model: the paper's choices, or ours where a CPU has to do."""

from __future__ import annotations

from functools import cache

from ecm import ECM, default_budget
from smoothing import Scheme
from smoothing.scheme import Coupling
from zoo.experiments.declarations import Family, Scale

_SMALL_GLOBAL = 1000  # weights of a global Lambda at the small scale: it needs a periodic design, 128 would be too few


def budget(family: Family, alpha: int, q: int, scale: Scale) -> int:
    """B: alpha*q for a fixed Lambda and alpha for l0 (both exact), else 1000 alpha as in the paper or our default.

    >>> from zoo.experiments.catalogue import FAMILIES
    >>> [budget(family, 18, 255, scale) for family in FAMILIES.values() for scale in ("paper", "small")]
    [4590, 4590, 18000, 2304, 18, 18]
    """
    if family.p in (0, 1):
        return alpha if family.p == 0 else alpha * q
    if scale == "paper" or family.kind:
        return family.per_alpha * alpha
    return _SMALL_GLOBAL * alpha if family.coupling == "global" else default_budget(ECM.lp(family.p, alpha), q)


def make_scheme(
    family: Family, alpha: int, shape: tuple[int, ...], q: int, scale: Scale, *, coupling: Coupling | None = None
) -> Scheme:
    """Make the scheme of one model. `paper`: a periodic design in the published order. `small`: an aperiodic design.

    `coupling` is that of every family which does not declare its own; None means independent offsets at the scale of
    the paper and spread ones at ours.
    """
    exact = family.p in (0, 1) or family.coupling == "global"
    kind = family.kind or ("periodic" if scale == "paper" or exact else "aperiodic")
    metric = ECM.l0(alpha) if family.p == 0 else ECM.lp(family.p, alpha)
    design = metric.design(budget(family, alpha, q, scale), q, kind=kind)
    chosen = family.coupling or coupling or ("independent" if scale == "paper" else "spread")
    return Scheme(
        design,
        shape,
        order="graded" if chosen == "spread" else "published" if scale == "paper" else "interleaved",
        coupling=chosen,  # type: ignore[arg-type]
        representation=family.representation,  # type: ignore[arg-type]
        seed=family.seed,
        pixel=family.pixel,
    )


@cache
def votes_an_image(family: Family, alpha: int, q: int, scale: Scale) -> int:
    """Return forward passes that certify one image: B, or fewer weighted ones for a global Lambda."""
    if family.coupling == "global":
        return make_scheme(family, alpha, (1,), q, scale).samples
    return budget(family, alpha, q, scale)
