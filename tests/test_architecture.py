"""The house rules that a reader relies on: which floor may import which, and what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = {"ecm": {"smoothing", "zoo", "torch", "torchvision"}, "smoothing": {"zoo", "torchvision"}, "zoo": set()}


def imported(source: str) -> set[str]:
    """Top-level names of every import in the source, lazy ones included."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_only_go_down(floor: str) -> None:
    """ecm <- smoothing <- zoo, lazy imports included; ecm never touches torch."""
    files = sorted((ROOT / floor).rglob("*.py"))
    assert files
    wrong = {str(f.relative_to(ROOT)): bad for f in files if (bad := imported(f.read_text()) & FLOORS[floor])}
    assert not wrong


def test_the_import_check_sees_a_lazy_import() -> None:
    """The check above can fail: an import inside a function counts."""
    assert imported("def f():\n    from torch.nn import Module\n    import zoo.cli") == {"torch", "zoo"}


@pytest.mark.parametrize("module", ["ecm", "zoo", "zoo.cli"])
def test_a_light_import_stays_light(module: str) -> None:
    """`import ecm` and the command line bring neither torch nor matplotlib nor hypothesis nor a solver."""
    heavy = ["torch", "matplotlib", "hypothesis", "mip", "sklearn"]
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_no_address_in_the_lock() -> None:
    """The lock names packages and exact versions, nothing else."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(line.count("==") == 1 and not any(c in line for c in ":/@ ") for line in pins)
