"""The lab: what it shows is what the library says, whatever is typed is answered, and nobody outside can ask."""

from __future__ import annotations

import asyncio
import math
import re
import time
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from ecm import ECM
from ecm import default_budget as library_default
from ecm.errors import ECMError
from smoothing import Noise, Scheme, certify
from tests.zoo.running_lab import running_lab
from zoo.cli import app
from zoo.lab import charts as figures
from zoo.lab import sentences as words
from zoo.lab.latest import Latest
from zoo.lab.results import (
    LARGEST_BUDGET,
    SHAPES,
    Inputs,
    allocation,
    continuous_law,
    counts,
    default_budget,
    design,
    quantized_law,
    radii,
)
from zoo.lab.samples import picture, seen
from zoo.lab.verdict import judge, metric_of, power_formula
from zoo.lab.worker import Failed, Stopped, TooSlow, Worker
from zoo.reports import png_address

GOOD = ("z**0.5/18", "z/4", "log(1+z)/8", "Min(z, 0.1)/2", "1 - exp(-3*z)", "sign(z)/25", "0")


class Bad(NamedTuple):
    formula: str
    answer: str
    says: str


BAD = (
    Bad("z**2/3", "refused", "is not concave: at z = 0, 1/4, 1/2"),
    Bad("2*z", "refused", "exceeds 1: g(1) = 2"),
    Bad("sin(3*z)", "refused", "is not increasing"),
    Bad("z + 0.1", "refused", "does not start at 0"),
    Bad("Piecewise((z, z < 0.5), (0, True))", "refused", "Piecewise("),
    Bad("log(z)", "refused", "not real at z = 0"),
    Bad("", "unreadable", "empty"),
    Bad("foo(z)", "unreadable", "unknown function 'foo'"),
    Bad("((z", "unreadable", "never closed"),
    Bad("__import__('os').system('true')", "unreadable", ""),
    Bad("10**10**10*z", "unreadable", ""),
)


# ---- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", GOOD)
def test_an_accepted_formula_comes_with_the_library_s_proof(formula: str) -> None:
    """The four conditions, the canonical text and the metric are the library's."""
    verdict, metric = judge(formula, 255), ECM.from_expr(formula)
    assert verdict.answer == "ecm"
    assert verdict.conditions == tuple(attrs.astuple(c) for c in metric.proof)
    assert verdict.text == str(metric)
    assert metric_of(formula, 255) == metric
    assert all(value == pytest.approx(float(metric.profile(z))) for z, value in verdict.curve[::50])
    assert words.why(verdict).count("<tr>") == 4


@pytest.mark.parametrize("bad", BAD, ids=[bad.formula for bad in BAD])
def test_a_bad_formula_is_explained(bad: Bad) -> None:
    """The answer names the reason, no metric comes of it, and the page says the same, escaped."""
    verdict = judge(bad.formula, 255)
    assert verdict.answer == bad.answer
    assert bad.says in verdict.explanation
    assert verdict.explanation
    assert not verdict.accepted
    with pytest.raises(ValueError, match=re.escape(verdict.explanation[:20])):
        metric_of(bad.formula, 255)
    assert "concave, non-decreasing" in words.why(verdict)
    assert "<" not in re.sub(r"</?(p|mark)( class='\w+')?>", "", words.why(verdict))
    if bad.answer == "refused":
        assert figures.refusal(verdict)["series"]


@settings(max_examples=60)
@given(st.text(max_size=30) | st.text("z0123456789+-*/(). ,", max_size=12))
@example("<script>alert(1)</script>")
def test_whatever_is_typed_is_answered(text: str) -> None:
    """No text raises, and none gets into the page as markup."""
    verdict = judge(text, 4)
    assert verdict.answer in words.HEADLINES
    assert "<script" not in words.why(verdict)


@pytest.mark.parametrize("power", [2, 3, 5])
def test_the_triangle_inequality_fails_where_it_is_said_to_fail(power: int) -> None:
    """The two steps that the page names are checked here in fractions."""
    said = judge(f"z**{power}/3", 16).meaning
    found = re.search(r"steps of (\S+) and (\S+) together cost (\S+), but one step of (\S+) costs (\S+)\.", said)
    assert found is not None
    a, b, apart, both, whole = map(Fraction, found.groups())
    assert both == a + b <= 1
    assert apart == (a**power + b**power) / 3
    assert whole == both**power / 3
    assert apart < whole


def test_the_triangle_inequality_is_not_blamed_where_it_holds() -> None:
    """2*z is refused, but not for that."""
    assert "triangle" not in judge("2*z", 16).meaning


def test_the_witness_is_drawn_where_the_error_says() -> None:
    """Three points for concavity, on the curve."""
    verdict = judge("z**2/3", 255)
    assert verdict.witness == ((0.0, 0.0), (0.25, pytest.approx(1 / 48)), (0.5, pytest.approx(1 / 12)))


def test_a_formula_that_is_open_between_the_levels_is_taken_on_them() -> None:
    """The grid is proven, the continuous law is left out, and the page says so."""
    formula = "z**0.3137*log1p(z**0.6173)**0.3/3"
    verdict = judge(formula, 16)
    assert verdict.answer == "grid"
    assert continuous_law(formula, 16) is None
    assert quantized_law(formula, 16) == tuple(ECM.from_expr(formula, grid=16).quantized(16).rows())
    assert "It is not proven between the levels" in words.why(verdict)


@settings(max_examples=25)
@given(st.integers(1, 20), st.integers(1, 60))
def test_two_sliders_make_the_formula_of_an_lp_metric(twentieths: int, halves: int) -> None:
    """z**p/alpha with the decimals that the sliders show, capped below alpha = 1."""
    p, alpha = twentieths / 20, halves / 2
    assert ECM.from_expr(power_formula(p, alpha)) == ECM.lp(Fraction(twentieths, 20), Fraction(halves, 2))


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", GOOD)
def test_laws_and_budgets_are_the_library_s(formula: str) -> None:
    """Atoms, masses, the law on the levels, the default budget and the optimal allocation, number by number."""
    metric, q = ECM.from_expr(formula), 32
    law = continuous_law(formula, q)
    assert law is not None
    assert law.atoms == tuple((float(a.location), float(a.mass)) for a in metric.law().atoms)
    assert quantized_law(formula, q) == tuple(metric.quantized(q).rows())
    budget = default_budget(formula, q)
    assert budget == library_default(metric, q)
    found, shown = metric.allocate(budget, q), allocation(formula, q, budget)
    assert (shown.eps, shown.worst) == (found.eps, found.worst)
    assert shown.least == tuple((found.N / budget).tolist())
    assert shown.finite == sum(width * weight for width, weight in found.weights.items())
    for options in (figures.continuous(law), figures.by_levels(quantized_law(formula, q))):
        assert options["series"]


def test_a_default_budget_beyond_the_page_is_the_largest_of_the_page() -> None:
    """A g so small that even that splits nothing is refused in words."""
    assert default_budget("z**0.5/1000", 255) == LARGEST_BUDGET
    assert default_budget("0", 255) == 1
    for formula in ("z/10**400", "z**0.5/1e300", "z/100001"):
        with pytest.raises(ECMError, match="divide g by less"):
            default_budget(formula, 255)


@pytest.mark.parametrize("formula", ["z**0.5/2", "log(1+z)/2"])
def test_the_design_shown_is_the_design_of_the_library(formula: str) -> None:
    """Its eps, its splits over all pairs, and never above g."""
    metric, q, budget = ECM.from_expr(formula), 16, 40
    found, shown = metric.design(budget, q), design(formula, q, budget)
    assert shown.eps == found.eps_max
    assert shown.least == tuple((found.outcomes[0].least / budget).tolist())
    assert shown.g[shown.worst] - shown.least[shown.worst] == pytest.approx(shown.eps)
    assert all(a <= b <= g + 1e-12 for a, b, g in zip(shown.least, shown.most, shown.g, strict=True))
    assert shown.finite == found.outcomes[0].finite


@given(st.integers(1, 5000), st.integers(0, 1000), st.integers(0, 1000))
def test_the_votes_add_up(budget: int, top: int, second: int) -> None:
    """All votes are counted, the share of the predicted class is rounded down, and no other rival is stronger."""
    votes = counts(budget, top, second)
    assert sum(votes) == budget
    assert votes[1] == math.floor(Fraction(budget * top, 1000))
    assert max(votes[2:]) <= votes[0]


@settings(max_examples=40)
@given(
    st.sampled_from(["z**0.5/3", "z/2", "log(1+z)", "sign(z)/5", "z**0.35/2"]),
    st.integers(1, 90),
    st.integers(0, 1000),
    st.integers(0, 1000),
)
def test_radii_are_those_of_certify_on_such_votes(formula: str, budget: int, top: int, second: int) -> None:
    """Both certificates equal what `smoothing.certify` makes of an array of votes with those counts."""
    inputs = Inputs(formula, 4, budget, top=top, second=second, picture="digit")
    shown = radii(inputs, budget)
    metric = ECM.from_expr(formula)
    scheme = Scheme(metric.design(budget, 4, "periodic"), SHAPES["digit"])
    votes = np.repeat(np.arange(10), counts(budget, top, second)).astype(np.uint8)
    for name, ball in (("paper", shown.paper), ("integer", shown.integer)):
        real = certify(votes, None, scheme, classes=10, certificate=name)  # type: ignore[arg-type]
        if real.prediction != 1:
            assert ball.radius is None
            assert "Nothing is certified" in words.promise(shown)
            continue
        assert (ball.radius, ball.closed) == (real.radius, real.closed)
        assert ball.features == real.features()
        assert ball.lp == (None if metric.power() is None else real.lp_radius())
        printed = float(words.size(ball, shown))
        assert printed <= (float(real.radius or 0) if ball.lp is None else ball.lp)
    assert figures.radius(shown, top)["series"]


def test_the_picture_is_what_the_noise_gives() -> None:
    """Lower and upper ends are those of `smoothing.Noise` for the same scheme and samples."""
    inputs = Inputs("z**0.5/2", 16, 30, picture="digit", first=28)
    shown = seen(inputs, 30, "aperiodic")
    assert shown.samples == (28, 29, 0, 1)
    levels = picture("digit", 16)
    assert levels.shape == SHAPES["digit"]
    noise = Noise(Scheme(ECM.from_expr("z**0.5/2").design(30, 16), SHAPES["digit"]))
    lower, upper = noise.bounds(torch.from_numpy(levels)[None], shown.samples)
    assert np.array_equal(np.stack(shown.lower), lower[0].numpy())
    assert np.array_equal(np.stack(shown.upper), upper[0].numpy())
    assert png_address(shown.lower[0], 32).startswith("data:image/png;base64,")


def test_one_sample_is_shown_under_both_couplings_at_the_same_alpha() -> None:
    """Middles of bins in quarter-steps, by `smoothing.Noise`; hidden features are grey; both show a like number."""
    design, levels = ECM.from_expr("z**0.5/4").design(128, 16), picture("digit", 16)
    found = seen(Inputs("z**0.5/4", 16, 128, picture="digit", first=5), 128, "aperiodic")
    assert [name for name, *_ in found.compared] == ["independent", "spread"]
    for name, middles, shown in found.compared:
        scheme = Scheme(design, SHAPES["digit"], coupling=name)  # type: ignore[arg-type]
        lower, upper = (ends[0, 0].numpy() for ends in Noise(scheme).bounds(torch.from_numpy(levels)[None], [5]))
        hidden = (lower == 0) & (upper == 2 * 16)
        assert np.array_equal(middles, lower + upper)
        assert (middles[hidden] == 2 * 16).all()
        assert shown == (~hidden).mean()
        assert 0 < shown < 0.5  # about 1/4 of the features


def test_the_photograph_has_its_shape() -> None:
    """Three channels, all levels within 0..q."""
    levels = picture("flower", 255)
    assert levels.shape == SHAPES["flower"]
    assert 0 <= levels.min() < 30
    assert 220 < levels.max() <= 255


# ---- asking ----------------------------------------------------------------------------------------------------------


def test_a_worker_answers_fails_and_ends_what_is_slow() -> None:
    """After a failure and after a computation that was ended, it answers as before."""

    async def story() -> None:
        worker = Worker("math")
        try:
            assert await worker(30, math.sqrt, 4.0) == 2
            with pytest.raises(Failed, match="domain error"):
                await worker(30, math.sqrt, -1.0)
            with pytest.raises(TooSlow, match="stopped after"):
                await worker(0.2, time.sleep, 60)
            asking = asyncio.create_task(worker(30, time.sleep, 60))
            while not asking.done():
                worker.interrupt()
                await asyncio.sleep(0.05)
            with pytest.raises(Stopped):
                await asking
            worker.interrupt()  # nothing is computed: nothing is ended
            assert await worker(30, math.sqrt, 9.0) == 3
        finally:
            worker.close()

    asyncio.run(story())


def test_the_newest_question_wins() -> None:
    """An older one is dropped at its next step, and one that takes long is stopped."""
    seen_steps: list[tuple[str, int]] = []
    stopped: list[bool] = []

    async def steps(name: str) -> AsyncGenerator[None]:
        for k in range(3):
            seen_steps.append((name, k))
            await asyncio.sleep(0.02)
            yield

    async def story() -> None:
        latest = Latest[str](steps, patience=0.01, stop=lambda: stopped.append(True))
        latest.ask("first")
        await asyncio.sleep(0.03)
        latest.ask("second")
        latest.ask("third")
        assert latest.is_newest("third")
        await asyncio.sleep(0.3)
        latest.close()

    asyncio.run(story())
    assert {name for name, _ in seen_steps} == {"first", "third"}
    assert ("first", 2) not in seen_steps
    assert seen_steps[-3:] == [("third", 0), ("third", 1), ("third", 2)]
    assert stopped


def test_what_is_dropped_is_cleaned_up_before_the_next_begins() -> None:
    """Otherwise the old run would take away the new one's mark that it is busy."""
    events: list[str] = []

    async def steps(name: str) -> AsyncGenerator[None]:
        events.append(f"{name} begins")
        try:
            await asyncio.sleep(0.02)
            yield
            await asyncio.sleep(0.02)
        finally:
            events.append(f"{name} ends")

    async def story() -> None:
        latest = Latest[str](steps)
        latest.ask("first")
        await asyncio.sleep(0.01)
        latest.ask("second")
        await asyncio.sleep(0.2)

    asyncio.run(story())
    assert events == ["first begins", "first ends", "second begins", "second ends"]


class Here(Worker):
    """Computes in this process; the page cannot tell."""

    async def __call__(self, seconds: float, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0)
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            raise Failed(str(error)) from error


def test_the_page_follows_its_controls() -> None:
    """A formula, a refusal, a share of votes, a budget and the default again, without a browser."""
    pytest.importorskip("nicegui")
    from nicegui.testing import user_simulation

    from zoo.lab.page import Lab

    pages: list[Lab] = []

    async def story() -> None:
        async with user_simulation(lambda: pages.append(Lab(Here(), Here()))) as user:
            await user.open("/")
            page = pages[0].page

            async def until(what: Callable[[], bool]) -> None:
                for _ in range(200):
                    if what():
                        return
                    await asyncio.sleep(0.05)
                raise AssertionError(f"the page shows {page.badge.text}, {page.promise.content}")

            page.q.value = 16
            page.picture.value = "digit"
            await until(lambda: page.pictures.content.count("<img") == 9)
            assert page.coupling.content.count("<img") == 3
            assert page.badge.text == "An ECM, proven on all of [0, 1]"
            assert page.budget.value == library_default(ECM.from_expr("z**0.5/18"), 16)
            before = page.promise.content
            page.top.value = 95
            await until(lambda: page.promise.content != before)
            page.formula.value = "z**2/3"
            await until(lambda: page.badge.text == "Not an ECM")
            assert not page.accepted.visible
            assert page.refusal.visible
            page.mode.value = "power"
            await until(lambda: page.accepted.visible and page.formula.value == "z**0.5/18")
            page.budget.value = 50
            await until(lambda: "50" in page.cost.content and page.reset.visible)
            page.rate.value = 50
            await until(lambda: "1 s" in page.cost.content)

    asyncio.run(story())


class Slow(Here):
    """Too slow for the proof of z/7, the budget of z/9 and the picture of z/3; others wait for an interrupt."""

    async def __call__(self, seconds: float, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        formula = args[0].formula if isinstance(args[0], Inputs) else args[0]
        if (function, formula) in ((judge, "z/7"), (default_budget, "z/9"), (seen, "z/3")):
            raise TooSlow(f"stopped after {seconds:g} s")
        if function is judge and formula in ("z/5", Inputs().formula):
            self._interrupted = False
            while not self._interrupted:
                await asyncio.sleep(0.01)
            raise Stopped("made way for something newer")
        return await super().__call__(seconds, function, *args, **kwargs)

    def interrupt(self) -> None:
        self._interrupted = True


def test_numbers_of_another_formula_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when the proof takes too long, nor when a later step does; and a newer formula does not wait for it."""
    pytest.importorskip("nicegui")
    from nicegui.testing import user_simulation

    from zoo.lab import page as _page

    monkeypatch.setattr(_page, "PATIENCE", 0.05)
    pages: list[_page.Lab] = []

    async def story() -> None:
        async with user_simulation(lambda: pages.append(_page.Lab(Slow(), Slow()))) as user:
            await user.open("/")
            page = pages[0].page

            async def until(what: Callable[[], bool]) -> None:
                for _ in range(400):
                    if what():
                        return
                    await asyncio.sleep(0.05)
                raise AssertionError(f"the page shows {page.badge.text}, {page.trouble_text.text}")

            page.q.value, page.kind.value, page.picture.value = 4, "periodic", "digit"
            page.formula.value = "z/2"
            await until(lambda: bool(page.radius_tile.content) and "<img" in page.pictures.content)
            page.formula.value = "z/3"
            await until(lambda: "stopped after" in page.noise_note.content)
            assert not page.pictures.content
            page.formula.value = "z/7"
            await until(lambda: page.badge.text == "Undecided")
            assert not page.accepted.visible
            assert "z/7" in page.written.text
            page.formula.value = "z/9"
            await until(lambda: page.trouble.visible)
            assert "stopped after" in page.trouble_text.text
            assert not page.accepted.visible
            page.formula.value = "z/5"
            await asyncio.sleep(0.2)
            assert "stale" in page.accepted.classes
            page.formula.value = "z/4"
            await until(lambda: page.accepted.visible and "z/4" in page.written.text)

    asyncio.run(story())


# ---- the command -----------------------------------------------------------------------------------------------------


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2 and the line to type."""
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] == "nicegui" or name.startswith("zoo.lab.server")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("zoo.lab.page", "zoo.lab.display", "zoo.lab.layout"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "nicegui", None)
    done = CliRunner().invoke(app, ["lab", "--no-browser"])
    assert done.exit_code == 2
    assert 'pip install "ecm[lab]"' in done.stderr


def test_nobody_outside_can_ask() -> None:
    """It listens on 127.0.0.1 and nowhere else, refuses other hosts' names, and the port can be taken only once."""
    pytest.importorskip("nicegui")
    with running_lab() as port:
        if Path("/proc/net/tcp").exists():
            assert listening(port) == {"0100007F"}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        named = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": "example.org"})
        with pytest.raises(urllib.error.HTTPError, match="400"):
            opener.open(named)
        done = CliRunner().invoke(app, ["lab", "--no-browser", "--port", str(port)])
        assert done.exit_code == 2
        assert "choose another --port" in done.stderr
    options = {option for parameter in lab_options() for option in parameter}
    assert options == {"--port", "--browser"}


def listening(port: int) -> set[str]:
    """The local addresses, in the kernel's hexadecimal, on which something listens at that port."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        lines = Path(table).read_text().splitlines()[1:] if Path(table).exists() else []
        for fields in map(str.split, lines):
            address, at = fields[1].split(":")
            if int(at, 16) == port and fields[3] == "0A":
                found.add(address)
    return found


def lab_options() -> list[list[str]]:
    import typer

    command: Any = typer.main.get_command(app)
    return [parameter.opts for parameter in command.commands["lab"].params]
