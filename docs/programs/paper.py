"""What `docs/paper.md` says, counted from the records: tables, figures, and the numbers of its sentences.

The sentences themselves are in `paper.jinja`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from docs.programs.budget import budget, budget_figures
from docs.programs.gain import by_power, gain_figures, gain_table, growth_table, largest, prototype
from docs.programs.records import MAIN, RECORDS, Found, Run, find, read_run, runs_in, shipped
from docs.programs.text import difference, listed, percent, plain, rendered, table, with_interval
from zoo.certification import METHODS
from zoo.experiments import SIZES
from zoo.experiments.catalogue import EXPERIMENTS
from zoo.experiments.checks import Verdict
from zoo.experiments.declarations import Family, Panel
from zoo.experiments.table import Cell
from zoo.models import build_network
from zoo.training import preset, seconds_of, settings_in
from zoo.training.card import MEAN

NAMES = {"paper": "paper's", "integer": "integer", "vote_aware": "vote-aware"}


def page(records: Path = RECORDS) -> tuple[str, dict[str, str]]:
    """The markdown, and the figures (SVG) by file name."""
    every = find(records)
    experiments = dict(sorted(every.items(), key=lambda item: item[1].done.experiment.data != MAIN))
    groups = by_power(records)
    facts = {
        "campaigns": _campaigns(experiments, records),
        "answers": _answers(experiments),
        "largest": largest(groups),
        "commands": _commands(experiments, records),
        "mixed": _mixed(experiments),
        "models": _models(experiments),
        "gap": _gap(experiments),
        "verdicts": _verdicts(experiments),
        "spread": _spread(find(records / "spread")),
        "experiments": [_experiment(one) for one in experiments.values()],
        "gains": [gain_table(power, runs) for power, runs in groups.items()],
        "growth": growth_table(groups),
        "prototype": prototype(groups),
        "budget": budget(experiments.get("budgets")),
        "not_run": [experiment for name, experiment in EXPERIMENTS.items() if name not in experiments],
    }
    return rendered("paper.jinja", facts), gain_figures(groups) | budget_figures(experiments.get("budgets"))


def parameters(card: dict[str, Any]) -> int:
    """How many the network of a card has."""
    made = card["model"]
    names = made.get("members", [made["name"]])
    return sum(_parameters(name, tuple(made["input_shape"]), made["classes"]) for name in names)


@cache
def _parameters(name: str, shape: tuple[int, ...], classes: int) -> int:
    return sum(parameter.numel() for parameter in build_network(name, shape, classes)[1].parameters())


def _runs(experiments: dict[str, Found], data: str) -> list[Run]:
    """Every run of these experiments once."""
    chosen = [one.done for one in experiments.values() if one.done.experiment.data == data]
    return [read_run(folder) for folder in dict.fromkeys(done.folder / name for done in chosen for name in done.models)]


def _own(runs: list[Run]) -> list[Run]:
    """Those that were trained, not lent their weights."""
    return [run for run in runs if run.card["training"]["epochs"]]


# ---- what was run ----------------------------------------------------------------------------------------------------


def _campaigns(experiments: dict[str, Found], records: Path) -> list[dict[str, Any]]:
    made = []
    for data in dict.fromkeys(one.done.experiment.data for one in experiments.values()):
        runs = _runs(experiments, data)
        own = _own(runs)
        sizes = sorted({parameters(run.card) for run in own})
        starts = {(run.start["name"], run.start["weights"]) for run in own if run.start is not None}
        made.append(
            {
                "data": data,
                "runs": len(runs),
                "images": _numbers(run.certification.images for run in runs),
                "networks": listed(dict.fromkeys(run.card["model"]["name"] for run in own)),
                "parameters": " to ".join(dict.fromkeys(f"{size:,}" for size in (sizes[0], sizes[-1]))),
                "epochs": _numbers(run.card["training"]["epochs"] for run in own),
                "starts": listed(_start(*start, records) for start in sorted(starts)) if starts else "",
                "own": len(own),
                "borrowed": len(runs) - len(own),
                "votes": f"{sum(run.certification.images * run.certification.scheme.samples for run in runs):,}",
                "training": _duration(sum(seconds_of(run.card["training"]) for run in own)),
                "voting": _duration(sum(row.seconds for run in runs for row in run.certification.rows)),
            }
        )
    return made


def _numbers(numbers: Iterable[int]) -> str:
    return listed(str(number) for number in sorted(set(numbers)))


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds > 3600 else f"{seconds / 60:.1f} minutes"


def _start(name: str, weights: str, records: Path) -> str:
    for folder in runs_in(records / "start"):
        run = read_run(folder)
        if run.weights == weights:
            epochs, base = run.card["training"]["epochs"], percent(run.trained.base.share)
            return f"`{name}` (sha256 {weights[:12]}..., {epochs} epochs from scratch, base accuracy {base}%)"
    return f"`{name}` (sha256 {weights[:12]}...)"


def _commands(experiments: dict[str, Found], records: Path) -> list[str]:
    """What makes these runs again; a start that is not the shipped model of its name is trained first."""
    first: dict[str, str] = {}
    lines = []
    for one in experiments.values():
        own = _own([read_run(one.done.folder / name) for name in one.done.models])
        (epochs, _), *_ = Counter(run.card["training"]["epochs"] for run in own).most_common()
        where = "" if one.done.experiment.data == "digits" else " --data DATA"
        begun = _settings(own)
        for start in (run.start for run in own if run.start is not None):
            name = start["name"]
            earlier = next(
                (run for run in map(read_run, runs_in(records / "start")) if run.weights == start["weights"]), None
            )
            if earlier is not None and earlier.weights not in {run.weights for run in shipped()}:
                name = "runs/start"
                long = f"--epochs {earlier.card['training']['epochs']}{_settings([earlier])} --out {name}"
                formula, data = earlier.card["law"][0]["g"], earlier.card["data"]["name"]
                first[name] = f'ecm train "{formula}" --dataset {data} {long}{where}'
            begun = f" --start {name}{_settings(own)}"
        lines.append(
            f"ecm reproduce {one.done.experiment.name} --epochs {epochs} --images {one.done.images}{begun} "
            f"--coupling independent{where}"
        )
    return [*first.values(), *lines]


def _settings(runs: list[Run]) -> str:
    """What these trainings have in common that their preset has not: settings as `--set` takes them."""
    common = []
    for run in runs:
        trained, size = run.card["training"], SIZES[run.card["data"]["name"]]
        usual = attrs.asdict(preset(trained["preset"], size.train, size.shape).usual(run.start is not None))
        kept = settings_in(trained)
        common.append({(name, json.dumps(kept[name])) for name in usual if kept[name] != usual[name]})
    told = sorted(set.intersection(*common)) if common else []
    return "".join(
        f" --set {name}={value.strip(chr(34))}" for name, value in told if name not in ("epochs", "objective")
    )


def _mixed(experiments: dict[str, Found]) -> bool:
    """Whether there are models of one experiment with different numbers of epochs."""
    of = [_own([read_run(one.done.folder / name) for name in one.done.models]) for one in experiments.values()]
    return any(len({run.card["training"]["epochs"] for run in own}) > 1 for own in of)


# ---- models ----------------------------------------------------------------------------------------------------------


def effort(run: Run) -> str:
    """Epochs and minutes of a training, after those of the models that it began with and of all teachers."""
    kept = [read_run(folder) for campaign in ("start", "frontier") for folder in runs_in(RECORDS / campaign)]
    earlier = {one.weights: one for one in [*kept, *shipped()]}
    chain, wanted = [run], [*run.before.values()]
    while wanted:
        for weights in wanted.pop()["weights"].split(MEAN):
            if weights in earlier and earlier[weights] not in chain:
                chain.append(earlier[weights])
                wanted += earlier[weights].before.values()
    epochs = [one.card["training"].get("epochs", 0) for one in reversed(chain)]
    seconds = sum(seconds_of(one.card["training"]) for one in chain)
    made = " + ".join(str(count) for count in epochs if count)
    every = ", all teachers counted" if any("teacher" in one.before for one in chain) else ""
    return f"{made} epochs, {seconds / 60:.0f} minutes on one busy CPU core{every}"


def _models(experiments: dict[str, Found]) -> str:
    rows: dict[str, list[str]] = {}
    for one in experiments.values():
        for name, (family, alpha) in one.done.experiment.models("small").items():
            run = read_run(one.done.folder / name)
            base, clean = one.done.experiment.base(family, alpha), _clean(one, family, alpha)
            if name in rows and (clean is None or rows[name][-1]):
                continue
            training, scheme = run.card["training"], run.certification.scheme
            made = f"{training['objective']}, {training['epochs']} epochs"
            rows[name] = [
                f"[`{name}`](records/{run.card['data']['name']}/{name}/card.json)",
                made if training["epochs"] else f"weights of `{training['start']['name']}`",
                f"{scheme.design.kind}, {scheme.samples}",
                str(run.certification.images),
                with_interval(run.trained.base),
                "" if base is None else f"{base:.2f}",
                with_interval(run.certification.smoothed_accuracy),
                "" if clean is None else f"{clean:.2f}",
            ]
    head = ["model", "training", "design, votes per image", "images", "base", "published", "smoothed", "published"]
    return table(head, rows.values())


def _clean(one: Found, family: Family, alpha: int) -> float | None:
    """The smoothed accuracy that the paper gives for a model, if it is the best one at some radius."""
    for panel in one.done.experiment.panels:
        ours = any((row.label, row.p) == (family.label, family.p) for row in panel.families)
        for cell in (panel.cells(family.label) if ours else None) or ():
            if cell.alpha == alpha:
                return cell.clean
    return None


def _gap(experiments: dict[str, Found]) -> str:
    """How far our base accuracies lie below the published ones, in points."""
    gaps = []
    for one in experiments.values():
        for name, (family, alpha) in one.done.experiment.models("small").items():
            theirs = one.done.experiment.base(family, alpha)
            if theirs is not None:
                gaps.append(theirs - 100 * read_run(one.done.folder / name).trained.base.share)
    return " to ".join(dict.fromkeys(f"{gap:.1f}" for gap in (min(gaps), max(gaps)))) if gaps else ""


# ---- orderings -------------------------------------------------------------------------------------------------------


def _answers(experiments: dict[str, Found]) -> str:
    counts = Counter(verdict.answer for one in experiments.values() for verdict in one.verdicts)
    words = {"holds": "hold", "does not hold": "do not hold", "too few images to tell": "need more images to tell"}
    return listed(f"{counts[answer]} {word}" for answer, word in words.items() if counts[answer]) if counts else ""


def _verdicts(experiments: dict[str, Found]) -> str:
    rows = []
    for name, one in experiments.items():
        for verdict in one.verdicts:
            least, most = (pick(verdict.differences, key=lambda d: d.value) for pick in (min, max))
            holds = sum(d.answer == "holds" for d in verdict.differences)
            ends = [f"{100 * end.value:+.1f} at {plain(end.radius)}" for end in (least, most)]
            answer, count = f"**{verdict.answer}**", f"{holds} of {len(verdict.differences)}"
            near, far = (plain(verdict.differences[k].radius) for k in (0, -1))
            rows.append([name, verdict.claim.name, f"{verdict.panel} {near}–{far}", answer, count, *ends])
    head = [
        "experiment",
        "the paper's ordering",
        "by",
        "here",
        "radii with it alone",
        "least (points)",
        "most (points)",
    ]
    return table(head, rows) if rows else ""


def _spread(experiments: dict[str, Found]) -> dict[str, str]:
    """The orderings once more, from experiments that are complete under the default coupling; {} without any."""
    experiments = {name: one for name, one in experiments.items() if not one.missing}
    runs = _runs(experiments, MAIN)
    if not runs:
        return {}
    return {
        "answers": _answers(experiments),
        "verdicts": _verdicts(experiments),
        "runs": str(len(runs)),
        "images": _numbers(run.certification.images for run in runs),
        "epochs": _numbers(run.card["training"]["epochs"] for run in _own(runs)),
        "starts": listed(dict.fromkeys(f"`{run.start['name']}`" for run in _own(runs) if run.start)),
    }


def _claims(panel: Panel, verdicts: list[Verdict]) -> str:
    rows = []
    for verdict in verdicts:
        if verdict.panel == panel.title and {d.radius for d in verdict.differences} <= set(panel.radii):
            by = {d.radius: difference(d.value, d.interval) for d in verdict.differences}
            rows.append([verdict.claim.name, verdict.answer, *(by.get(radius, "") for radius in panel.radii)])
    return table(["ordering", "here", *map(plain, panel.radii)], rows) if rows else ""


# ---- tables ----------------------------------------------------------------------------------------------------------


def _experiment(one: Found) -> dict[str, Any]:
    experiment, verdicts = one.done.experiment, one.verdicts
    return {
        "name": experiment.name,
        "title": experiment.title,
        "images": one.done.images,
        "note": experiment.note,
        "missing": listed(f"`{name}`" for name in one.missing) if one.missing else "",
        "panels": [
            {"title": panel.title, "table": _panel(one, panel), "claims": _claims(panel, verdicts)}
            for panel in experiment.panels
        ],
    }


def _panel(one: Found, panel: Panel) -> str:
    rows = []
    for row in one.done.rows(panel):
        label, published = row.family.label, panel.cells(row.family.label)
        if published is not None:
            clean = dict.fromkeys(f"{cell.clean:.2f} @ {cell.alpha}" for cell in published)
            rows.append([label, "published", ", ".join(clean), *(f"{cell.certified:.2f}" for cell in published)])
        for method in METHODS:
            cells = row.cells[method]
            first = label if published is None and method == METHODS[0] else ""
            rows.append([first, NAMES[method], _cleans(cells), *(with_interval(cell.certified) for cell in cells)])
    return table(["", "certificate", "clean @ alpha", *map(plain, panel.radii)], rows)


def _cleans(cells: Iterable[Cell]) -> str:
    return ", ".join(dict.fromkeys(f"{percent(cell.clean.share)} @ {cell.alpha}" for cell in cells))


# ---- training --------------------------------------------------------------------------------------------------------
