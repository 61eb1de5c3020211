"""The documentation holds: its code runs, what it shows is what is printed, and the site builds without a warning."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GENERATED = {"cli.md"}
GROUPS = {("ecm", "checks")}  # of entry points: a name, but nothing to import
PAGES = [page for page in [*ROOT.glob("README.md"), *sorted(DOCS.rglob("*.md"))] if page.name not in GENERATED]
CODE = re.compile(r"^```(python|bash)$", re.MULTILINE)
FENCE = re.compile(
    r"^(?:<!-- (?P<marker>[^\n]*?) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block: its language, the comment right before it, where it starts and what it says."""

    language: str
    marker: str
    line: int
    code: str


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start("code")) + 1
        yield Block(found["language"], found["marker"] or "", line, found["code"])


def shell(command: str) -> str:
    """Run one line of a shell block: `ecm ...` in this process, `python ...` in another."""
    program, *arguments = shlex.split(command, comments=True)
    if program == "ecm":
        from zoo.cli import app

        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, f"{command}\n{result.output}"
        return result.output
    assert program == "python", f"{command}: shell blocks hold ecm and python commands; mark others as no-run"
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def run_page(text: str, name: str) -> int:
    """Run the blocks of a page in order, in one namespace; returns how many ran."""
    namespace: dict[str, Any] = {"__name__": "__docs__"}
    ran, printed = 0, ""
    for block in blocks(text):
        if block.marker.startswith("no-run: "):
            continue
        if block.language == "python":
            # compile() with the page's name and line numbers, so that a traceback points into the page
            code = compile("\n" * (block.line - 1) + block.code, name, "exec")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(code, namespace)
            printed, ran = out.getvalue(), ran + 1
        elif block.language == "bash":
            printed = "".join(shell(line) for line in block.code.splitlines() if line.strip())
            ran += 1
        elif block.marker == "output":
            right = doctest.OutputChecker().check_output(block.code, printed, SAME)
            assert right, f"{name}:{block.line} shows\n{block.code}\nbut this was printed:\n{printed}"
    return ran


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in PAGES if CODE.search(p.read_text())]
)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every python and shell block runs, in order, and prints what the page shows."""
    import torch

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        run_page(page.read_text(), str(page.relative_to(ROOT)))
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize(
    "page",
    [
        "```python\n1 / 0\n```\n",
        "```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n",
        "```python\nprint(1)\n```\n\n<!-- output -->\n```text\n2\n```\n",
        '```bash\necm derive "z**2"\n```\n',
        "```bash\ncurl example.com\n```\n",
    ],
)
def test_a_page_that_lies_is_caught(page: str) -> None:
    """The runner above can fail: a raising block, a lost name, another output, a failing or a foreign command."""
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run_page(page, "page.md")


@pytest.mark.parametrize("page", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in PAGES])
def test_no_code_hides_in_another_kind_of_fence(page: Path) -> None:
    """Every fence that looks like Python or a shell is one that the runner sees."""
    text = page.read_text()
    seen = sum(block.language in ("python", "bash") for block in blocks(text))
    assert seen == len(re.findall(r"^[ >]*[`~]{3,} *\W?(?:py|bash|sh\b|shell)", text, re.MULTILINE))


def test_few_blocks_are_left_out() -> None:
    """A block that does not run says why, and there are at most six of them."""
    skipped = [b.marker for p in PAGES for b in blocks(p.read_text()) if b.marker.startswith("no-run")]
    assert len(skipped) <= 6
    assert all(len(marker) > len("no-run: ") for marker in skipped)


def _module(name: str) -> Any:
    """A program that makes pages."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "programs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("file", _module("derived").FILES)
def test_generated_files_are_in_step(file: str) -> None:
    """The notebook is the tutorial, the reference is the help texts, the benchmarks are those stored: else run
    `python -m docs.programs`."""
    assert (DOCS / file).read_text() == _module("derived").FILES[file]()


def test_the_numbers_that_prose_repeats_are_those_measured() -> None:
    """What README and the page of designs say about budgets and allocations is in the stored benchmarks."""
    parts = json.loads((ROOT / "benchmarks" / "results.json").read_text())["parts"]
    readme, designs = (" ".join(page.read_text().split()) for page in (ROOT / "README.md", DOCS / "designs.md"))
    (half,) = [
        row for row in parts["allocation"]["found"]["solved"] if (row["g"], row["method"]) == ("z**(1/2)", "exact")
    ]
    assert half["seconds"] < 0.1
    assert f"the proven optimum, eps = {half['eps']:.4f}".replace("0.", ".") in readme
    budgets = {row["g"]: row for row in parts["designs"]["found"]["budgets"] if row["eps"] == 0.02}
    root, cube = budgets["z**0.5"], budgets["z**(1/3)"]
    assert f"| 1000 alpha | {root['aperiodic']} alpha" in readme
    assert f"{root['aperiodic']} alpha (p = 1/2) and {cube['aperiodic']} alpha (p = 1/3)" in designs
    assert f"needs {root['periodic']} and {cube['periodic']} alpha" in designs
    found = [row["fast"] * row["budget"] for row in parts["designs"]["found"]["accuracy"]]
    assert f"ends {min(found):.1f} to {max(found):.1f} outcomes below" in designs
    better = [(row["fast"] - row["thorough"]) * row["budget"] for row in parts["designs"]["found"]["accuracy"]]
    assert f"{min(better):.2f} to {max(better):.2f} outcomes closer" in designs
    cases = parts["designs"]["found"]["optimality"]
    total = sum(row["cases"] for row in cases)
    assert all(row["cases"] == row["search"] == row["bound"] for row in cases)
    assert f"are {total} cases" in designs


def test_what_the_readme_says_of_the_vote_aware_certificate_is_counted() -> None:
    """Its gains are those that the page of results and the table above it give."""
    readme, results = (" ".join(page.read_text().split()) for page in (ROOT / "README.md", DOCS / "paper.md"))
    gains = re.search(
        r"gains at most (\S+) points with (B = \S+ alpha) \(.*?\) and (\S+) points with (\S+ = \S+)", results
    )
    assert gains is not None
    few, usual, many, published = gains.groups()
    assert f"gains at most {few} points with {usual} and {many} with {published} alpha" in readme
    ours, theirs = (
        [float(share) for share in re.findall(r"([\d.]+)%", readme.partition(f"| {name} | ")[2].partition("| |")[0])]
        for name in ("vote-aware", "the paper's certificate")
    )
    assert f"on digits it gains up to {max(a - b for a, b in zip(ours[:6], theirs[:6], strict=True)):.1f}." in readme


def anchors(page: Path) -> set[str]:
    """What can be linked to in a page: its headings, as GitHub and the site name them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_outside_of_the_site_lead_somewhere(page: str) -> None:
    """mkdocs looks at links between its own pages only."""
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", (ROOT / page).read_text()):
        path, _, anchor = target.partition("#")
        assert (ROOT / path).exists(), target
        assert not anchor or anchor in anchors(ROOT / path), target


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in [*PAGES, ROOT / "CONTRIBUTING.md"]]
)
def test_what_a_page_names_exists(page: Path) -> None:
    """Files of the project, and what a package is said to have."""
    words = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S))
    files = [word for word in words if re.fullmatch(r"(?:ecm|smoothing|zoo|tests|docs|benchmarks)/[\w/.-]+", word)]
    assert [file for file in files if not (ROOT / file).exists()] == []
    for package, path in (found.groups() for word in words if (found := re.match(r"(ecm|smoothing|zoo)\.(\w+)", word))):
        module = importlib.import_module(package)
        known = hasattr(module, path) or importlib.util.find_spec(f"{package}.{path}") or (package, path) in GROUPS
        assert known, f"{package}.{path}"


def commands() -> Iterator[Any]:
    """Everything that a page tells a reader to type for `ecm`, run here or not."""
    for page in PAGES:
        for block in blocks(page.read_text()):
            for line in block.code.splitlines() if block.language in ("bash", "console") else ():
                found = re.match(r"(?:torchrun \S+ \S+ -m zoo|ecm) (.*)", line)
                if found is not None:
                    yield pytest.param(found[1], id=f"{page.relative_to(ROOT)}: {found[1]}")


@pytest.mark.parametrize("command", list(commands()))
def test_commands_that_are_shown_are_understood(command: str) -> None:
    """Those that are not run, too: there is such a command, and it has these options."""
    import typer

    from zoo.cli import app

    name, *arguments = shlex.split(command, comments=True)
    group: Any = typer.main.get_command(app)
    group.commands[name].make_context(name, arguments).close()


@pytest.mark.parametrize("helper", ["readable", "formulas"])
def test_the_helpers_of_the_site_do_what_their_examples_show(helper: str) -> None:
    """They are no part of a package, so the suite's own doctests do not reach them."""
    pytest.importorskip("griffe")
    found = doctest.testmod(_module(helper))
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize("package", ["ecm", "smoothing", "zoo"])
def test_every_public_name_is_in_the_reference(package: str) -> None:
    """The API page of a package lists exactly the names that it exports."""
    listed = re.findall(rf"^::: {package}\.(\w+)$", (DOCS / "api" / f"{package}.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(importlib.import_module(package).__all__)


def _explained() -> list[Any]:
    """The functions of `zoo`, and what people call on its models and data."""
    import zoo

    called = [getattr(zoo, name) for name in zoo.__all__ if inspect.isfunction(getattr(zoo, name))]
    public = [method for name, method in inspect.getmembers(zoo.Model) if name in vars(zoo.Model) and name[0] != "_"]
    made = [zoo.Dataset.from_arrays, zoo.Table.from_frame, zoo.TableSpec.fit]
    return [*called, *(method for method in public if inspect.isroutine(method)), *made]


def test_the_reference_lists_every_parameter() -> None:
    """Each with a sentence of the docstring, so that nobody has to guess what `tolerance` is."""
    pytest.importorskip("griffe")
    listed = _module("readable").parameter_list
    missing = {}
    for function in _explained():
        names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
        text = listed(inspect.getdoc(function) or "", names)
        if left := [name for name in names if f"\n    {name}: " not in text]:
            missing[function.__qualname__] = left
    assert not missing


def test_the_site_builds_strictly_and_asks_nobody(tmp_path: Path) -> None:
    """`mkdocs build --strict` has no warning, and no page loads anything from another host."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(site.rglob("*.html"))
    assert len(pages) >= len(list(DOCS.rglob("*.md")))
    outside = re.compile(r"""<(?:script|img|iframe|link)[^>]*(?:src|href)=["']?(?:https?:)?//[^"'> ]+""")
    found = {str(page.relative_to(site)): outside.findall(page.read_text()) for page in pages}
    assert not {page: urls for page, urls in found.items() if urls}
