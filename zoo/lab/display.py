"""Results into the parts of the page."""

from __future__ import annotations

from math import log10

from markupsafe import Markup
from nicegui import ui

from zoo.lab import charts as figures
from zoo.lab import sentences as words
from zoo.lab.layout import Layout
from zoo.lab.results import LARGEST_BUDGET, ContinuousLaw, Inputs, Radii, Splits
from zoo.lab.samples import Seen
from zoo.lab.verdict import Points, Verdict
from zoo.reports import png_address

_COLORS = {"ecm": "yes", "grid": "open", "undecided": "open", "refused": "no", "unreadable": "no"}


def show_verdict(page: Layout, verdict: Verdict) -> None:
    """Show whether the formula is an ECM, and why; the other cards appear for accepted formulas only."""
    page.verdict.classes(remove="yes no open", add=_COLORS[verdict.answer])
    page.badge.text = words.HEADLINES[verdict.answer]
    page.written.text = f"g(z) = {verdict.text or verdict.formula or '…'}"
    page.why.content = words.why(verdict)
    page.trouble.set_visibility(False)
    page.accepted.set_visibility(verdict.accepted)
    page.refusal.set_visibility(bool(verdict.answer == "refused" and verdict.curve))
    if verdict.answer == "refused":
        _draw(page.refusal, figures.refusal(verdict))


def show_trouble(page: Layout, text: str) -> None:
    """Show a failure that the formula did not cause, and hide the numbers of an older question."""
    page.accepted.set_visibility(False)
    page.trouble.set_visibility(True)
    page.trouble_text.text = text


def show_default(page: Layout, default: int, *, taken: bool) -> None:
    """Mark the default budget on the slider; if `taken`, set the controls to it."""
    if taken:
        page.budget.value, page.budget_slider.value = default, log10(default)
    page.budget_slider.props["marker-labels"] = [{"value": log10(default), "label": _default_named(default)}]
    page.budget_slider.update()
    page.reset.set_visibility(not taken)


def _default_named(default: int) -> str:
    return f"default {default:,}" if default < LARGEST_BUDGET else "the largest budget here"


def show_laws(page: Layout, law: ContinuousLaw | None, rows: tuple[tuple[str, float], ...], q: int) -> None:
    """Show the law of Lambda on [0,1], if there is one, and on the levels."""
    page.law_box.set_visibility(law is not None)
    if law is not None:
        _draw(page.law_chart, figures.continuous(law))
        page.law_rows.content = words.table(("part", "where", "probability"), law.rows)
    page.levels_title.content = Markup("<h3>for the levels 0…{}: probability of each width</h3>").format(q)
    _draw(page.levels_chart, figures.by_levels(rows))
    page.shown_tile.content = _tile(
        "A feature is shown", f"{100 * (1 - rows[-1][1]):.3g} %", "of the time and hidden otherwise: P(Λ < ∞) = g(1)"
    )


def show_splits(page: Layout, curve: Points, quick: Splits, found: Splits | None, kind: str) -> None:
    """Show g against the periodic allocation, and against the aperiodic design once it is found."""
    _draw(page.split_chart, figures.splits(curve, quick, found))
    _draw(page.gap_chart, figures.gaps(quick, found))
    chosen = quick if kind == "periodic" else found
    under = "at worst, proven optimal" if kind == "periodic" else f"at worst; {quick.eps:.3g} if periodic"
    page.eps_tile.content = _tile("ε*: gap below g", "…" if chosen is None else f"{chosen.eps:.3g}", under)
    rows = [("periodic, optimal", quick)] + ([("aperiodic, found", found)] if found is not None else [])
    page.design_rows.content = words.table(
        ("outcomes", "ε*", "at z =", "with dividers"),
        tuple(
            (name, f"{one.eps:.5g}", f"{one.worst / (len(one.g) - 1):.3g}", f"{one.finite:,} of {one.budget:,}")
            for name, one in rows
        ),
    )


def show_seen(page: Layout, found: Seen) -> None:
    """Show the picture, the two ends of every bin at a few samples, and one sample under each coupling."""
    parts = [_figure(png_address(found.levels, found.q), f"original, levels 0–{found.q}", "original")]
    for name, ends in (("lower", found.lower), ("upper", found.upper)):
        for t, one in zip(found.samples, ends, strict=True):
            parts.append(_figure(png_address(one, 2 * found.q), f"{name}, sample {t:,}"))
    page.pictures.content = Markup("").join(parts)
    page.noise_note.content = words.note(f"{100 * found.shown:.1f} % of the features are shown at these samples")
    sides = [_figure(png_address(found.levels, found.q), "original")]
    for coupling, middles, shown in found.compared:
        caption = f"{coupling}, sample {found.samples[0]:,}: {100 * shown:.1f} % shown"
        sides.append(_figure(png_address(middles, 4 * found.q), caption))
    page.coupling.content = Markup("").join(sides)


def show_radii(page: Layout, found: Radii, wanted: Inputs) -> None:
    """Show what the shares of the votes certify."""
    unit = words.unit(found)
    page.radius_tile.content = _tile(
        "Certified radius", words.size(found.integer, found), Markup("{} at {:g} % votes").format(unit, wanted.top / 10)
    )
    page.radius_title.content = Markup("<h3>certified radius ({}), by votes of the predicted class</h3>").format(unit)
    page.promise.content = words.promise(found)
    own, rival = found.votes
    page.balls.content = words.certificates(found) + words.note(
        f"{own:,} of {found.budget:,} votes against {rival:,}. The vote-aware certificate also uses which sample cast "
        "which vote, and is never smaller than the integer one."
    )
    _draw(page.radius_chart, figures.radius(found, wanted.top))


def show_cost(page: Layout, budget: int) -> None:
    """Show the forward passes, and their time at the given rate."""
    rate = float(page.rate.value or 0)
    one, many = (words.duration(images * budget / rate) if rate > 0 else "—" for images in (1, 10_000))
    page.cost_tile.content = _tile("Cost per image", f"{budget:,}", f"forward passes: {one} at {rate:,.0f} per second")
    page.cost.content = words.table(
        ("images", "forward passes", "time"), (("1", f"{budget:,}", one), ("10,000", f"{10_000 * budget:,}", many))
    )


def _tile(name: str, big: str, under: str | Markup) -> Markup:
    parts = Markup("<div class='name'>{}</div><div class='big'>{}</div><div class='under'>{}</div>")
    return parts.format(name, big, under)


def _figure(source: str, caption: str, kind: str = "") -> Markup:
    parts = Markup("<figure class='{}'><img src='{}' alt='{}'><figcaption>{}</figcaption></figure>")
    return parts.format(kind, source, caption, caption)


def _draw(chart: ui.echart, options: figures.Options) -> None:
    chart.options.clear()
    chart.options.update(options)
    chart.update()
