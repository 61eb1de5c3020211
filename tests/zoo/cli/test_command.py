"""The commands that work on models: what they print, what a program reads, and what their exit codes mean."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.zoo.tiny import tiny_data, tiny_model
from zoo import Model, ModelError, load
from zoo.cli.command import app
from zoo.data import DATASETS
from zoo.models import PRETRAINED

ROOT = Path(__file__).parents[3]
COMMANDS = ("train", "certify", "report", "compare", "list", "demo")


def ecm(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(DATASETS, "tiny", lambda root: tiny_data())
    return tiny_model(tmp_path / "runs" / "model")


def test_a_model_goes_through_all_commands(model: Model, tmp_path: Path) -> None:
    """certify, list, report, compare on one model, by its name."""
    done = ecm("certify", "model", "--limit", 8, "-r", 0, "-r", "1/4", "--report")
    assert done.exit_code == 0, done.stderr
    assert "smoothed accuracy" in done.stdout
    assert "vote_aware" in done.stdout
    assert (model.path / "report.html").exists()
    assert "z**(1/2)/2" in ecm("list").stdout
    assert "report.html" in ecm("report", "model").stdout
    tiny_model(tmp_path / "other")
    assert ecm("certify", tmp_path / "other", "-n", 8).exit_code == 0
    done = ecm("compare", "model", tmp_path / "other", "-r", 0, "--plot", tmp_path / "curves.svg")
    assert done.exit_code == 0, done.stderr
    assert "8 images that all runs share" in done.stdout
    assert done.stderr.startswith("Counting the recorded votes of these runs again")
    assert (tmp_path / "curves.svg").read_text().startswith("<svg")
    done = ecm("compare", "model", tmp_path / "other", "--plot", "/proc/no/curves.svg")
    assert (done.exit_code, "8 images that all runs share" in done.stdout) == (1, True)  # the table is not lost


def test_a_formula_can_be_proven_at_the_levels_of_the_data_alone(model: Model) -> None:
    """--grid takes q from the data set, and the model keeps a metric that is known there only."""
    words = ("train", "z**0.5/2", "-d", "tiny", "--model", "mlp", "--grid", "--epochs", 0, "--budget", 16, "--out", "a")
    done = ecm(*words, "--json")
    assert done.exit_code == 0, done.stderr
    assert load("a").scheme.metric.grid == tiny_data().q


def test_a_folder_of_another_budget_says_what_it_holds(model: Model) -> None:
    """What was changed is told by its name, not by two digests, with the option that replaces the run."""
    words = ("train", "z**0.5/2", "-d", "tiny", "--model", "mlp", "--epochs", 0, "--out", "a", "--budget")
    assert ecm(*words, 16).exit_code == 0
    said = " ".join(ecm(*words, 12).stderr.split())
    different = "the metric, the budget or the design differs (there g = z**(1/2)/2, B = 16)."
    assert f"a contains a run with different settings: {different}" in said
    assert "Choose another out, or resume=False (--no-resume) to replace it" in said


def test_json_is_all_that_is_printed(model: Model) -> None:
    """With --json a program can read stdout as it is."""

    def data(*words: object) -> Any:
        done = ecm(*words, "--json")
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    found = data("certify", "model", "-n", 5)
    assert found["images"] == 5
    assert found["radius_unit"] == "l_1/2 radius"
    assert {"base_accuracy", "smoothed_accuracy", "certified_accuracy", "folder"} <= set(found)
    listed = [one for one in data("list")["models"] if one["name"] == "model"]
    assert listed[0]["images"] == 5
    assert Path(data("report", "model")["report"]).exists()
    assert len(data("compare", "model", "runs/model")["runs"]) == 2


@pytest.mark.parametrize(
    ("words", "run"),
    [(("certify", "model"), "certification.run.certify"), (("train", "z**0.5/2"), "training.run.train")],
)
def test_an_interrupted_run_says_how_to_go_on(
    words: tuple[str, ...], run: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C: exit code 130 and the command that continues. Progress is on stderr, so --json does not silence it."""
    progress = []

    def stop(*_: Any, **settings: Any) -> None:
        progress.append(settings.get("progress", True))
        raise KeyboardInterrupt

    monkeypatch.setattr(f"zoo.{run}", stop)
    monkeypatch.setattr(sys, "argv", ["ecm", *words, "--out", "my run"])
    done = ecm(*words, "--json")
    assert done.exit_code == 130
    assert f"To resume: {shlex.join(['ecm', *words, '--out', 'my run'])}" in done.stderr
    assert progress == [True]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_example(command: str) -> None:
    """Every command says what it does and shows a line that can be typed."""
    done = ecm(command, "--help")
    assert done.exit_code == 0
    assert f"ecm {command}" in done.stdout
    assert "Example" in done.stdout


@pytest.mark.parametrize("command", [None, "verify", *COMMANDS])
def test_help_fits_80_columns_in_common_words(command: str | None) -> None:
    """Types are those that people know, and a paragraph is wrapped by the terminal, not by the source."""
    words = ["--help"] if command is None else [command, "--help"]
    lines = CliRunner().invoke(app, words, env={"COLUMNS": "80", "TERM": "dumb"}).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(kind in line for line in lines for kind in ("<bool>", "<list", "<str>", "<int>"))
    if command == "verify":
        assert " counterexample found. With --model instead of a formula, an attack with a" in map(str.rstrip, lines)


def test_a_list_gives_whole_names(model: Model) -> None:
    """A name is what is written next, so it is never cut; where names are short the table fits 80 columns."""
    name = "a-name-that-is-longer-than-a-narrow-terminal-has-columns-beside-the-other-columns-of-a-list"
    model.path.rename(model.path.with_name(name))
    rows = ecm("list").stdout.splitlines()
    assert rows[0].split() == ["name", "data", "g(z)", "votes", "smoothed", "certified"]
    assert sum(row.startswith(name + " ") for row in rows) == 1
    rows = ecm("list", PRETRAINED).stdout.splitlines()
    assert all(len(row) <= 80 for row in rows)
    assert "…" not in "".join(rows)  # the formulas of the packaged models are whole, their alpha included
    assert any("62.4% @ 2" in row for row in rows)


def test_a_list_needs_no_torch() -> None:
    """Cards are read, nothing is loaded: the table is there at once."""
    program = "import sys; from zoo.cli import app; app(['list'], standalone_mode=False); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert "digits-l0.5-a4" in done.stdout


def test_sentences_break_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """On stderr of 40 columns; a command to paste stays on one line, and a log keeps the sentence whole."""
    from zoo.cli.options import fitting

    text = "The demo trains a small network, certifies 359 images and writes a report.\nTo resume: ecm " + "x" * 60
    assert fitting(text) == text
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    *sentence, command = fitting(text).splitlines()
    assert " ".join(sentence) == text.splitlines()[0]
    assert max(map(len, sentence)) <= 40
    assert command == text.splitlines()[1]


def test_an_empty_list_says_how_to_begin(tmp_path: Path) -> None:
    """Where there is no model, the command that makes one is named."""
    assert "ecm train" in ecm("list", tmp_path).stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["certify", "no-such-model"], 2, "neither the folder of a model nor a known name"),
        (["certify", "model", "--limit", "0"], 2, "--limit"),
        (["certify", "model", "--certificate", "best"], 2, "--certificate"),
        (["certify", "model", "-r", "-1"], 2, "radii"),
        (["certify", "model", "-d", "cifar01"], 2, "did you mean 'cifar10'"),
        (["certify", "model", "-d", "digits"], 2, "shape"),
        (["certify", "model", "--device", "cuda:7"], 1, "cuda:7"),
        (["report", "model"], 2, "ecm certify"),
        (["compare", "model"], 2, "at least two"),
        (["list", "nowhere"], 2, "not a folder"),
        (["train", "z**2"], 2, "not concave"),
        (["train", "z**0.5/3", "-d", "mnits"], 2, "did you mean 'mnist'"),
        (["train", "z**0.5/3", "--model", "resnet81"], 2, "did you mean 'resnet18'"),
        (["train", "z**0.5/3", "--set", "shift=no"], 2, "shift = 'no': write true or false"),
        (["compare", "model", "model", "--plot", "curves.pdf"], 2, "must end in .png or .svg"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_exit_codes_and_what_is_said(model: Model, words: list[str], code: int, said: str) -> None:
    """2: what was given is wrong; 1: it failed. The reason stands on stderr, in one sentence, without a traceback."""
    done = ecm(*words)
    assert done.exit_code == code, done.stderr
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("error", [RuntimeError("can't allocate memory: you tried 9 bytes"), MemoryError()])
def test_a_batch_too_large_for_the_memory_says_what_to_write(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1 and the options; any other error of that kind is not hidden."""
    import zoo.certification.run

    raised = [error, RuntimeError("another")]

    def fail(*_: Any, **__: Any) -> None:
        raise raised.pop(0)

    monkeypatch.setattr(zoo.certification.run, "certify", fail)
    done = ecm("certify", "digits-l0.5-a4")
    assert done.exit_code == 1
    assert "write a smaller --batch-size (certify)" in done.stderr
    assert isinstance(ecm("certify", "digits-l0.5-a4").exception, RuntimeError)


@pytest.mark.slow
def test_a_real_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    """SIGINT during voting: no traceback, code 130, the finished images are there and the next run goes on."""
    model = tiny_model(tmp_path / "model", data=tiny_data(4000))
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # absent in a background job
        "import torch; torch.set_num_threads(1)\n"
        "from zoo.data import DATASETS; from tests.zoo.tiny import tiny_data\n"
        "DATASETS['tiny'] = lambda root: tiny_data(4000)\n"
        "import time; from smoothing import SmoothedClassifier as Classifier\n"
        "votes = Classifier.votes\n"
        "Classifier.votes = lambda *a, **k: (time.sleep(0.02), votes(*a, **k))[1]\n"  # there is time to interrupt
        "from zoo.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "certify", str(model.path), "--batch-size", "12"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    rows = model.path / "votes" / "rank-00000.rows"
    while process.poll() is None and not (rows.exists() and rows.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "To resume: ecm certify" in said
    assert "Traceback" not in said
    kept = rows.stat().st_size
    from smoothing import Record
    from zoo import certify

    assert 0 < len(Record.open(model.path / "votes").read()) < 4000
    certify(model, tiny_data(4000), limit=1, progress=False)
    assert rows.stat().st_size >= kept


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "z**2"), "not concave"),
        (("train", "z**0.5/3", "-d", "cifar11"), "did you mean 'cifar10'"),
        (("train", "z**0.5/3", "--model", "resnet19"), "did you mean 'resnet18'"),
        (("train", "z**0.5/3", "--set", "lrr=1"), "did you mean 'lr'"),
        (("train", "z**0.5/3", "--preset", "slow"), "preset 'slow'"),
        (("train", "z**0.5/3", "--start", "cifar10-l0.5-a19"), "did you mean 'cifar10-l0.5-a18'"),
        (
            ("train", "z**0.5/3", "--start", "cifar10-l0.5-a18", "--model", "mlp"),
            "its network is 'medium_cnn', not 'mlp'",
        ),
        (("train", "z**2", "--grid"), "not concave"),
        (("train", "z/2", "z/3", "-d", "cifar10"), "write one formula for all features, or 3 formulas"),
        (("reproduce", "digits", "--start", "nowhere"), "neither the folder of a model nor a known name"),
        (("certify", "nowhere"), "neither the folder of a model nor a known name"),
        (("certify", "digits-l0.5-a4", "--certificate", "best"), "certificate = 'best' is unknown"),
    ],
)
def test_what_is_wrong_is_said_before_torch_is_loaded(words: tuple[str, ...], said: str) -> None:
    """Formula, data set, network, setting, preset, models and certificate: none of them needs it."""
    program = (
        "import sys; from zoo.cli import app\n"
        "try:\n    app(sys.argv[1:])\n"
        "except SystemExit as end:\n    assert end.code == 2, end.code\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_classifier_of_scikit_learn_is_not_refused_before_torch_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table may have any of them, which only `train` knows; images may not."""
    from zoo.cli.cost import check_names

    monkeypatch.delitem(sys.modules, "torch")
    check_names("Breast-Cancer", "GaussianNB")
    with pytest.raises(ModelError, match="model 'GaussianNB' is unknown"):
        check_names("digits", "GaussianNB")


def test_a_command_says_first_what_it_costs_and_last_what_comes_next(model: Model) -> None:
    """Forward passes, the time that this model took before, and the next command, to be typed as it stands."""
    certified = ecm("certify", "model", "-n", 5)
    assert "Certifying model: 5 test images, 12 votes each, 60 forward passes" in certified.stderr
    assert "Next: ecm report runs/model" in certified.stdout
    assert "s per image that this model took before" in ecm("certify", "model", "-n", 5).stderr
    trained = ecm("train", "z**0.5/2", "--epochs", 0, "--budget", 8, "--out", "a b")
    assert "Training for g = z**0.5/2 on digits: about a second on one CPU core (0 epochs" in trained.stderr
    assert "Next: ecm certify 'a b'" in trained.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("demo",), "It takes about a minute on two CPU cores"),
        (("verify", "z**0.5/18"), "Checking every layer of the guarantee for g = z**(1/2)/18 at q = 255: usually"),
        (("verify", "--model", "digits-l0.5-a4", "-n", "3"), "3 test images, at most 61,440 forward passes"),
        (("attack", "digits-l0.5-a4", "-n", "3"), "3 test images, at most 30,720 forward passes"),
        (("reproduce", "digits", "--minutes", "3"), "Reproducing digits at the small scale: about 3 minutes"),
        (("export", "digits-l0.5-a4", "-i", "6"), "from its recorded votes: a few seconds"),
        (("report", "digits-l0.5-a4"), "from its recorded votes: about ten seconds"),
        (("compare", "digits-l0.5-a4", "digits-l0.5-a4"), "Counting the recorded votes of these runs again"),
    ],
)
def test_a_slow_command_says_what_it_does_before_torch_is_loaded(words: tuple[str, ...], said: str) -> None:
    """The sentence comes first: here the import of torch ends the process, and the sentence was printed."""
    program = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'torch':\n            raise SystemExit(77)\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "from zoo.cli import app\n"
        "app(sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 77, done.stderr
    assert said in " ".join(done.stderr.split())


def test_known_names_are_those_of_the_registries() -> None:
    """They are listed twice, so that they can be known without torch."""
    from zoo import MODELS
    from zoo.names import DATASET_NAMES, MODEL_NAMES, OBJECTIVE_NAMES
    from zoo.training import OBJECTIVES

    assert set(DATASET_NAMES) == set(DATASETS) - {"tiny"}
    assert (MODEL_NAMES, set(OBJECTIVE_NAMES)) == (tuple(MODELS), set(OBJECTIVES))


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "wine", "iris"])
def test_known_sizes_are_those_of_the_data(name: str) -> None:
    """The first axis and q are listed too, so that formulas can be checked without torch."""
    from zoo import load_data
    from zoo.names import known_size

    data = load_data(name)
    assert known_size(name) == (data.shape[0], data.q)
