"""A formula in z: text or sympy in, one sympy expression out, with exact values, enclosures, floats and text.

The text is read by a whitelist walk (`read`) and printed canonically (`text_of`). `ball_of` and `series_of` evaluate in
ball arithmetic, `exact` gives exact constants and `sign` decides theirs, `floats` and `jet` work on numpy arrays.
The functions that a formula may use stand in `functions`, one file each, with their rules.
"""

from ecm.formula.balls import Value, as_ball, ball_at, ball_of, constant_ball, power, precision, series_of, short
from ecm.formula.building import add, exact, extremum, moved, multiply, point_ball, rebuild, resolved, sign_at
from ecm.formula.building import power as raised
from ecm.formula.constants import PRECISIONS, brief, is_zero, sign
from ecm.formula.expression import (
    SWITCHES,
    Z,
    conditions,
    derivative,
    difference,
    fraction,
    free,
    holds,
    in_order,
    rational,
    size,
    smooth,
)
from ecm.formula.functions import BY_CLASS
from ecm.formula.functions.function import Shape
from ecm.formula.grammar import MAX_DIGITS
from ecm.formula.numeric import floats, jet
from ecm.formula.printing import clip, text_of
from ecm.formula.reading import MAX_NUMBER, Formula, read, readable
from ecm.formula.requirement import Requirement
from ecm.formula.requirement import of_expression as requirements_of

__all__ = [
    "BY_CLASS",
    "MAX_DIGITS",
    "MAX_NUMBER",
    "PRECISIONS",
    "SWITCHES",
    "Formula",
    "Requirement",
    "Shape",
    "Value",
    "Z",
    "add",
    "as_ball",
    "ball_at",
    "ball_of",
    "brief",
    "clip",
    "conditions",
    "constant_ball",
    "derivative",
    "difference",
    "exact",
    "extremum",
    "floats",
    "fraction",
    "free",
    "holds",
    "in_order",
    "is_zero",
    "jet",
    "moved",
    "multiply",
    "point_ball",
    "power",
    "precision",
    "raised",
    "rational",
    "read",
    "readable",
    "rebuild",
    "requirements_of",
    "resolved",
    "series_of",
    "short",
    "sign",
    "sign_at",
    "size",
    "smooth",
    "text_of",
]
