"""Formulas: the text or sympy expression that a user writes, its exact values and derivatives."""

from ecm.formula.atoms import ATOMS
from ecm.formula.atoms.atom import Shape
from ecm.formula.branches import Extremum, Piecewise
from ecm.formula.clock import Clock
from ecm.formula.deadline import within
from ecm.formula.derivatives import jet
from ecm.formula.expansion import curvature_beside, sign_beside
from ecm.formula.expression import (
    MINUS_ONE,
    ONE,
    Add,
    Function,
    Mul,
    Node,
    Num,
    Pow,
    Var,
    as_node,
    ball_power,
    coefficient,
    short,
)
from ecm.formula.folding import add, function, minimum, mul, power
from ecm.formula.number import Exact, exact
from ecm.formula.parser import MAX_BITS, MAX_DIGITS, parse, readable
from ecm.formula.values import PRECISIONS, evaluate, is_zero, point_ball, precision, sign

__all__ = [
    "ATOMS",
    "MAX_BITS",
    "MAX_DIGITS",
    "MINUS_ONE",
    "ONE",
    "PRECISIONS",
    "Add",
    "Clock",
    "Exact",
    "Extremum",
    "Function",
    "Mul",
    "Node",
    "Num",
    "Piecewise",
    "Pow",
    "Shape",
    "Var",
    "add",
    "as_node",
    "ball_power",
    "coefficient",
    "curvature_beside",
    "evaluate",
    "exact",
    "function",
    "is_zero",
    "jet",
    "minimum",
    "mul",
    "parse",
    "point_ball",
    "power",
    "precision",
    "readable",
    "short",
    "sign",
    "sign_beside",
    "within",
]
