"""The functions a formula may use; how each proves its shape stands with the function."""

from types import MappingProxyType

from ecm.formula.atoms.atom import Atom, Shape
from ecm.formula.atoms.exponential import exp, expm1
from ecm.formula.atoms.logarithm import log, log1p
from ecm.formula.atoms.sigmoid import asinh, atan, tanh
from ecm.formula.atoms.sine import sin
from ecm.formula.atoms.step import absolute, sign

ATOMS = MappingProxyType({atom.name: atom for atom in (exp, expm1, log, log1p, sin, tanh, atan, asinh, sign, absolute)})

__all__ = ["ATOMS", "Atom", "Shape"]
