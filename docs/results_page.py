"""What `docs/results.md` says, counted from the records: tables, figures, and the numbers of its sentences.

The sentences themselves are in `results.jinja`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import results_figures as figures
from results_records import RECORDS, Found, Run, find, read_run, recipe, runs_in, shipped

from ecm._budget import PER_ALPHA
from zoo._accuracy import Accuracy
from zoo._certification import METHODS
from zoo._experiments import EXPERIMENTS
from zoo._experiments._checks import Verdict, paired_interval
from zoo._experiments._declarations import Family, Panel
from zoo._experiments._table import Cell, certified_images
from zoo._models import build_network

MAIN = "cifar10"  # the campaign that the sections on certificates and budgets are about
TOLERATED = 2.0  # points of certified accuracy that a smaller budget may lose at any radius
PROTOTYPE = (5.0, 8.0)  # points that a prototype of the vote-aware certificate gained at mid radii
PROTOTYPE_POWER = (Fraction(1, 2), Fraction(9))  # with this p and alpha, and B = 1000 alpha
NAMES = {"paper": "paper's", "integer": "integer", "vote_aware": "vote-aware"}


def page(records: Path = RECORDS) -> tuple[str, dict[str, str]]:
    """The markdown, and the figures (SVG) by file name."""
    every = find(records)
    experiments = dict(sorted(every.items(), key=lambda item: item[1].done.experiment.data != MAIN))
    groups = _gaining(records)
    facts = {
        "campaigns": _campaigns(experiments, records),
        "base18": _base18(records),
        "answers": _answers(experiments),
        "largest": _largest(groups),
        "commands": _commands(experiments, records),
        "mixed": _mixed(experiments),
        "models": _models(experiments),
        "gap": _gap(experiments),
        "verdicts": _verdicts(experiments),
        "experiments": [_experiment(one) for one in experiments.values()],
        "gains": [_gain_table(power, runs) for power, runs in groups.items()],
        "prototype": _prototype(groups),
        "budget": _budget(experiments.get("budgets")),
        "recipe": _recipe(recipe(records)),
        "not_run": [experiment for name, experiment in EXPERIMENTS.items() if name not in experiments],
    }
    template = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)
    text = template.from_string((Path(__file__).parent / "results.jinja").read_text()).render(facts)
    return text.rstrip() + "\n", _figures(groups, experiments.get("budgets"))


# ---- small things ----------------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table."""
    first, *rest = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return "\n".join([first, "|---" * len(head) + "|", *rest])


def percent(share: float) -> str:
    """A share in percent, to a tenth."""
    return f"{100 * share:.1f}"


def parameters(card: dict[str, Any]) -> int:
    """How many the network of a card has."""
    made = card["model"]
    return _parameters(made["name"], tuple(made["input_shape"]), made["classes"])


@cache
def _parameters(name: str, shape: tuple[int, ...], classes: int) -> int:
    return sum(parameter.numel() for parameter in build_network(name, shape, classes)[1].parameters())


def _with_interval(accuracy: Accuracy) -> str:
    low, high = accuracy.interval()
    return f"{percent(accuracy.share)} <small>{100 * low:.0f}–{100 * high:.0f}</small>"


def _difference(value: float, interval: tuple[float, float]) -> str:
    return f"{100 * value:+.1f} <small>{_span(interval)}</small>"


def _span(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:+.1f} to {100 * interval[1]:+.1f}"


def _radius(radius: Fraction) -> str:
    return f"{float(radius):g}"


def _list(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


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
                "networks": _list(dict.fromkeys(run.card["model"]["name"] for run in own)),
                "parameters": " to ".join(dict.fromkeys(f"{size:,}" for size in (sizes[0], sizes[-1]))),
                "epochs": _numbers(run.card["training"]["epochs"] for run in own),
                "starts": _list(_start(*start, records) for start in sorted(starts)) if starts else "",
                "own": len(own),
                "borrowed": len(runs) - len(own),
                "votes": f"{sum(run.certification.images * run.certification.scheme.samples for run in runs):,}",
                "training": _duration(sum(run.card["training"]["seconds_of_last_session"] for run in own)),
                "voting": _duration(sum(row.seconds for run in runs for row in run.certification.rows)),
            }
        )
    return made


def _numbers(numbers: Iterable[int]) -> str:
    return _list(str(number) for number in sorted(set(numbers)))


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
        begun = ""
        for start in (run.start for run in own if run.start is not None):
            name = start["name"]
            earlier = next(
                (run for run in map(read_run, runs_in(records / "start")) if run.weights == start["weights"]), None
            )
            if earlier is not None and earlier.weights not in {run.weights for run in shipped()}:
                name = "runs/start"
                long = f"--epochs {earlier.card['training']['epochs']} --out {name}"
                formula, data = earlier.card["law"][0]["g"], earlier.card["data"]["name"]
                first[name] = f'ecm train "{formula}" --dataset {data} {long}{where}'
            begun = f" --start {name}"
        lines.append(
            f"ecm reproduce {one.done.experiment.name} --epochs {epochs} --images {one.done.images}{begun}{where}"
        )
    return [*first.values(), *lines]


def _mixed(experiments: dict[str, Found]) -> bool:
    """Whether there are models of one experiment with different numbers of epochs."""
    of = [_own([read_run(one.done.folder / name) for name in one.done.models]) for one in experiments.values()]
    return any(len({run.card["training"]["epochs"] for run in own}) > 1 for own in of)


# ---- models ----------------------------------------------------------------------------------------------------------


def _base18(records: Path) -> dict[str, str] | None:
    name = f"{MAIN}-l0.5-a18"
    if records / MAIN / name not in set(runs_in(records / MAIN)):
        return None
    table1 = EXPERIMENTS["table1"]
    ours = read_run(records / MAIN / name).trained.base.share
    return {"ours": percent(ours), "theirs": f"{table1.base(*table1.models('small')[name]):.2f}"}


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
                _with_interval(run.trained.base),
                "" if base is None else f"{base:.2f}",
                _with_interval(run.certification.smoothed_accuracy),
                "" if clean is None else f"{clean:.2f}",
            ]
    head = ["model", "training", "design, votes an image", "base", "published", "smoothed", "published"]
    return table(head, rows.values())


def _clean(one: Found, family: Family, alpha: int) -> float | None:
    """The smoothed accuracy that the paper gives for a model, if it is the best one at some radius."""
    for panel in one.done.experiment.panels:
        for cell in panel.cells(family.label) or ():
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
    return _list(f"{counts[answer]} {word}" for answer, word in words.items() if counts[answer]) if counts else ""


def _verdicts(experiments: dict[str, Found]) -> str:
    rows = []
    for name, one in experiments.items():
        for verdict in one.verdicts:
            least, most = (pick(verdict.differences, key=lambda d: d.value) for pick in (min, max))
            holds = sum(d.answer == "holds" for d in verdict.differences)
            ends = [f"{100 * end.value:+.1f} at {_radius(end.radius)}" for end in (least, most)]
            answer, count = f"**{verdict.answer}**", f"{holds} of {len(verdict.differences)}"
            near, far = (_radius(verdict.differences[k].radius) for k in (0, -1))
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


def _claims(panel: Panel, verdicts: list[Verdict]) -> str:
    rows = []
    for verdict in verdicts:
        if verdict.panel == panel.title and {d.radius for d in verdict.differences} <= set(panel.radii):
            by = {d.radius: _difference(d.value, d.interval) for d in verdict.differences}
            rows.append([verdict.claim.name, verdict.answer, *(by.get(radius, "") for radius in panel.radii)])
    return table(["ordering", "here", *map(_radius, panel.radii)], rows) if rows else ""


# ---- tables ----------------------------------------------------------------------------------------------------------


def _experiment(one: Found) -> dict[str, Any]:
    experiment, verdicts = one.done.experiment, one.verdicts
    return {
        "name": experiment.name,
        "title": experiment.title,
        "images": one.done.images,
        "note": experiment.note,
        "missing": _list(f"`{name}` ({why})" for name, why in one.missing.items()) if one.missing else "",
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
            rows.append([first, NAMES[method], _cleans(cells), *(_with_interval(cell.certified) for cell in cells)])
    return table(["", "certificate", "clean @ alpha", *map(_radius, panel.radii)], rows)


def _cleans(cells: Iterable[Cell]) -> str:
    return ", ".join(dict.fromkeys(f"{percent(cell.clean.share)} @ {cell.alpha}" for cell in cells))


# ---- what the vote-aware certificate gains ---------------------------------------------------------------------------

Power = tuple[Fraction, Fraction]


class Gain(NamedTuple):
    """At one radius: vote-aware minus the paper's, as a share of the images, and whether the radius is a middle one."""

    radius: Fraction
    value: float
    interval: tuple[float, float]
    middle: bool


@cache
def _covered(run: Run, radius: Fraction, method: str = "vote_aware") -> frozenset[int]:
    return certified_images(run.certification, run.power[0], radius, method)


def _gain(run: Run, radius: Fraction) -> Gain:
    result = run.certification
    more, less = (_covered(run, radius, method) for method in ("vote_aware", "paper"))
    low, high = paired_interval(len(more - less), len(less - more), result.images)
    middle = 0.25 <= len(less) / max(1, result.smoothed_accuracy.correct) <= 0.75
    return Gain(radius, len(more - less) / result.images, (max(0.0, low), high), middle)


def _gaining(records: Path) -> dict[Power, list[Run]]:
    """The models of the main method by (p, alpha), those of equal schemes once, few votes first."""
    by: dict[Power, dict[str, Run]] = {}
    for folder in runs_in(records / MAIN):
        run = read_run(folder)
        if run.usual:
            by.setdefault(run.power, {}).setdefault(run.certification.scheme.fingerprint, run)
    order = sorted(by, key=lambda power: (-power[0], power[1]))
    return {power: sorted(by[power].values(), key=lambda r: (r.per_alpha, r.name)) for power in order}


def _radii(power: Power) -> tuple[Fraction, ...]:
    """The radii of a table that models with this p and alpha reach, the table with most of them."""
    tables = [
        panel.radii
        for experiment in EXPERIMENTS.values()
        if experiment.data == MAIN
        for panel in experiment.panels
        if panel.p == power[0] and any(power[1] in family.alphas for family in panel.families)
    ]
    reach = (power[1] / 2) ** int(1 / power[0])
    return min(tables, key=lambda radii: (reach < radii[-1], -len(radii), -radii[-1]))


def _design(run: Run) -> str:
    return f"{run.certification.scheme.design.kind}, B = {run.per_alpha:.4g} alpha"


def _gain_table(power: Power, runs: list[Run]) -> dict[str, Any]:
    radii, rows = _radii(power), []
    for run in runs:
        gains = [_gain(run, radius) for radius in radii]
        cells = [_difference(gain.value, gain.interval) for gain in gains]
        cells = [f"**{cell}**" if gain.middle else cell for cell, gain in zip(cells, gains, strict=True)]
        rows.append([_design(run), str(run.certification.scheme.samples), *cells])
    made = table(["design", "votes", *map(_radius, radii)], rows)
    return {"p": power[0], "alpha": power[1], "images": runs[0].certification.images, "table": made}


def _prototype(groups: dict[Power, list[Run]]) -> dict[str, Any]:
    """What the gains at B = 1000 alpha say about the prototype's."""
    first, last = PROTOTYPE
    found = []
    for power, runs in groups.items():
        for run in (run for run in runs if round(run.per_alpha) == 1000):
            gains = [_gain(run, radius) for radius in _radii(power)]
            middle = [gain for gain in gains if gain.middle] or gains
            meets = sum(100 * gain.interval[1] >= first and 100 * gain.interval[0] <= last for gain in middle)
            inside = sum(first <= 100 * gain.value <= last for gain in middle)
            best = max(gains, key=lambda gain: gain.value)
            found.append(
                {
                    "p": power[0],
                    "alpha": power[1],
                    "design": _design(run),
                    "answer": f"seen at {inside} of {len(middle)} middle radii" if meets else "not seen",
                    "gains": _list(f"{100 * gain.value:.1f} at {_radius(gain.radius)}" for gain in middle),
                    "meets": meets,
                    "radii": len(middle),
                    "images": run.certification.images,
                    "best": f"{100 * best.value:.1f} ({_span(best.interval)})",
                    "where": _radius(best.radius),
                }
            )
    same = any((one["p"], one["alpha"]) == PROTOTYPE_POWER for one in found)
    return {"first": f"{first:g}", "last": f"{last:g}", "found": found, "same": same}


def _largest(groups: dict[Power, list[Run]]) -> str:
    told = []
    for per_alpha in (PER_ALPHA, 1000):
        some = [
            (_gain(run, radius).value, run)
            for power, runs in groups.items()
            for run in runs
            if round(run.per_alpha) == per_alpha
            for radius in _radii(power)
        ]
        if some:
            value, run = max(some, key=lambda pair: pair[0])
            where = f"p = {run.power[0]}, alpha = {run.power[1]}"
            told.append(f"{100 * value:.1f} points with B = {per_alpha} alpha ({where})")
    return _list(told) if told else ""


# ---- budgets ---------------------------------------------------------------------------------------------------------


def _by_label(one: Found, panel: Panel) -> dict[str, Run]:
    """The runs of a panel of `budgets`, by row."""
    names = {f.label: f.run_name(one.done.experiment.data, alpha) for f in panel.families for alpha in f.small}
    return {label: read_run(one.done.folder / name) for label, name in names.items()}


def _hits(run: Run, panel: Panel) -> list[frozenset[int]]:
    return [_covered(run, radius) for radius in panel.radii]


def _aperiodic(runs: dict[str, Run]) -> dict[str, Run]:
    """Few votes first."""
    free = {label: run for label, run in runs.items() if run.certification.scheme.design.kind == "aperiodic"}
    return dict(sorted(free.items(), key=lambda item: item[1].certification.scheme.total))


def _budget(one: Found | None) -> dict[str, Any] | None:
    if one is None:
        return None
    panels = [_budget_panel(one, panel) for panel in one.done.experiment.panels]
    chosen = next((panel for panel in panels if panel["recommendation"]), panels[0])
    return {"name": one.done.experiment.name, "images": one.done.images, "panels": panels, "chosen": chosen}


def _budget_panel(one: Found, panel: Panel) -> dict[str, Any]:
    runs, rows = _by_label(one, panel), []
    for label, run in runs.items():
        scheme, result = run.certification.scheme, run.certification
        shares = [_with_interval(Accuracy(len(found), result.images)) for found in _hits(run, panel)]
        eps = f"{float(scheme.design.eps_max * run.power[1]):.4f}"
        rows.append([label, str(scheme.samples), eps, percent(result.smoothed_accuracy.share), *shares])
    return {
        "p": panel.p,
        "alpha": next(iter(runs.values())).power[1],
        "unit": panel.title,
        "table": table(["design", "votes an image", "eps", "smoothed", *map(_radius, panel.radii)], rows),
        **_choice(panel, _aperiodic(runs), one.done.images),
    }


def _choice(panel: Panel, free: dict[str, Run], images: int) -> dict[str, Any]:
    """Each budget against the largest, radius by radius, and what to recommend."""
    if len(free) < 2:
        return {"largest": "", "against": "", "choices": [], "recommendation": "", "short": ""}
    *smaller, largest = free
    hits = {label: _hits(run, panel) for label, run in free.items()}
    votes = {label: run.certification.scheme.samples for label, run in free.items()}
    rows, choices, loss = [], [], {}
    for label in smaller:
        cells = []
        for mine, best in zip(hits[label], hits[largest], strict=True):
            only = len(mine - best), len(best - mine)
            cells.append(((only[0] - only[1]) / images, paired_interval(*only, images)))
        worst, interval = min(cells)
        loss[label] = max(0.0, -100 * worst)
        rows.append([label, *(_difference(*cell) for cell in cells)])
        times = f"{votes[largest] / votes[label]:.1f}"
        choices.append({"label": label, "times": times, "loss": f"{loss[label]:.1f}", "interval": _span(interval)})
    against = table(["design", *map(_radius, panel.radii)], rows)
    told = _recommendation(free, largest, loss) if round(free[largest].per_alpha) > PER_ALPHA else {}
    return {"largest": largest, "against": against, "choices": choices, "recommendation": "", "short": "", **told}


def _recommendation(free: dict[str, Run], largest: str, loss: dict[str, float]) -> dict[str, str]:
    """In words: the smallest budget that loses little against the largest (points), and where the default stands."""
    enough = [label for label in loss if loss[label] <= TOLERATED]
    default = next((label for label in free if round(free[label].per_alpha) == PER_ALPHA), f"B = {PER_ALPHA} alpha")
    within = f"within {TOLERATED:g} points of {largest} at every radius"
    said = f"The smallest that stays {within} is {enough[0]}" if enough else f"No smaller budget stays {within}"
    if enough and enough[0] == default:
        said += ", which is the default (`ecm.default_budget`)."
    elif default in enough:
        said += f"; the default (`ecm.default_budget`) is {default}, which does too and has the smaller eps."
    else:
        lost = f"; here it loses {loss[default]:.1f} points" if default in loss else ""
        said += f"; the default (`ecm.default_budget`) is {default} for its cost{lost}."
    short = ""
    if default in loss:
        times = free[largest].certification.scheme.samples / free[default].certification.scheme.samples
        short = f"The default, {default}, needs {times:.1f} times fewer votes than {largest} and loses "
        short += f"{loss[default]:.1f} points at most (p = {free[default].power[0]}, alpha = {free[default].power[1]})"
    return {"recommendation": said, "short": short}


def _figures(groups: dict[Power, list[Run]], one: Found | None) -> dict[str, str]:
    drawn = {}
    curves: dict[str, dict[str, figures.Curve]] = {}
    for power, runs in groups.items():
        for run in (run for run in runs if round(run.per_alpha) in (PER_ALPHA, 1000)):
            label = f"alpha = {power[1]}, {_design(run)}".replace("alpha", "α")
            curves.setdefault(f"p = {power[0]}", {})[label] = figures.gain_curve(run)
    if curves:
        drawn["results-gain.svg"] = figures.gains(curves)
    if one is not None:
        panel = one.done.experiment.panels[0]
        runs = _by_label(one, panel)
        free = _aperiodic(runs)
        votes = [float(run.certification.scheme.samples) for run in free.values()]
        shares = [[100 * len(found) / one.done.images for found in _hits(run, panel)] for run in free.values()]
        drawn["results-budget.svg"] = figures.budgets(
            {label.replace("alpha", "α"): figures.certified_curve(run, "vote_aware") for label, run in runs.items()},
            {
                f"radius {_radius(radius)}": (votes, [share[at] for share in shares])
                for at, radius in enumerate(panel.radii)
                if at % 3 == 0
            },
            f"$\\ell_{{{panel.p}}}$ radius, $\\alpha = {next(iter(runs.values())).power[1]}$",
        )
    return drawn


# ---- training --------------------------------------------------------------------------------------------------------


def _recipe(tried: list[dict[str, Any]]) -> str:
    keys = ("what", "epochs", "lr", "base_accuracy", "images", "core_minutes", "note")
    rows = []
    for row in tried:
        cells = {key: row.get(key) for key in keys}
        base = cells["base_accuracy"]
        cells["base_accuracy"] = None if base is None else percent(base if base <= 1 else base / 100)
        rows.append(["" if cell is None else str(cell) for cell in cells.values()])
    head = ["what", "epochs", "learning rate", "base accuracy (%)", "images", "core minutes", "note"]
    return table(head, rows) if rows else ""
