"""exp: convex and increasing everywhere."""

import numpy as np
import sympy

from ecm.formula.functions.function import Function

exp = Function(
    name="exp",
    sympy=sympy.exp,
    ball=lambda u: u.exp(),
    series=lambda u: u.exp(),
    numeric=np.exp,
    shape=lambda lo, hi: (True, False, False, True),
)
