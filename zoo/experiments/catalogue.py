"""The experiments that `experiments.toml` declares, by name."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs

from ecm.errors import ECMError
from zoo.experiments.declarations import Claim, Experiment, Family, Panel


def find_experiment(name: str) -> Experiment:
    """
    >>> find_experiment("tabel1")
    Traceback (most recent call last):
        ...
    ecm.errors.ECMError: there is no experiment 'tabel1'; did you mean 'table1'? ...
    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    close = difflib.get_close_matches(name, EXPERIMENTS, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ECMError(
        f"there is no experiment {name!r}; {hint}`ecm reproduce --list` names them: {', '.join(EXPERIMENTS)}"
    )


def read_experiments(text: str) -> tuple[dict[str, Family], dict[str, Experiment]]:
    """Return the families that rows are made from, and the experiments, by name.

    A row is a family (`of`) with changes, where `only` gives the alphas of both scales. A claim that has no name is
    called what it says.

    >>> families, found = read_experiments(
    ...     'family.a = {label = "A", p = 1, only = [6]}\\n'
    ...     'experiment = [{name = "e", title = "", data = "", claims = [{first = "A", second = "B"}]}]'
    ... )
    >>> families["a"].small, found["e"].claims[0].name
    ((6,), 'A above B')
    """
    data = tomllib.loads(text)
    families = {name: Family(**_family(fields)) for name, fields in data["family"].items()}
    experiments = (_experiment(fields, families) for fields in data["experiment"])
    return families, {experiment.name: experiment for experiment in experiments}


def _family(fields: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(fields)
    if "only" in found:
        found["alphas"] = found["small"] = found.pop("only")
    if "p" in found:
        found["p"] = Fraction(found["p"])
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _row(fields: Mapping[str, Any], families: Mapping[str, Family]) -> Family:
    changes = dict(fields)
    return attrs.evolve(families[changes.pop("of")], **_family(changes))


def _claim(fields: Mapping[str, Any]) -> Claim:
    first, second = fields["first"], fields["second"]
    usual = f"{first} and {second} alike" if fields.get("relation") == "alike" else f"{first} above {second}"
    start = {Fraction(p): radius for p, radius in fields.get("start", {}).items()}
    return Claim(**{"name": usual, **fields, "start": start})


def _experiment(fields: Mapping[str, Any], families: Mapping[str, Family]) -> Experiment:
    rest = dict(fields)
    panels = tuple(
        Panel(
            p=Fraction(panel["p"]),
            radii=tuple(map(Fraction, panel["radii"])),
            families=tuple(_row(row, families) for row in panel["rows"]),
            table=panel.get("table"),
        )
        for panel in rest.pop("panel", ())
    )
    return Experiment(**{**rest, "panels": panels, "claims": tuple(map(_claim, rest.get("claims", ())))})


FAMILIES, EXPERIMENTS = read_experiments((Path(__file__).parent / "experiments.toml").read_text(encoding="utf-8"))
