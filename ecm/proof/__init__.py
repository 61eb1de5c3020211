"""Proofs: why a formula is zero at 0, increasing, concave and at most 1, or an exact witness that it is not."""

from ecm.proof.conditions import Proof, prove, prove_combination, prove_on_grid, prove_table
from ecm.proof.smooth_pieces import Piece, as_ball, pieces_of

__all__ = ["Piece", "Proof", "as_ball", "pieces_of", "prove", "prove_combination", "prove_on_grid", "prove_table"]
