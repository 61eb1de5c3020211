"""The sentences of the page. HTML, with everything that was typed or computed escaped."""

from __future__ import annotations

from markupsafe import Markup, escape

from zoo.lab.results import Ball, Radii
from zoo.lab.verdict import Verdict
from zoo.reports import down

HEADLINES = {
    "ecm": "An ECM, proven on all of [0, 1]",
    "grid": "An ECM on these levels",
    "refused": "Not an ECM",
    "unreadable": "Not a formula",
    "undecided": "Undecided",
}
_RULE = "g must be 0 at 0, concave, non-decreasing and at most 1 on [0, 1]. An example is √z/18, written z**0.5/18."
_SYMBOLS = {"<=": "≤", ">=": "≥"}


def pretty(text: str) -> str:
    """Return the text with printed inequality signs."""
    for plain, sign in _SYMBOLS.items():
        text = text.replace(plain, sign)
    return text


def why(verdict: Verdict) -> Markup:
    """Return the proof as a table, or the explanation of a refusal with the place in the formula."""
    if verdict.accepted:
        rows = Markup("").join(
            Markup("<tr><td class='tick'>✓</td><th>{}</th><td>{}</td><td>{}</td></tr>").format(
                pretty(condition), method, pretty(detail)
            )
            for condition, method, detail in verdict.conditions
        )
        table = Markup("<table class='proof'><tbody>{}</tbody></table>").format(rows)
        if verdict.answer == "grid":
            said = (
                "It is not proven between the levels, so Λ has no continuous law. A certificate needs only the levels."
            )
            table += Markup("<p class='note'>{} {}</p>").format(said, verdict.explanation)
        return table
    parts = [Markup("<p>{}</p>").format(pretty(verdict.explanation).replace("`", ""))]
    if verdict.position is not None and verdict.formula:
        start = max(0, verdict.position - 40)
        before, at = verdict.formula[start : verdict.position], verdict.formula[verdict.position : verdict.position + 1]
        after = verdict.formula[verdict.position + 1 : verdict.position + 40]
        parts.append(Markup("<p class='place'>{}<mark>{}</mark>{}</p>").format(before, at or " ", after))
    if verdict.meaning:
        parts.append(Markup("<p>{}</p>").format(verdict.meaning))
    return Markup("").join([*parts, note(_RULE)])


def table(head: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Markup:
    """Return a plain table."""
    top = Markup("").join(Markup("<th>{}</th>").format(name) for name in head)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row))
        for row in rows
    )
    return Markup("<table class='plain'><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(top, body)


def unit(found: Radii) -> Markup:
    """Return the unit of the radii: ℓ_p where g is a power."""
    if found.power is None:
        return Markup("in d")
    p, _ = found.power
    return Markup("features") if p == 0 else Markup("ℓ<sub>{}</sub>").format(str(p))


def size(ball: Ball, found: Radii) -> str:
    """Return the radius of a ball in its unit, rounded down: what is printed is certified."""
    if ball.radius is None:
        return "none"
    if found.power is not None and ball.lp is not None:
        return f"{ball.lp:.0f}" if found.power[0] == 0 else down(ball.lp)
    return down(float(ball.radius))


def promise(found: Radii) -> Markup:
    """Return what the integer certificate says, in words."""
    own, rival = found.votes
    ball = found.integer
    if ball.radius is None:
        return Markup(
            "<b>Nothing is certified.</b> With {:,} votes against {:,}, another class is predicted (a tie is lost)."
        ).format(own, rival)
    if found.power is not None and found.power[0] == 0:
        within = Markup("differs from this one in at most <b>{}</b> features").format(size(ball, found))
    elif found.power is not None:
        within = Markup("lies within {} distance <b>{}</b> of this one").format(unit(found), size(ball, found))
    else:
        within = Markup("lies within distance <b>{}</b> of this one in this metric").format(size(ball, found))
    text = Markup("Every image that {} has the same predicted class.").format(within)
    if ball.features and (found.power is None or found.power[0] != 0):
        text += Markup(" For example, any {:,} of its {:,} features may take any values.").format(
            ball.features, found.features
        )
    return text


def certificates(found: Radii) -> Markup:
    """Return both certificates: the radius in the metric, and in the unit people ask for."""
    rows = []
    for name, ball in (("paper’s formula", found.paper), ("integer", found.integer)):
        inside = "—" if ball.radius is None else f"{'≤' if ball.closed else '<'} {down(float(ball.radius))}"
        rows.append(
            Markup("<tr><th>{}</th><td>{}</td><td>{}</td></tr>").format(name, inside, size(ball, found))
            if found.power is not None
            else Markup("<tr><th>{}</th><td>{}</td></tr>").format(name, inside)
        )
    last = Markup("<th>{}</th>").format(unit(found)) if found.power is not None else Markup("")
    head = Markup("<thead><tr><th>certificate</th><th>distance d</th>{}</tr></thead>").format(last)
    return Markup("<table class='plain'>{}<tbody>{}</tbody></table>").format(head, Markup("").join(rows))


def duration(seconds: float) -> str:
    """Return a time as one says it.

    >>> duration(0.0123), duration(75), duration(200_000)
    ('12 ms', '1.2 min', '2.3 days')
    """
    for limit, divisor, name in ((1, 0.001, "ms"), (60, 1, "s"), (3600, 60, "min"), (86400, 3600, "h")):
        if seconds < limit:
            return f"{seconds / divisor:.2g} {name}" if seconds / divisor < 10 else f"{seconds / divisor:.0f} {name}"
    return f"{seconds / 86400:.2g} days" if seconds < 864000 else f"{seconds / 86400:,.0f} days"


def note(text: str) -> Markup:
    """Return a short remark."""
    return Markup("<p class='note'>{}</p>").format(escape(text)) if text else Markup("")
