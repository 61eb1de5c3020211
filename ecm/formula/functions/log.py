"""log: concave and increasing above 0, where it is defined."""

import numpy as np
import sympy

from ecm.formula.functions.function import Function

log = Function(
    name="log",
    sympy=sympy.log,
    ball=lambda u: u.log(),
    series=lambda u: u.log(),
    numeric=np.log,
    shape=lambda lo, hi: (True, False, True, False),
    above=0,
)
