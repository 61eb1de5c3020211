"""What was tried: one JSON line for each mutant, the last one counts; and the mutants that are explained."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

EXPLAINED = Path(__file__).with_name("explained.json")


class Results:
    """The lines of the file, and the explanations: for each kind of mutant that no test can see, its name and why."""

    def __init__(self, file: Path, explained: Path = EXPLAINED) -> None:
        self.file = file
        self.rows: dict[str, dict[str, dict[str, Any]]] = {}
        for line in file.read_text().splitlines() if file.exists() else ():
            row = json.loads(line)
            self.rows.setdefault(row["path"], {})[row["key"]] = row
        self.kinds: list[dict[str, Any]] = json.loads(explained.read_text()) if explained.exists() else []
        self._why = {
            (path, key): kind["why"] for kind in self.kinds for path, keys in kind["mutants"].items() for key in keys
        }

    def of(self, path: str) -> dict[str, dict[str, Any]]:
        """The rows of one module, by the mutants' keys."""
        return self.rows.get(path, {})

    def add(self, row: dict[str, Any]) -> None:
        """Append a row."""
        self.rows.setdefault(row["path"], {})[row["key"]] = row
        with self.file.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def why(self, path: str, key: str) -> str:
        """Why the mutant cannot be seen, if that is explained."""
        return self._why.get((path, key), "")

    def count(self, path: str, keys: list[str]) -> Counter[str]:
        """How many of the mutants with these keys exist, were tried, were seen, are explained and are left."""
        rows = [(key, row) for key in keys if (row := self.of(path).get(key)) is not None]
        seen = sum(row["seen"] for _, row in rows)
        explained = sum(not row["seen"] and bool(self.why(path, key)) for key, row in rows)
        left = len(rows) - seen - explained
        return Counter(mutants=len(keys), tried=len(rows), seen=seen, explained=explained, left=left)


def table(counts: dict[str, Counter[str]]) -> str:
    """A table in Markdown with a row for each module and one for all.

    >>> print(table({"a.py": Counter(mutants=9, tried=9, seen=8, explained=1, left=0)}))
    | module | mutants | tried | seen | explained | left |
    |---|---|---|---|---|---|
    | `a.py` | 9 | 9 | 8 | 1 | 0 |
    | all | 9 | 9 | 8 | 1 | 0 |
    """
    columns = ("mutants", "tried", "seen", "explained", "left")
    total = {name: sum(count[name] for count in counts.values()) for name in columns}
    rows = [*((f"`{path}`", count) for path, count in counts.items()), ("all", total)]
    lines = [f"| {name} | {' | '.join(str(count[column]) for column in columns)} |" for name, count in rows]
    return "\n".join([f"| module | {' | '.join(columns)} |", "|---" * 6 + "|", *lines])
