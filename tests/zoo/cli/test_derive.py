"""`ecm derive` and `ecm allocate`: tables for people, JSON for programs, errors without tracebacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ecm import ECM
from zoo.cli.command import app

ROOT = Path(__file__).parents[3]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})


def data(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    loaded: dict[str, Any] = json.loads(result.stdout)
    return loaded


def test_derive_prints_proof_laws_and_allocation() -> None:
    """One command shows why the formula is a metric and everything that follows."""
    result = run("derive", "z**0.5/18", "--q", "255", "--budget", "18000")
    assert result.exit_code == 0
    for part in (
        "g(z) = z**(1/2)/18",
        "Proof",
        "concave",
        "Beta(1/2, 1)",
        "17/18",
        "129-254",
        "B = 18000",
        "proved optimal",
    ):
        assert part in result.stdout


def test_json_is_what_the_library_derives() -> None:
    """stdout is JSON alone, and its numbers are the library's."""
    found = data("derive", "z**0.5/18", "--budget", "18000")
    (component,) = found["components"]
    metric = ECM.from_expr("z**0.5/18")
    allocation = metric.allocate(18000)
    assert component["g"] == "z**(1/2)/18"
    assert {step["condition"] for step in component["proof"]} == {c.condition for c in metric.profile.proof.conditions}
    assert [(a["location"], a["mass"]) for a in component["law"]["atoms"]] == [("1", "1/36"), ("inf", "17/18")]
    assert component["quantized"]["infinite"] == pytest.approx(17 / 18)
    assert component["allocation"]["weights"] == {str(j): w for j, w in allocation.weights.items()}
    assert component["allocation"]["eps"] == allocation.eps


def test_without_a_budget_nothing_is_allocated() -> None:
    """The allocation is asked for, never guessed."""
    assert data("derive", "z/2", "--q", "4")["components"][0]["allocation"] is None


def test_a_design_is_built_when_asked() -> None:
    """--design adds the default design and its gaps, and wants a budget."""
    built = ECM.from_expr("sqrt(z)").design(64, 16)
    found = data("derive", "sqrt(z)", "--q", "16", "--budget", "64", "--design")["design"]
    assert found == {"kind": built.kind, "eps_max": built.eps_max, "eps_mean": built.eps_mean}
    assert "Design (aperiodic)" in run("derive", "sqrt(z)", "--q", "16", "--budget", "64", "--design").stdout
    assert run("derive", "sqrt(z)", "--design").exit_code == 2


def test_several_formulas_are_channels() -> None:
    """One formula per channel; equal ones share a component, a zero is allowed."""
    found = data("derive", "sqrt(z)/18", "0", "sqrt(z)/18", "--q", "16", "--budget", "400")
    assert [(c["g"], c["groups"]) for c in found["components"]] == [("z**(1/2)/18", [0, 2]), ("0", [1])]
    assert found["components"][1]["allocation"]["infinite"] == 400
    shown = run("derive", "sqrt(z)/18", "0", "sqrt(z)/18", "--q", "16").stdout
    assert "index 0, 2 of the first axis" in shown


def test_grid_only_has_no_continuous_law() -> None:
    """--grid proves g at k/q alone: the laws on levels follow, the continuous one does not."""
    (component,) = data("derive", "sqrt(z)", "--q", "16", "--grid")["components"]
    assert component["law"] is None
    assert component["quantized"]["q"] == 16
    assert "for values in" not in run("derive", "sqrt(z)", "--q", "16", "--grid").stdout


def test_plot_writes_a_picture(tmp_path: Path) -> None:
    """--plot draws into the file, and --json beside it stays pure."""
    file = tmp_path / "metric.png"
    data("derive", "sqrt(z)/2", "--q", "16", "--budget", "100", "--plot", str(file))
    assert file.read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written_does_not_cost_the_tables() -> None:
    """The derivation is printed first."""
    done = run("derive", "sqrt(z)/2", "--q", "16", "--plot", "/proc/no/picture.png")
    assert done.exit_code == 1
    assert "Lambda for the levels 0..16" in done.stdout
    assert "/proc/no/picture.png: No such file or directory" in done.stderr


@pytest.mark.parametrize("method", ["exact", "floor", "slopes"])
def test_allocate_gives_a_sound_allocation(method: str) -> None:
    """The weights fit the budget and say how they were found."""
    (found,) = data("allocate", "sqrt(z)", "--budget", "200", "--q", "16", "--method", method)["components"]
    used = sum(int(j) * w for j, w in found["weights"].items())
    assert used + found["infinite"] == 200
    assert (found["method"], found["q"], found["budget"]) == (method, 16, 200)


def test_allocate_within_epsilon() -> None:
    """--epsilon is met, or the command fails with the smallest eps there is."""
    (found,) = data("allocate", "sqrt(z)", "--budget", "1000", "--epsilon", "0.02")["components"]
    assert found["eps"] <= 0.02
    result = run("allocate", "sqrt(z)", "--budget", "1000", "--epsilon", "0.01")
    assert result.exit_code == 1
    assert "out of reach" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["derive", "z**2"], "concave"),
        (["derive", "2*sqrt(z)"], "capped"),
        (["derive", "z +"], "position"),
        (["derive", "__import__('os')"], "position"),
        (["derive", "sqrt(z)", "--q", "0"], "--q"),
        (["derive", "sqrt(z)", "--plot", "picture.xyz"], ".svg"),
        (["derive"], "FORMULA"),
        (["allocate", "sqrt(z)"], "--budget"),
        (["allocate", "sqrt(z)", "--budget", "100", "--method", "luck"], "luck"),
        (["allocate", "sqrt(z)", "--budget", "100", "--epsilon", "small"], "small"),
        (["derives"], "derives"),
    ],
)
def test_bad_input_ends_with_2_and_no_traceback(arguments: list[str], says: str) -> None:
    """What was given wrong is named on stderr; stdout stays empty."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_another_value_error_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the package's own errors are shown without a traceback; a defect stays visible."""

    def defect(*_: object, **__: object) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr(ECM, "from_expr", defect)
    result = run("derive", "z")
    assert isinstance(result.exception, ValueError)
    assert str(result.exception) == "a defect"


@pytest.mark.parametrize("arguments", [["--help"], ["derive", "--help"], ["allocate", "-h"]])
def test_help_teaches_by_example(arguments: list[str]) -> None:
    """Every help page shows a command that can be pasted."""
    result = run(*arguments)
    assert result.exit_code == 0
    assert 'ecm derive "' in result.stdout or 'ecm allocate "' in result.stdout


def test_the_examples_in_the_help_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example of a help page is a command that succeeds."""
    import shlex

    from zoo.cli import allocate, derive

    monkeypatch.chdir(tmp_path)
    pages = (derive.derive.__doc__, allocate.allocate.__doc__)
    lines = [line.strip() for page in pages for line in str(page).splitlines() if line.strip().startswith("ecm ")]
    assert len(lines) >= 6
    for line in lines:
        result = run(*shlex.split(line)[1:])
        assert result.exit_code == 0, (line, result.output)


def test_version() -> None:
    """`ecm --version` prints the installed version."""
    assert run("--version").stdout.strip() == version("ecm")


def test_derive_runs_without_the_heavy_packages() -> None:
    """A real process derives with torch, matplotlib, hypothesis and the solvers out of reach."""
    heavy = ("torch", "torchvision", "matplotlib", "hypothesis", "mip", "sklearn", "scipy")
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({heavy}))\n"
        "from zoo.cli import main\n"
        "sys.argv = ['ecm', 'derive', 'z**0.5/18', '--q', '255', '--budget', '18000', '--json']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert json.loads(done.stdout)["budget"] == 18000


def test_a_budget_that_shows_nothing_is_said_to() -> None:
    """B g(1/q) < 1: not one divider fits, and the least budget with one is named."""
    for command in ("derive", "allocate"):
        shown = " ".join(run(command, "z**0.5/18", "--budget", "10").output.split())
        assert "Warning: B = 10 is too small: all outcomes are infinite" in shown
        assert "from B = 288 on" in shown
    assert "Warning" not in run("derive", "z**0.5/18", "--budget", "288").output
    assert "Warning" not in run("derive", "0", "--budget", "10").output
