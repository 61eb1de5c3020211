"""The parts of the page and where they stand; nothing here knows what they mean."""

from __future__ import annotations

from math import log10
from pathlib import Path

from nicegui import ui

from zoo.lab.results import LARGEST_BUDGET, LEAST_SECOND, LEVELS, Inputs

EXAMPLES = ("z**0.5/18", "z/4", "log(1+z)/8", "Min(z, 0.1)/2", "1 - exp(-3*z)", "sign(z)/25")
BAD_EXAMPLES = ("z**2/3", "sin(3*z)")
RATE = 2000  # forward passes per second until somebody types another number

_TITLE = (
    "<h1>ecm lab</h1><p>Type a formula for g. The page shows whether d(x, y) = Σ g(|xᵢ − yᵢ|) is a metric in which "
    "predictions can be certified, and what a certificate costs.</p>"
)
_OUTCOMES = (
    "A list of B outcomes replaces the random width Λ. At most B·g(z) of them may separate two values at distance z; "
    "ε* is the largest gap that remains."
)
_LAW = (
    "Λ is the random width of the bins in which the network sees a feature. Two values at distance z fall into "
    "different bins with probability exactly g(z)."
)
_NOISE = (
    "For each feature the network sees the two ends of its bin, lower and upper. Where Λ = ∞ they are 0 and 1, and the "
    "feature is hidden."
)
_COUPLING = (
    "The guarantee allows any choice of the features that are shown together. With independent offsets, as published, "
    "a sample has clumps and holes. The spread coupling, the default of this library, shows a lattice over the whole "
    "image. Hidden features are grey."
)
_VOTES = (
    "The network votes at all B samples. The vote counts determine the radius within which the class with the most "
    "votes cannot change."
)
_COST = "Certifying an image takes B forward passes, whatever the image is."


class Layout:
    """All elements of one page. Controls have values; the rest is filled by `display`."""

    def __init__(self) -> None:
        ui.colors(primary="#2467b3")
        ui.add_css(Path(__file__).with_name("page.css").read_text())
        with ui.element("div").classes("lab"):
            ui.html(_TITLE, tag="header").classes("masthead")
            with ui.element("div").classes("columns"):
                with ui.element("aside").classes("card controls"):
                    self._metric()
                    self._levels()
                    self._budget()
                    self._shares()
                    self._speed()
                with ui.element("main").classes("results"):
                    self._verdict()
                    with ui.element("div").classes("results") as self.accepted:
                        with ui.element("div").classes("tiles"):
                            self.eps_tile, self.cost_tile, self.shown_tile, self.radius_tile = (
                                _html("tile") for _ in range(4)
                            )
                        self._outcomes()
                        self._law()
                        self._noise()
                        self._votes()
                        self._cost()

    def _metric(self) -> None:
        start = Inputs()
        with ui.element("div"):
            _heading("Metric")
            self.mode = _toggle({"formula": "formula", "power": "p and α"}, "mode").props("spread")
            self.formula = ui.input(value=start.formula).classes("formula")
            self.formula.props('prefix="g(z) = " dense outlined debounce=250 spellcheck=false autocomplete=off')
            self.formula.props('maxlength=400 aria-label="formula g(z)" data-testid=formula')
            with ui.element("div").classes("chips") as self.chips:
                self.examples = {
                    text: ui.button(text, color=None).props("flat no-caps dense") for text in EXAMPLES + BAD_EXAMPLES
                }
            for text in BAD_EXAMPLES:
                self.examples[text].classes("bad")
            with ui.element("div").classes("field") as self.sliders:
                self.p_shown = _named("p")
                self.p = _slider("p", "p", (0.05, 1, 0.05), 0.5)
                self.alpha_shown = _named("α")
                self.alpha = _slider("alpha", "alpha", (0.5, 30, 0.5), 18)

    def _levels(self) -> None:
        with ui.element("div"):
            _heading("Levels")
            self.q = ui.select(list(LEVELS), value=Inputs().q, label="q: values are 0, 1/q, …, 1")
            self.q.props("dense outlined options-dense data-testid=q")

    def _budget(self) -> None:
        with ui.element("div"):
            with ui.element("div").classes("line"):
                _heading("Budget")
                self.reset = ui.button("use the default", color=None).props("flat dense no-caps data-testid=reset")
                self.reset.classes("link")
            self.budget = ui.number(min=1, max=LARGEST_BUDGET, precision=0, label="B: forward passes per image")
            self.budget.props("dense outlined debounce=300 data-testid=budget")
            self.budget_slider = _slider("budget-slider", "budget B, logarithm", (0, log10(LARGEST_BUDGET), 0.01), 3)
            self.kind = _toggle({"aperiodic": "aperiodic", "periodic": "periodic"}, "kind").props("spread")

    def _shares(self) -> None:
        start = Inputs()
        with ui.element("div"):
            _heading("Votes")
            self.top_shown = _named("for the predicted class")
            self.top = _slider("top", "votes of the predicted class, %", (0, 100, 0.5), start.top / 10)
            self.second_shown = _named("strongest rival’s share of the other votes")
            spoken, ends = "strongest rival, % of the other votes", (LEAST_SECOND / 10, 100, 0.1)
            self.second = _slider("second", spoken, ends, start.second / 10)

    def _speed(self) -> None:
        with ui.element("div"):
            _heading("Speed")
            self.rate = ui.number(value=RATE, min=0, label="forward passes per second of your network")
            self.rate.props("dense outlined debounce=200 data-testid=rate")

    def _verdict(self) -> None:
        with ui.element("section").classes("card trouble") as self.trouble:
            self.trouble_text = ui.label("").props("data-testid=trouble")
        self.trouble.set_visibility(False)
        with ui.element("section").classes("card verdict").props("data-testid=verdict") as self.verdict:
            with ui.element("div").classes("cardhead") as self.verdict_head:
                self.written = ui.label("").classes("formula-text")
                self.badge = ui.label("…").classes("badge").props("role=status data-testid=badge")
            self.why = _html("why", "why")
            self.refusal = _chart("refusal")
            self.refusal.set_visibility(False)

    def _outcomes(self) -> None:
        with ui.element("section").classes("card"):
            self.design_head = _head("g against the outcomes", _OUTCOMES)
            self.design_note = _html("", "design-note")
            with ui.element("div").classes("pair"):
                with ui.element("div"):
                    _heading("probability of a split, by distance z", 3)
                    self.split_chart = _chart("split-chart")
                with ui.element("div"):
                    _heading("gap below g of the worst pair, by distance z; dots: ε*", 3)
                    self.gap_chart = _chart("gap-chart")
            self.design_rows = _html("scroll", "design")

    def _law(self) -> None:
        with ui.element("section").classes("card"):
            _head("The law of Λ", _LAW)
            with ui.element("div").classes("pair"):
                with ui.element("div") as self.law_box:
                    _heading("for values in [0, 1]: density −z g″(z), and atoms", 3)
                    self.law_chart = _chart("law-chart")
                    self.law_rows = _html("scroll", "law")
                with ui.element("div"):
                    self.levels_title = _html("")
                    self.levels_chart = _chart("levels-chart")

    def _noise(self) -> None:
        with ui.element("section").classes("card"):
            self.noise_head = _head("What the network sees", _NOISE)
            with ui.element("div").classes("line"):
                self.picture = _toggle({"flower": "photograph", "digit": "digit"}, "picture")
                self.noise_note = _html("grow")
                self.again = (
                    ui.button("other samples", color=None).props("flat dense no-caps data-testid=again").classes("link")
                )
            self.pictures = _html("pictures", "pictures")
            _heading("the same sample under an independent and a spread coupling", 3)
            ui.html(_COUPLING, tag="p").classes("lead")
            self.coupling = _html("couplings", "couplings")

    def _votes(self) -> None:
        with ui.element("section").classes("card"):
            _head("What a share of the votes certifies", _VOTES)
            with ui.element("div").classes("pair"):
                with ui.element("div").classes("stack"):
                    self.promise = _html("promise", "promise")
                    self.balls = _html("scroll", "balls")
                with ui.element("div"):
                    self.radius_title = _html("")
                    self.radius_chart = _chart("radius-chart").classes("tall")

    def _cost(self) -> None:
        with ui.element("section").classes("card"):
            _head("Cost", _COST)
            self.cost = _html("scroll", "cost")


def _html(classes: str, name: str = "") -> ui.html:
    part = ui.html("").classes(classes)
    return part.props(f"data-testid={name}") if name else part


def _heading(text: str, level: int = 2) -> None:
    ui.html(text, tag=f"h{level}")


def _head(title: str, lead: str) -> ui.element:
    """Add the title of a card and a sentence that says what it shows; the returned element may be marked busy."""
    with ui.element("div").classes("cardhead") as head:
        _heading(title)
    ui.html(lead, tag="p").classes("lead")
    return head


def _named(name: str) -> ui.label:
    """Add a line with a name and, at its end, a value that is set later."""
    with ui.element("div").classes("line"):
        ui.label(name).classes("note")
        return ui.label("").classes("value")


def _slider(name: str, spoken: str, ends: tuple[float, float, float], value: float) -> ui.slider:
    """Add a slider from the first of the ends to the second, in steps of the third."""
    slider = ui.slider(min=ends[0], max=ends[1], step=ends[2], value=value)
    return slider.props(f'data-testid={name} aria-label="{spoken}"')


def _toggle(options: dict[str, str], name: str) -> ui.toggle:
    return ui.toggle(options, value=next(iter(options))).props(f"no-caps unelevated dense data-testid={name}")


def _chart(name: str) -> ui.echart:
    return ui.echart({}, renderer="svg").classes("chart").props(f"data-testid={name}")
