"""The page of one visitor: it turns its controls into questions, computes them in steps, and shows the newest only."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from functools import partial
from math import log10
from typing import Any

import attrs
from nicegui import ui

from ecm.design import Kind
from zoo.lab import display as show
from zoo.lab.latest import Latest
from zoo.lab.layout import Layout
from zoo.lab.results import (
    LARGEST_BUDGET,
    Inputs,
    Splits,
    allocation,
    continuous_law,
    default_budget,
    design,
    quantized_law,
    radii,
)
from zoo.lab.samples import SAMPLES, seen
from zoo.lab.sentences import note
from zoo.lab.verdict import Points, Verdict, judge, power_formula
from zoo.lab.worker import Failed, Stopped, TooSlow, Worker

QUICK, LONG = 20.0, 30.0  # seconds that a step may take
PATIENCE = 5.0  # seconds after which a step makes way for a newer question


class Lab:
    """Two workers answer: `quick` what takes milliseconds, so that a dragged slider is followed; `slow` the search."""

    def __init__(self, quick: Worker, slow: Worker) -> None:
        self._quick, self._slow = quick, slow
        self._now = Latest[Inputs](self._derive, patience=PATIENCE, stop=quick.interrupt)
        self._later = Latest[Inputs](self._search, pause=0.25, patience=PATIENCE, stop=slow.interrupt)
        self._follow = True  # the budget is the metric's default
        self._quiet = False  # the page sets its controls itself
        self._budget, self._first = 1, 0
        self._curve: Points = ()
        self._allocated: Splits | None = None
        self._found: Splits | None = None
        self.page = Layout()
        self._connect()
        ui.context.client.on_delete(self._close)
        self._change_mode()

    def _close(self) -> None:
        self._now.close()
        self._later.close()

    # ---- controls ----------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        page = self.page
        for control in (page.formula, page.q, page.kind, page.picture):
            control.on_value_change(self._ask)
        for slider in (page.p, page.alpha):
            slider.on_value_change(self._slide_power)
        for slider in (page.top, page.second):
            slider.on_value_change(self._ask)
        for text, button in page.examples.items():
            button.on_click(partial(self._choose, text))
        page.mode.on_value_change(self._change_mode)
        page.budget_slider.on_value_change(self._slide_budget)
        page.budget.on_value_change(self._type_budget)
        page.reset.on_click(self._take_default)
        page.again.on_click(self._draw_again)
        page.rate.on_value_change(lambda: show.show_cost(page, self._budget))

    @contextmanager
    def _setting(self) -> Iterator[None]:
        """Let the page change its own controls without asking anything: only the reader's changes are questions."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def _ask(self, *_: Any) -> None:
        if self._quiet:
            return
        page = self.page
        page.p_shown.text, page.alpha_shown.text = f"{page.p.value:g}", f"{page.alpha.value:g}"
        page.top_shown.text, page.second_shown.text = f"{page.top.value:g} %", f"{page.second.value:g} %"
        wanted = Inputs(
            formula=page.formula.value or "",
            q=int(page.q.value or Inputs().q),
            budget=None if self._follow else self._typed_budget(),
            kind=page.kind.value or "aperiodic",
            top=round(10 * page.top.value),
            second=round(10 * page.second.value),
            picture=page.picture.value or "flower",
            first=self._first,
        )
        self._now.ask(wanted)
        self._later.ask(wanted)

    def _typed_budget(self) -> int:
        return min(max(int(self.page.budget.value or self._budget), 1), LARGEST_BUDGET)

    def _choose(self, formula: str) -> None:
        with self._setting():
            self.page.formula.value = formula
        self._ask()

    def _change_mode(self, *_: Any) -> None:
        powers = self.page.mode.value == "power"
        self.page.sliders.set_visibility(powers)
        self.page.chips.set_visibility(not powers)
        self.page.formula.set_enabled(not powers)
        if powers:
            self._slide_power()
        else:
            self._ask()

    def _slide_power(self, *_: Any) -> None:
        self._choose(power_formula(self.page.p.value, self.page.alpha.value))

    def _slide_budget(self, *_: Any) -> None:
        if not self._quiet:
            self._follow = False
            with self._setting():
                self.page.budget.value = round(10**self.page.budget_slider.value)
            self._ask()

    def _type_budget(self, *_: Any) -> None:
        if not self._quiet and self.page.budget.value:
            self._follow = False
            with self._setting():
                self.page.budget_slider.value = log10(self._typed_budget())
            self._ask()

    def _take_default(self) -> None:
        self._follow = True
        self._ask()

    def _draw_again(self) -> None:
        self._first = (self._first + SAMPLES) % self._budget
        self._ask()

    # ---- steps -------------------------------------------------------------------------------------------------------

    async def _derive(self, wanted: Inputs) -> AsyncGenerator[None]:
        """Verdict, default budget, radii, allocation, laws: each is shown as soon as it is known."""
        page, formula, q, ask = self.page, wanted.formula, wanted.q, self._quick
        page.verdict_head.classes(add="busy")
        page.accepted.classes(add="stale")
        try:
            try:
                verdict = await ask(QUICK, judge, formula, q)
            except TooSlow:
                verdict = Verdict(formula, "undecided", explanation=f"no proof and no counterexample in {QUICK:g} s")
            show.show_verdict(page, verdict)
            yield
            if not verdict.accepted:
                return
            default = await ask(LONG, default_budget, formula, q)
            with self._setting():
                show.show_default(page, default, taken=wanted.budget is None)
            self._budget = wanted.budget or default
            show.show_cost(page, self._budget)
            yield
            show.show_radii(page, await ask(QUICK, radii, wanted, self._budget), wanted)
            yield
            self._curve = verdict.curve
            self._allocated = await ask(QUICK, allocation, formula, q, self._budget)
            self._show_splits(wanted.kind)
            yield
            law, rows = await ask(QUICK, continuous_law, formula, q), await ask(QUICK, quantized_law, formula, q)
            show.show_laws(page, law, rows, q)
        except Stopped:
            if self._now.is_newest(wanted):  # another page of the same server was in a hurry
                self._now.ask(attrs.evolve(wanted))
        except (TooSlow, Failed) as error:
            if self._now.is_newest(wanted):
                show.show_trouble(page, f"This could not be computed: {error}.")
        finally:
            page.verdict_head.classes(remove="busy")
            page.accepted.classes(remove="stale")

    async def _search(self, wanted: Inputs) -> AsyncGenerator[None]:
        """Yield the design, which may take seconds, and the noise that it makes."""
        page, formula, q, ask = self.page, wanted.formula, wanted.q, self._slow
        heads = (page.design_head, page.noise_head)
        for head in heads:
            head.classes(add="busy")
        page.pictures.classes(add="stale")
        try:
            if not (await ask(QUICK, judge, formula, q)).accepted:
                return
            budget = wanted.budget if wanted.budget else await ask(LONG, default_budget, formula, q)
            kind: Kind = wanted.kind
            yield
            said = ""
            try:
                if kind == "aperiodic":
                    self._found = await ask(LONG, design, formula, q, budget)
            except TooSlow:
                kind = "periodic"
                said = (
                    f"The search found no aperiodic design of B = {budget:,} outcomes within {LONG:g} s. At such a "
                    "budget the periodic allocation is close to g as well; the pictures below use it."
                )
            page.design_note.content = note(said)
            self._show_splits(wanted.kind)
            yield
            show.show_seen(page, await ask(LONG, seen, wanted, budget, kind))
        except Stopped:
            if self._later.is_newest(wanted):  # another page of the same server was in a hurry
                self._later.ask(attrs.evolve(wanted))
        except (TooSlow, Failed) as error:
            if self._later.is_newest(wanted):
                page.pictures.content = page.coupling.content = ""  # those of another question do not stay
                page.noise_note.content = note(f"This could not be computed: {error}.")
        finally:
            for head in heads:
                head.classes(remove="busy")
            page.pictures.classes(remove="stale")

    def _show_splits(self, kind: Kind) -> None:
        """Both halves, in the order in which they arrive; a design of another question is not shown."""
        quick, found = self._allocated, self._found
        if quick is not None:
            same = found is not None and (found.budget, found.g) == (quick.budget, quick.g)
            show.show_splits(self.page, self._curve, quick, found if same else None, kind)
