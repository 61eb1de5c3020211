"""asinh: odd and increasing, concave above 0."""

import numpy as np
import sympy

from ecm.formula.functions.function import Function
from ecm.formula.functions.odd import odd_shape

asinh = Function(
    name="asinh",
    sympy=sympy.asinh,
    ball=lambda u: u.asinh(),
    series=lambda u: (u.derivative() * (1 + u * u).rsqrt()).integral() + u[0].asinh(),
    numeric=np.arcsinh,
    shape=odd_shape,
)
