"""tanh: odd and increasing, concave above 0."""

import numpy as np
import sympy
from flint import arb_series

from ecm.formula.functions.function import Function
from ecm.formula.functions.odd import odd_shape


def _series(u: arb_series) -> arb_series:
    """tanh(u)' = 4 u'/(exp(u) + exp(-u))**2, integrated from tanh(u_0)."""
    grow = u.exp() + (-u).exp()
    return (u.derivative() * 4 / (grow * grow)).integral() + u[0].tanh()


tanh = Function(
    name="tanh",
    sympy=sympy.tanh,
    ball=lambda u: u.tanh(),
    series=_series,
    numeric=np.tanh,
    shape=odd_shape,
)
