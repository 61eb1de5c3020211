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
    derivatives=lambda x: (1 / (1 + x**2), -2 * x / (1 + x**2) ** 2),
    shape=odd_shape,
)
