"""The files in the folder of a run: their names, what each holds, and how descriptions and tables are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ecm.jsontext import read_json
from zoo.errors import ModelError

WEIGHTS = "model.safetensors"  # weights and normalisation of the base classifier, or an archive of an estimator
OLD_WEIGHTS = "weights.safetensors"  # the same in folders of earlier versions, which are still read
SCHEME = "scheme.json"  # the scheme with its whole design
CARD = "card.json"  # what the model is and how it was measured
CONFIG, README = "config.json", "README.md"  # the configuration and the model card that the Hub shows
CHECKPOINT = "checkpoint.safetensors"  # the state of an unfinished training
METRICS = "metrics.jsonl"  # one line per epoch
VOTES = "votes"  # a folder: the record of the votes
IMAGES = "images.npz"  # a few of the voted images, in folders that come with the package
TABLE = "certify.tsv"  # one row per certified image
ATTACK_TABLE = "attack.tsv"  # one row per attacked image
ATTACK_ABOUT = "attack.json"  # what the columns of that table mean, and the settings of the attack
ABOUT = "certify.json"  # what the columns of the table mean, and the accuracies
BOARD = "tensorboard"  # a folder: what TensorBoard reads, if it is installed
PAGE = "report.html"  # the page about the run
FIGURES = "figures"  # a folder: the pictures of the page
PLAN = "plan.json"  # what an experiment was planned to cost here
FACTS, CHECKER = "facts.json", "checker.py"  # beside exported certificates


def read_description(path: Path, form: str, *, missing: str, again: str) -> dict[str, Any]:
    """Return the JSON file that describes a run; raises ModelError with `missing`, or with what to do `again`."""
    try:
        about: dict[str, Any] = read_json(path.read_bytes())
    except FileNotFoundError:
        raise ModelError(f"{path.parent} {missing}") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error}): {again}") from error
    if not isinstance(about, dict) or about.get("format") != form:
        raise ModelError(f"{path} is not of the format {form}: {again}")
    return about


def complete_lines(path: Path, *, again: str) -> list[str]:
    """Return the lines of a table without a half-written last one; none if there is no file."""
    try:
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read ({error}): {again}") from error
    return text[: text.rfind("\n") + 1].splitlines()
