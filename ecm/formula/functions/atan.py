"""atan: odd and increasing, concave above 0."""

import numpy as np
import sympy

from ecm.formula.functions.function import Function
from ecm.formula.functions.odd import odd_shape

atan = Function(
    name="atan",
    sympy=sympy.atan,
    ball=lambda u: u.atan(),
    series=lambda u: u.atan(),
    numeric=np.arctan,
    shape=odd_shape,
)
