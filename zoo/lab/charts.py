"""The charts of the page, as options of ECharts (it comes with NiceGUI and draws in the browser).

Each function is pure: what is shown in, a dictionary out. Every key is set each time, since the browser merges options.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from zoo.certification import COLORS, INK, RULE
from zoo.lab.results import ContinuousLaw, Radii, Splits
from zoo.lab.verdict import Points, Verdict

Options = dict[str, Any]

ORANGE, BLUE, GREEN, RED = COLORS[1], COLORS[2], COLORS[3], COLORS[6]
SOFT = "#5b6675"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
_SHORT = "p => p.value >= 0.0095 ? +p.value.toPrecision(2) : p.value.toExponential(0)"
_DIGITS = "v => (typeof v === 'number' ? +v.toPrecision(4) : '')"


def _axis(name: str = "", **more: Any) -> Options:
    """Return an axis of numbers; a vertical one has no name, the heading over the chart says what it is."""
    return {
        "type": "value",
        "name": name,
        "nameLocation": "middle",
        "nameGap": 26,
        "nameTextStyle": {"color": SOFT, "fontSize": 12},
        "axisLabel": {"color": SOFT, "fontSize": 11, "hideOverlap": True, "showMaxLabel": True},
        "axisLine": {"show": bool(name), "lineStyle": {"color": SOFT}},
        "axisTick": {"show": bool(name)},
        "splitLine": {"show": not name, "lineStyle": {"color": RULE}},
        "splitNumber": 4,
        **more,
    }


def _distance() -> Options:
    return _axis("distance z", min=0, max=1, interval=0.25)


def _chart(x: Options, y: Options | list[Options], series: list[Options], legend: list[str] | None = None) -> Options:
    return {
        "animationDuration": 200,
        "animationDurationUpdate": 200,
        "textStyle": {"fontFamily": _FONT, "color": INK},
        "grid": {"left": 4, "right": 16, "top": 30 if legend else 14, "bottom": 26, "containLabel": True},
        "legend": {
            "show": bool(legend),
            "data": legend or [],
            "left": 0,
            "top": 0,
            "icon": "roundRect",
            "itemWidth": 14,
            "itemHeight": 4,
            "itemGap": 14,
            "textStyle": {"color": SOFT, "fontSize": 12},
        },
        "tooltip": {
            "trigger": "axis",
            "confine": True,
            ":valueFormatter": _DIGITS,
            "textStyle": {"fontSize": 12, "color": INK},
        },
        "xAxis": x,
        "yAxis": y,
        "series": series,
    }


def _line(name: str, data: Sequence[Sequence[float | None]], color: str, width: float = 2, **more: Any) -> Options:
    return {
        "type": "line",
        "name": name,
        "data": data,
        "showSymbol": False,
        "symbol": "circle",
        "lineStyle": {"color": color, "width": width, "type": more.pop("dash", "solid")},
        "itemStyle": {"color": color},
        **more,
    }


def _area(color: str, opacity: float) -> Options:
    return {"color": color, "opacity": opacity}


def _dots(points: list[list[float]], color: str, size: int) -> Options:
    """Marks on a line, without words."""
    return {
        "data": [{"coord": point} for point in points],
        "symbol": "circle",
        "symbolSize": size,
        "itemStyle": {"color": color, "borderColor": "#fff", "borderWidth": 1.5},
        "label": {"show": False},
        "animation": False,
    }


def _by_distance(values: tuple[float, ...]) -> list[list[float]]:
    q = len(values) - 1
    return [[k / q, value] for k, value in enumerate(values)]


def _lists(points: Points) -> list[list[float]]:
    return [list(point) for point in points]


def refusal(verdict: Verdict) -> Options:
    """Return the refused g, with the points that refute it and their chord."""
    witness = _lists(verdict.witness)
    chord = [witness[0], witness[-1]] if len(witness) > 1 else []
    series = [
        _line("g", _lists(verdict.curve), INK, 2.5, markPoint=_dots(witness, RED, 12)),
        _line("chord", chord, RED, 1.5, dash="dashed"),
    ]
    return _chart(_distance(), _axis(), series, ["g", *(["chord"] if chord else [])])


def splits(curve: Points, allocation: Splits, found: Splits | None) -> Options:
    """Return g, and below it the share of outcomes that separate two levels: the design's over all pairs, the
    allocation's."""
    least, band = [], []
    if found is not None:
        least = _by_distance(found.least)
        band = _by_distance(tuple(b - a for a, b in zip(found.least, found.most, strict=True)))
    bare: Options = {"stack": "band", "silent": True, "tooltip": {"show": False}}
    series = [
        _line("least", least, BLUE, 0, **bare),
        _line("aperiodic", band, BLUE, 0, areaStyle=_area(BLUE, 0.45), **bare),
        _line("periodic", _by_distance(allocation.least), ORANGE, 1.6, dash=[5, 3]),
        _line("g", _lists(curve), INK),
    ]
    names = ["g", *(["aperiodic"] if found is not None else []), "periodic"]
    return _chart(_distance(), _axis(min=0), series, names)


def gaps(allocation: Splits, found: Splits | None) -> Options:
    """Return how far the worst pair at each distance stays below g; a dot marks each eps."""
    series: list[Options] = []
    names: list[str] = []
    for name, color, one in (("periodic", ORANGE, allocation), ("aperiodic", BLUE, found)):
        data, top = [], []
        if one is not None:
            names.insert(0, name)
            data = _by_distance(tuple(max(0.0, g - c) for g, c in zip(one.g, one.least, strict=True)))
            top = [[one.worst / (len(one.g) - 1), one.eps]]
        series.append(_line(name, data, color, 1.4, areaStyle=_area(color, 0.14), markPoint=_dots(top, color, 10)))
    return _chart(_distance(), _axis(min=0), series, names)


def continuous(law: ContinuousLaw) -> Options:
    """Return the density as an area on the left scale, atoms as stems on the right one; infinity stands in the
    table."""
    heights = sorted(value for _, value in law.density)
    top = _round_up(1.2 * heights[int(0.85 * len(heights))]) if heights else 1.0  # where it is infinite at 0, it is cut
    smooth: list[list[float | None]] = [[z, value if value <= top else None] for z, value in law.density]
    inside = [[z, mass] for z, mass in law.atoms if z <= 1]
    highest = _round_up(1.25 * max((mass for _, mass in inside), default=0.8))
    left, right = _axis(min=0, max=top, interval=top / 4), _axis(min=0, max=highest, interval=highest / 4)
    left["axisLabel"] = {**left["axisLabel"], "color": BLUE, "show": bool(smooth), ":formatter": _DIGITS}
    right["axisLabel"] = {**right["axisLabel"], "color": ORANGE, "show": bool(inside), ":formatter": _DIGITS}
    right |= {"position": "right", "splitLine": {"show": False}}
    rising = [[*point] for z, mass in inside for point in ((z, 0.0), (z, mass), (None, None))]
    heads = _dots(inside, ORANGE, 11)
    heads["data"] = [{"coord": point, "value": point[1]} for point in inside]
    heads["label"] = {
        "show": True,
        "position": "left",
        "color": ORANGE,
        "fontSize": 12,
        ":formatter": "p => +p.value.toPrecision(3)",
    }
    stems = _line("atom", rising, ORANGE, 4, yAxisIndex=1, markPoint=heads, z=4)
    names = [*(["density"] if smooth else []), *(["atom"] if inside else [])]
    x = _axis("bin width Λ", min=0, max=1, interval=0.25)
    chart = _chart(x, [left, right], [_line("density", smooth, BLUE, areaStyle=_area(BLUE, 0.2)), stems], names)
    chart["tooltip"]["show"] = False
    return chart


def _round_up(value: float) -> float:
    """Return the next of 1, 2, 4, 6, 8 times a power of ten: an axis that ends at a short number and has short
    quarters."""
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return float(next(step for step in (1, 2, 4, 6, 8, 10) if step * unit >= value * (1 - 1e-9)) * unit)


def by_levels(rows: tuple[tuple[str, float], ...]) -> Options:
    """Return the law on the levels as bars on a logarithmic scale, widths pooled by powers of two."""
    floor = 10.0 ** math.floor(math.log10(min(p for _, p in rows if p > 0)) - 0.2)
    names = ["∞" if name == "inf" else name.replace("-", "–") for name, _ in rows]
    x = _axis("bin width Λ, in levels", type="category", data=names)
    x["axisLabel"] = {**x["axisLabel"], "interval": 0, "hideOverlap": True}
    x["axisTick"] = {"show": False}
    y = _axis(type="log", min=floor, max=1, startValue=floor)
    y["axisLabel"] = {**y["axisLabel"], ":formatter": "v => +v.toPrecision(1)"}
    colors = [ORANGE if name == "∞" else GREEN for name in names]
    data = [
        {"value": p if p > 0 else None, "itemStyle": {"color": color}}
        for (_, p), color in zip(rows, colors, strict=True)
    ]
    bars = {
        "type": "bar",
        "name": "probability",
        "data": data,
        "barCategoryGap": "25%",
        "itemStyle": {"borderRadius": [2, 2, 0, 0]},
        "label": {"show": True, "position": "top", "color": SOFT, "fontSize": 10, ":formatter": _SHORT},
        "labelLayout": {"hideOverlap": True},
    }
    chart = _chart(x, y, [bars])
    chart["tooltip"]["trigger"] = "item"
    chart["grid"]["top"] = 20
    return chart


def radius(found: Radii, top: int) -> Options:
    """Return the radius by the integer certificate against the share of the predicted class; the present share is
    marked."""
    here = {
        "data": [{"xAxis": top / 10}],
        "symbol": "none",
        "silent": True,
        "lineStyle": {"color": ORANGE, "type": "dashed"},
        "label": {"show": False},
        "animation": False,
    }
    mark = _dots([[top / 10, found.here]], ORANGE, 14)
    line = _line("radius", _lists(found.curve), BLUE, 2.2, markPoint=mark, markLine=here)
    return _chart(_axis("votes of the predicted class, %", min=0, max=100, interval=25), _axis(min=0), [line])
