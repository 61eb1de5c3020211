"""The modules that are mutated, room by room, the most critical first."""

from __future__ import annotations

from pathlib import Path

ROOMS: dict[str, tuple[str, ...]] = {
    "certificates": (
        *("smoothing/certificates/tally.py", "smoothing/certificates/integer.py", "smoothing/certificates/paper.py"),
        *("smoothing/certificates/dual.py", "smoothing/certificates/touch.py", "smoothing/certificates/vote_aware.py"),
        *("smoothing/certificates/certifier.py", "smoothing/certificates/certificate.py"),
        *("smoothing/certificates/roots.py", "smoothing/certificates/electorate.py"),
        *("smoothing/certificates/runoff.py", "smoothing/certificates/ranking.py"),
        *("smoothing/certificates/stored_multipliers.py", "smoothing/certificates/soft.py"),
        *("smoothing/certificates/rule.py", "smoothing/certificates/randomized.py"),
    ),
    "checker": ("smoothing/document/checker.py", "smoothing/document/document.py"),
    "scheme": (
        *("smoothing/scheme/scheme.py", "smoothing/scheme/noise.py", "smoothing/scheme/facts.py"),
        *("smoothing/scheme/lattice.py", "smoothing/scheme/quantization.py", "smoothing/scheme/representation.py"),
    ),
    "proof": (
        *("ecm/proof/rules.py", "ecm/proof/concavity.py", "ecm/proof/interval.py", "ecm/proof/grid.py"),
        *("ecm/proof/pieces.py", "ecm/proof/expansion.py", "ecm/proof/continuity.py", "ecm/proof/domain.py"),
        *("ecm/proof/taylor.py", "ecm/proof/witness.py", "ecm/proof/verdict.py", "ecm/proof/deadline.py"),
    ),
    "caps": (
        *("ecm/allocation/caps.py", "ecm/allocation/allocation.py", "ecm/allocation/outcomes.py"),
        "ecm/metric/floors.py",
    ),
    "design": ("ecm/design/design.py", "ecm/design/archive.py", "ecm/design/cache.py"),
}

TESTS = {
    "ecm": (
        *("tests/ecm/proof", "tests/ecm/metric", "tests/ecm/allocation", "tests/ecm/design"),
        *("tests/ecm/formula/test_values.py", "ecm/proof", "ecm/metric", "ecm/allocation", "ecm/design"),
    ),
    "smoothing": (
        *("tests/smoothing/certificates", "tests/smoothing/document", "tests/smoothing/scheme"),
        *("tests/smoothing/verification", "tests/smoothing/test_edges.py"),
        *("smoothing/certificates", "smoothing/document", "smoothing/scheme"),
    ),
}
"""What is run for the modules of a floor: tests and doctests."""


def floor(path: str) -> str:
    """The floor of a module.

    >>> floor("ecm/proof/rules.py")
    'ecm'
    """
    return Path(path).parts[0]
