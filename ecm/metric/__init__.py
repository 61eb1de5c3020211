"""Metrics, one component at a time: the function g, proven, with its exact values."""

from ecm.metric.profile import FormulaProfile, Profile, TableProfile

__all__ = ["FormulaProfile", "Profile", "TableProfile"]
