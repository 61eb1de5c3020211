"""Elementwise-concave metrics declared as formulas, and everything that follows from them exactly."""
