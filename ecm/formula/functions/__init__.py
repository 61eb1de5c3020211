"""The functions a formula may use; how each proves its shape stands with the function."""

from types import MappingProxyType

from ecm.formula.functions.absolute import absolute
from ecm.formula.functions.asinh import asinh
from ecm.formula.functions.atan import atan
from ecm.formula.functions.exp import exp
from ecm.formula.functions.function import Function, Shape
from ecm.formula.functions.log import log
from ecm.formula.functions.sign import sign
from ecm.formula.functions.sin import cos, sin
from ecm.formula.functions.tanh import tanh

_ALL = (exp, log, sin, cos, tanh, atan, asinh, sign, absolute)

FUNCTIONS = MappingProxyType({function.name: function for function in _ALL})
"""The functions by their names in a formula; cos occurs only inside, as sin(x + pi/2)."""

BY_CLASS = MappingProxyType({function.sympy: function for function in _ALL})
"""The functions by their classes in sympy."""

__all__ = ["BY_CLASS", "FUNCTIONS", "Function", "Shape"]
