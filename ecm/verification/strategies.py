"""Hypothesis strategies for metrics, grids and budgets; public, so that users can test their own code on them.

This is the only module of the package that imports hypothesis.
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from ecm.design import Design, construct
from ecm.elementwise import ECM
from ecm.metric import Profile

MOST_LEVELS = 6
MOST_BUDGET = 14


def levels(most: int = MOST_LEVELS) -> st.SearchStrategy[int]:
    """A small q >= 1.

    >>> from hypothesis import find
    >>> find(levels(), lambda q: q > 3)
    4
    """
    return st.integers(1, most)


def budgets(most: int = MOST_BUDGET) -> st.SearchStrategy[int]:
    """A small budget B >= 1.

    >>> from hypothesis import find
    >>> find(budgets(), lambda budget: budget % 5 == 0)
    5
    """
    return st.integers(1, most)


@st.composite
def concave_tables(draw: st.DrawFn, q: int | None = None) -> tuple[Fraction, ...]:
    """g(0), ..., g(q) as fractions: g(0) = 0, slopes that never rise and never fall below 0, g(q) <= 1.

    Flat pieces, kinks, steps at 0 (l0) and g = 0 all occur. `q` is drawn from 1..6 unless given.

    >>> from hypothesis import given
    >>> @given(concave_tables(q=3))
    ... def slopes_fall(g):
    ...     assert g[0] == 0 <= g[3] - g[2] <= g[2] - g[1] <= g[1]
    >>> slopes_fall()
    """
    size = draw(levels()) if q is None else q
    slopes = sorted(draw(st.lists(st.integers(0, 12), min_size=size, max_size=size)), reverse=True)
    scale = draw(st.integers(max(sum(slopes), 1), 3 * max(sum(slopes), 1)))
    values = [Fraction(0)]
    for slope in slopes:
        values.append(values[-1] + Fraction(slope, scale))
    return tuple(values)


def profiles(q: int | None = None) -> st.SearchStrategy[Profile]:
    """Profiles of `concave_tables`, proven on their grid; `profile.grid` is q.

    >>> from hypothesis import given
    >>> @given(profiles(q=4))
    ... def subadditive(g):
    ...     assert g(0.75) <= g(0.25) + g(0.5) + 1e-12
    >>> subadditive()
    """
    return concave_tables(q).map(Profile.from_values)


@st.composite
def designs(draw: st.DrawFn, q: int | None = None, budget: int | None = None) -> Design:
    """Sound designs of one component: constructed ones, with some of their dividers taken out again.

    Taking a divider out never separates a pair that was together, so what is left stays sound.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=3)
    ... @given(designs(q=3))
    ... def sound(design):
    ...     assert (design.outcomes[0].most <= design.metric.floors(design.budget, 3)[0]).all()
    >>> sound()
    """
    profile = draw(profiles(q))
    size = profile.grid or 1
    total = draw(budgets()) if budget is None else budget
    found = construct(profile.floors(total, size), total * profile.values(size))
    kept = draw(st.lists(st.booleans(), min_size=len(found.gaps), max_size=len(found.gaps)))
    marked = iter(kept)
    rows = [[gap for gap in row.tolist() if next(marked)] for row in found.rows()]
    return Design.from_rows(ECM((profile,)), rows, size, total)


_LEAVES = ("z", "z", "1", "2", "1/2", "1/3", "0.1", "5", "pi", "1e-9", "(1-z)", "sqrt(z)")
_FUNCTIONS = ("exp", "expm1", "log", "log1p", "sin", "tanh", "atan", "asinh", "sign", "Abs", "sqrt", "cbrt")
_SHAPES = (
    *("({} + {})", "({} - {})", "({})*({})", "({})/({})", "Min({}, {})", "Max({}, {})"),
    *("({})**2", "({})**3", "({})**-1", "({})**0.5", "({})**(1/3)", "({})**-0.5"),
    *(f"{name}({{}})" for name in _FUNCTIONS),
    "Piecewise(({}, {} < 1/3), ({}, True))",
)


def formulas(most: int = 8) -> st.SearchStrategy[str]:
    """Texts of the grammar of formulas, of up to `most` leaves; few of them are metrics, and some have no real value.

    >>> from hypothesis import find
    >>> find(formulas(), lambda text: "tanh" in text)
    'tanh(z)'
    """

    return st.recursive(st.sampled_from(_LEAVES), _shaped, max_leaves=most)


@st.composite
def _shaped(draw: st.DrawFn, parts: st.SearchStrategy[str]) -> str:
    shape = draw(st.sampled_from(_SHAPES))
    return shape.format(*(draw(parts) for _ in range(shape.count("{}"))))
