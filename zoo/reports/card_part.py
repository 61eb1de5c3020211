"""The part of the report about how a run was made: what its card says, and the fingerprints that fix it."""

from __future__ import annotations

import re
from typing import Any

from zoo.certification import Certification


def facts(found: Certification, about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is known of the run, in four groups of (name, value) rows."""
    card = about["card"]
    scheme = found.scheme
    return [
        {
            "name": "Noise",
            "rows": [
                ("design", f"{scheme.design.kind}, B = {scheme.total}, q = {scheme.q}"),
                ("coupling", f"{scheme.coupling}, {scheme.order} order, seed {scheme.seed}"),
                ("representation", scheme.representation),
            ],
        },
        {
            "name": "Network and training",
            "rows": [("network", card["model"]["name"]), *_readable(card.get("training", {}))],
        },
        {
            "name": "Data",
            "rows": [
                ("trained on", card["data"]["name"]),
                ("certified", f"{found.images} of {found.split_size} test {found.things} of {found.data}"),
                *_readable(card["data"].get("source", {})),
            ],
        },
        {
            "name": "Votes and versions",
            "rows": [
                ("rule", "run-off" if found.rule == "runoff" else "plurality"),
                ("tolerance of a vote", f"{about['tolerance']:g} (difference of the two best logits)"),
                ("unsure votes", sum(row.unsure for row in found.rows)),
                *_readable(card.get("versions", {})),
            ],
        },
    ]


def fingerprints(found: Certification, about: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the sha256 that fix the run: another one means another scheme, other weights or other data."""
    data = about["card"]["data"]
    return [
        ("scheme", found.scheme.fingerprint),
        ("weights", about["weights"]),
        ("data", data["digest"]),
        (f"test {found.things}", about["data"]["test_digest"]),
        *(
            (name, text)
            for part in (data.get("source", {}), about["card"].get("training", {}))
            for name, text in _flat(part)
            if _is_digest(text)
        ),
    ]


def _readable(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Return all but the digests, which stand together."""
    return [(name, text) for name, text in _flat(values) if not _is_digest(text)]


def _is_digest(text: object) -> bool:
    return re.fullmatch(r"[0-9a-f]{32,}", str(text)) is not None


def _flat(values: dict[str, Any], of: str = "") -> list[tuple[str, str]]:
    """Return names and values as one reads them; what lies in a part of a card is named after that part.

    >>> _flat({"bf16": True, "start": {"name": "a", "weights": None}})
    [('bf16', 'yes'), ('start name', 'a'), ('start weights', 'none')]
    """
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        name = of + key.replace("_", " ")
        if isinstance(value, dict):
            rows += _flat(value, f"{name} ")
        else:
            said = {None: "none", True: "yes", False: "no"}
            rows.append((name, said[value] if value is None or isinstance(value, bool) else str(value)))
    return rows
