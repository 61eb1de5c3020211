"""Every public name says what it promises and shows it: a docstring, and an example that the doctests run."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

PACKAGES = ("ecm", "smoothing", "zoo")


def public_modules() -> Iterator[str]:
    """The packages and their modules without an underscore; the door of a room is for the other rooms."""
    for package in PACKAGES:
        yield package
        for found in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            if not found.ispkg and not found.name.rpartition(".")[2].startswith("_"):
                yield found.name


def public_names(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What the module exports: `__all__`, or else what it defines under a name without an underscore."""
    if hasattr(module, "__all__"):
        names = list(module.__all__)
    else:
        names = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    yield from ((name, getattr(module, name)) for name in names if not name.startswith("_"))


def things() -> dict[str, Any]:
    """Public classes and functions by their full name; constants are described where they are listed."""
    modules = map(importlib.import_module, public_modules())
    return {
        f"{module.__name__}.{name}": thing
        for module in modules
        for name, thing in public_names(module)
        if inspect.isclass(thing) or inspect.isroutine(thing)
    }


def members(thing: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties that a class of ours defines itself."""
    for name, member in vars(thing).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        function = getattr(function, "func", function)  # a cached property
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


THINGS = things()


def test_the_walk_finds_the_house() -> None:
    """Names of all three floors and of their public modules are among those that are looked at."""
    assert {
        "ecm.ECM",
        "ecm.verification.strategies.profiles",
        "smoothing.certify",
        "smoothing.document.checker.check",
        "zoo.train",
    } <= set(THINGS)
    assert len(THINGS) > 90


@pytest.mark.parametrize("name", THINGS)
def test_a_public_name_has_a_docstring_and_an_example(name: str) -> None:
    """The promise in words, and `>>>` lines that show it."""
    text = inspect.getdoc(THINGS[name]) or ""
    assert len(text.split()) >= 3, f"{name} has no docstring"
    assert ">>> " in text, f"{name} has no example"


@pytest.mark.parametrize("name", [name for name, thing in THINGS.items() if inspect.isclass(thing)])
def test_its_methods_have_docstrings(name: str) -> None:
    """Every public method and property says what it gives."""
    missing = [member for member, function in members(THINGS[name]) if not (function.__doc__ or "").strip()]
    assert not missing, f"{name}: without a docstring: {', '.join(missing)}"


@pytest.mark.parametrize("name", list(public_modules()))
def test_a_public_module_says_what_it_is_for(name: str) -> None:
    """One sentence at least, where `help` begins."""
    assert len((importlib.import_module(name).__doc__ or "").split()) >= 5
