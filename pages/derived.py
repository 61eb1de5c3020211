"""Writes what is derived from other files: the tutorial's notebook, the command line reference, the benchmarks.

    python -m pages

`tests/test_docs.py` fails while they are out of step with their sources; `make docs` runs this first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
FENCE = re.compile(r"^```(python|bash)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def notebook(markdown: str) -> str:
    """The page as a Jupyter notebook: text in markdown cells, python and shell blocks in code cells."""
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str) -> None:
        if not source.strip():
            return
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{len(cells):02d}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell | {"source": source.strip().splitlines(keepends=True)})

    end = 0
    for block in FENCE.finditer(markdown):
        add("markdown", markdown[end : block.start()])
        language, code = block.groups()
        add("code", code if language == "python" else re.sub(r"^(?=\w)", "!", code, flags=re.MULTILINE))
        end = block.end()
    add("markdown", markdown[end:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def command_line() -> str:
    """The reference of every command, from the texts that `--help` shows."""
    import typer

    from zoo.cli import app

    group: Any = typer.main.get_command(app)
    parts = [
        "# Command line",
        _plain(group.help),
        "Exit codes: 0 done; 1 the work failed, or a property does not hold; 2 what was given is wrong (a formula, a "
        "name, a folder, an option); 130 interrupted (the same command goes on).",
    ]
    for name, command in group.commands.items():
        parts += [f"## ecm {name}", _plain(command.help)]
        rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
        parts.append("\n".join(["| option | default | meaning |", "|---|---|---|", *rows]))
    parts += ["---", "This page was generated from the help texts: `ecm COMMAND --help` shows the same."]
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Help text as markdown: examples, which are indented lines, in one block."""
    prose, _, examples = text.partition("Example")
    commands = [line.strip() for line in examples.partition(":")[2].splitlines() if line.strip()]
    block = "\n\n```text\n" + "\n".join(commands) + "\n```" if commands else ""
    return _escaped(prose.strip()) + block


def _escaped(text: str) -> str:
    """Text in which z**p stays z**p."""
    return re.sub(r"([*<|])", r"\\\1", text)


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = (parameter.metavar or parameter.name).strip("[].").upper()
    else:
        name = ", ".join([*parameter.opts, *parameter.secondary_opts])
    shown = parameter.show_default if isinstance(parameter.show_default, str) else ""
    if parameter.required:
        shown = "(required)"
    elif not shown and parameter.show_default and isinstance(parameter.default, str | int | float | Path):
        default = parameter.default
        shown = str(default) if not isinstance(default, bool) else ""
        if isinstance(default, bool) and parameter.secondary_opts:
            shown = (parameter.opts if default else parameter.secondary_opts)[0]
    meaning = " ".join((parameter.help or "").split())
    return f"| `{name}` | {_escaped(shown)} | {_escaped(meaning)} |"


def benchmarks() -> dict[str, Callable[[], str]]:
    """The page and figures of what `make bench` has stored; `benchmarks/` is beside the packages, not installed."""
    from benchmarks._page import FILES as pages

    return pages


FILES = {
    "tutorial.ipynb": lambda: notebook((DOCS / "tutorial.md").read_text()),
    "cli.md": command_line,
    **benchmarks(),
}


def write() -> None:
    """Write every derived file."""
    for file, content in FILES.items():
        (DOCS / file).write_text(content())
