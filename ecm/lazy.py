"""Packages that import their modules when a name is first used, so that a light use stays light."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package: each module, with the names that it defines, separated by spaces.

    >>> lazy("fractions", {"numbers": "Rational"})("Integral")
    Traceback (most recent call last):
    AttributeError: module 'fractions' has no attribute 'Integral'
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def getattribute(name: str) -> Any:
        if name in places:
            return getattr(import_module(f"{package}.{places[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return getattribute
