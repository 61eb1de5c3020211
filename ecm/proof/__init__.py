"""Is g(0) = 0, is g increasing, concave and at most 1: proven, refuted with exact points, or left open.

`prove` works on the whole interval, `prove_on_grid` and `prove_table` at the points k/q, `prove_combination` after an
operation that keeps the conditions. `pieces_of` cuts a formula where it switches.
"""

from ecm.proof.deadline import Deadline
from ecm.proof.grid import prove_combination, prove_on_grid, prove_table
from ecm.proof.interval import prove
from ecm.proof.pieces import Piece, pieces_of
from ecm.proof.verdict import Proof

__all__ = ["Deadline", "Piece", "Proof", "pieces_of", "prove", "prove_combination", "prove_on_grid", "prove_table"]
