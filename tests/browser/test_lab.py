"""`ecm lab` in a real browser: it draws, asks for nothing outside, and follows its controls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from ecm import ECM
from tests.browser.chromium import Chromium
from tests.zoo.running_lab import running_lab
from zoo.lab import sentences as words
from zoo.lab.results import Inputs, default_budget, radii

_ALL = "return document.querySelector('main').innerText"
WIDE, PHONE = (1400, 1000), (390, 844)


@pytest.fixture(scope="module")
def lab(browser: Chromium) -> Iterator[str]:
    """The address of a running lab; without a browser none is started."""
    pytest.importorskip("nicegui", reason='no NiceGUI here: pip install "ecm[lab]"')
    with running_lab() as port:
        yield f"http://127.0.0.1:{port}/"


def until(browser: Chromium, condition: str, *arguments: Any, seconds: float = 120) -> None:
    """Wait for a condition in the page."""
    end = time.monotonic() + seconds
    while not browser.run(f"return {condition}", *arguments):
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s the page is not yet: {condition} {arguments}\n{browser.run(_ALL)}")
        time.sleep(0.1)


def part(browser: Chromium, selector: str) -> Any:
    return browser.driver.find_element("css selector", selector)


def text(browser: Chromium, name: str) -> str:
    return str(browser.run("return document.querySelector(`[data-testid=${arguments[0]}]`).innerText", name))


def says(browser: Chromium, name: str, wanted: str) -> None:
    """Wait until a part of the page contains a text."""
    until(
        browser,
        "document.querySelector(`[data-testid=${arguments[0]}]`).innerText.includes(arguments[1])",
        name,
        wanted,
    )


def drawn(browser: Chromium) -> None:
    """Wait until pictures and charts are there."""
    until(browser, "document.querySelectorAll('[data-testid=pictures] img').length == 9")
    until(browser, "document.querySelectorAll('.busy').length == 0")
    until(browser, "document.querySelector('[data-testid=levels-chart] path')")


def type_formula(browser: Chromium, formula: str) -> None:
    from selenium.webdriver.common.keys import Keys

    field = part(browser, "[data-testid=formula]")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(formula)


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_page_draws_and_asks_for_nothing_outside(browser: Chromium, lab: str, size: tuple[int, int]) -> None:
    """No error in the console, no request but to 127.0.0.1, no scrolling sideways, charts as wide as their place."""
    browser.open(lab, *size)
    drawn(browser)
    assert browser.errors() == []
    assert browser.outside() == []
    assert any(url.startswith("ws://127.0.0.1") for url in browser.requests())
    assert browser.overflow() == 0
    widths = "[...document.querySelectorAll('.chart')].filter(c => c.offsetWidth).map(c => [c, c.querySelector('svg')])"
    until(browser, f"{widths}.every(([c, s]) => s && s.clientWidth == c.offsetWidth)")
    assert browser.run(f"return {widths}.length") == 5


def test_a_formula_changes_the_proof_and_the_law(browser: Chromium, lab: str) -> None:
    """Typed, not sent: the page follows by itself."""
    browser.open(lab, *WIDE)
    drawn(browser)
    assert "1/(72*sqrt(z))" in text(browser, "law")
    type_formula(browser, "log(1+z)/8")
    says(browser, "why", "log(2)/8")
    says(browser, "law", ECM.from_expr("log(1+z)/8").law().to_dict()["densities"][0]["formula"])
    drawn(browser)
    assert browser.errors() == []


def test_a_bad_formula_is_explained_on_the_page(browser: Chromium, lab: str) -> None:
    """A refusal with its chart, an unreadable text with its place; a good formula brings the rest back."""
    browser.open(lab, *WIDE)
    drawn(browser)
    type_formula(browser, "z**2/3")
    says(browser, "badge", "Not an ECM")
    assert "the middle value lies below the chord" in text(browser, "why")
    assert "The triangle inequality fails" in text(browser, "why")
    until(browser, "document.querySelector('[data-testid=refusal] path')")
    assert not part(browser, "[data-testid=promise]").is_displayed()
    type_formula(browser, "foo(z)")
    says(browser, "badge", "Not a formula")
    assert "unknown function 'foo'" in text(browser, "why")
    part(browser, ".chips button:nth-child(2)").click()
    says(browser, "badge", "An ECM")
    assert part(browser, "[data-testid=promise]").is_displayed()
    assert browser.errors() == []


def test_sliders_change_radius_formula_and_cost(browser: Chromium, lab: str) -> None:
    """Votes move the radius, p moves the formula, the budget moves the cost and finds back to its default."""
    from selenium.webdriver import ActionChains

    def click(name: str, share: float) -> None:
        slider = part(browser, f"[data-testid={name}]")
        browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", slider)
        away = round((share - 0.5) * slider.size["width"])
        ActionChains(browser.driver).move_to_element_with_offset(slider, away, 0).click().perform()

    def promise(inputs: Inputs) -> str:
        found = radii(inputs, default_budget(inputs.formula, inputs.q))
        return f"distance {words.size(found.integer, found)} of this one"

    browser.open(lab, *WIDE)
    drawn(browser)
    assert promise(Inputs()) in text(browser, "promise")
    click("top", 0.3)
    says(browser, "promise", "Nothing is certified")
    click("top", 0.9)
    until(browser, "document.querySelector('[data-testid=top]').ariaValueNow > 80")
    top = round(10 * float(browser.run("return document.querySelector('[data-testid=top]').ariaValueNow")))
    says(browser, "promise", promise(Inputs(top=top)))
    part(browser, "[data-testid=mode] button:nth-child(2)").click()
    click("p", 0.985)
    until(browser, "document.querySelector('[data-testid=formula]').value == 'z/18'")
    says(browser, "promise", promise(Inputs("z/18", top=top)))
    click("budget-slider", 0.5)
    says(browser, "cost", "316")
    until(browser, "document.querySelector('[data-testid=reset]').offsetWidth > 0")
    part(browser, "[data-testid=reset]").click()
    says(browser, "cost", "4,590")
    assert browser.errors() == []
    assert browser.outside() == []
