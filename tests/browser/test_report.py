"""The report in a real browser: quiet, complete in itself, and its controls say what the run found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium
from tests.zoo.tiny import tiny_data, tiny_model
from zoo import Certification, certify, read_certification, report
from zoo.models import find_model

SIZES = {"desk": (1400, 1000), "phone": (390, 844)}


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the shipped digits model, from the votes that came with it."""
    return report("digits-l0.5-a4", tmp_path_factory.mktemp("digits") / "report.html")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with wrong predictions."""
    model = tiny_model(tmp_path_factory.mktemp("tiny") / "model")
    certify(model, tiny_data(), progress=False)
    return report(model.path, data=tiny_data())


@pytest.fixture
def without_scripts(browser: Chromium) -> Iterator[None]:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    yield
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def move(browser: Chromium, stop: int, which: int = 0) -> None:
    """Drag one of the sliders to a stop."""
    browser.run(
        "const slider = document.querySelectorAll('input[type=range]')[arguments[1]];"
        "slider.value = arguments[0]; slider.dispatchEvent(new Event('input'))",
        stop,
        which,
    )


def shown(browser: Chromium, name: str) -> str:
    """What the page writes under that name, the same in every place."""
    texts = browser.run(
        "return [...document.querySelectorAll(`[data-show='${arguments[0]}']`)].map(e => e.textContent)", name
    )
    assert len(set(texts)) == 1
    return texts[0]


def visible(browser: Chromium, css: str) -> int:
    return sum(element.is_displayed() for element in browser.driver.find_elements("css selector", css))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page_is_quiet_and_fits(browser: Chromium, digits: Path, tmp_path: Path, size: str, dark: bool) -> None:
    """No error, no request but for the page itself, nothing to scroll sideways for, every picture drawn."""
    browser.open(digits.as_uri(), *SIZES[size], dark=dark)
    assert browser.errors() == []
    assert browser.requests() == [digits.as_uri()]
    assert browser.overflow() == 0
    assert browser.run("return [...document.images].every(image => image.naturalWidth > 0)")
    assert browser.screenshot(tmp_path / "page.png", full=True).stat().st_size > 50_000


@pytest.mark.parametrize("name", ["digits", "tiny"])
def test_the_slider_says_what_the_run_found(browser: Chromium, request: pytest.FixtureRequest, name: str) -> None:
    """At every radius of the table the slider's accuracies are the table's, for all three certificates."""
    page = request.getfixturevalue(name)
    found: Certification = read_certification(find_model("digits-l0.5-a4") if name == "digits" else page.parent)
    browser.open(page.as_uri())
    step = float(browser.run("return document.getElementById('explore').dataset.step"))
    end = float(browser.run("return document.getElementById('explore').dataset.end"))
    for radius in found.radii:
        move(browser, round(float(radius) / step))
        if radius > end:  # the slider ends where the curves do, with the table's zero
            assert all(found.certified_accuracy(radius, method).correct == 0 for method in found.methods)
        else:
            assert float(shown(browser, "radius")) == float(radius)
        for method in found.methods:
            accuracy = found.certified_accuracy(radius, method)
            assert shown(browser, method) == f"{100 * accuracy.share:.1f}%"
            assert shown(browser, f"{method}-images") == f"{accuracy.correct} of {found.images}"


@pytest.mark.parametrize("size", SIZES)
def test_the_line_in_the_chart_follows(browser: Chromium, digits: Path, size: str) -> None:
    """By slider, by key and by a click in the chart, and it stands above the slider's thumb."""
    from selenium.webdriver import ActionChains, Keys

    browser.open(digits.as_uri(), *SIZES[size])
    slider = browser.driver.find_element("css selector", "#plot input")
    place = "return document.getElementById('cursor').getBoundingClientRect().x"
    before = browser.run(place)
    slider.send_keys(Keys.ARROW_RIGHT * 5)
    assert browser.run(place) > before
    assert "% certified" in slider.get_attribute("aria-valuetext")
    for stop in (0, 100, int(slider.get_attribute("max"))):
        move(browser, stop)
        ends = browser.run(
            "const box = document.querySelector('#plot input').getBoundingClientRect(); return box.toJSON()"
        )
        thumb = ends["x"] + 9 + (ends["width"] - 18) * stop / int(slider.get_attribute("max"))
        assert abs(browser.run(place) - thumb) < 3
    picture = browser.driver.find_element("css selector", "#area img")
    ActionChains(browser.driver).move_to_element(picture).click().perform()
    middle = browser.run("const box = arguments[0].getBoundingClientRect(); return box.x + box.width / 2", picture)
    assert abs(browser.run(place) - middle) < 3


def test_pictures_can_be_chosen(browser: Chromium, tiny: Path) -> None:
    """By right and wrong; those that the radius does not cover are faded."""
    browser.open(tiny.as_uri())
    count = {kind: visible(browser, ".gallery figure") for kind in ("all", "right", "wrong") if _choose(browser, kind)}
    wrong = sum(not row.correct for row in read_certification(tiny.parent).rows)
    assert count == {"all": 20, "right": 20 - wrong, "wrong": wrong}
    assert wrong > 0
    faded = []
    for stop in (0, 10**6):
        move(browser, stop, which=1)
        faded.append(len(browser.driver.find_elements("css selector", ".gallery .lost")))
        assert shown(browser, "kept") == str(20 - faded[-1])
    assert faded[0] < faded[1] == 20


def _choose(browser: Chromium, kind: str) -> bool:
    browser.driver.find_element("css selector", f"input[value={kind}]").click()
    return True


def test_words_explain_themselves_to_keys_too(browser: Chromium, digits: Path) -> None:
    """Tab reaches a term, Enter opens its meaning beside it, Escape closes it; no script takes part."""
    from selenium.webdriver import Keys

    browser.open(digits.as_uri())
    body = browser.driver.find_element("css selector", "body")
    body.send_keys(Keys.TAB)
    first = browser.driver.switch_to.active_element
    assert first.text == "base accuracy"
    assert visible(browser, "[popover]") == 0
    first.send_keys(Keys.ENTER)
    assert visible(browser, "#term-base") == 1
    meaning = browser.driver.find_element("id", "term-base")
    assert "single votes" in meaning.text
    assert abs(meaning.rect["y"] - first.rect["y"]) < 120
    first.send_keys(Keys.ESCAPE)
    assert visible(browser, "[popover]") == 0


def test_every_chart_opens_its_numbers(browser: Chromium, digits: Path) -> None:
    """Each summary opens a table with rows; links within the page lead somewhere."""
    browser.open(digits.as_uri())
    for details in browser.driver.find_elements("css selector", "details"):
        details.find_element("css selector", "summary").click()
        assert len(details.find_elements("css selector", "tr")) > 2
        assert details.find_element("css selector", "td").is_displayed()
    for link in browser.driver.find_elements("css selector", "nav a"):
        link.click()
        name = link.get_attribute("href").partition("#")[2]
        assert browser.driver.find_element("id", name).is_displayed()
    assert browser.errors() == []


@pytest.mark.usefixtures("without_scripts")
def test_without_scripts_nothing_is_missing_but_the_slider(browser: Chromium, digits: Path) -> None:
    """The table stays, and no control is shown that would do nothing."""
    browser.open(digits.as_uri())
    assert visible(browser, "input[type=range]") == 0
    assert visible(browser, "#cursor") == 0
    assert visible(browser, "td.best") > 5


def test_a_smuggled_script_does_not_run(browser: Chromium, digits: Path, tmp_path: Path) -> None:
    """The page's policy allows its own script alone, whatever a name may have brought in."""
    page = tmp_path / "evil.html"
    page.write_text(digits.read_text().replace("</h1>", "</h1><script>window.smuggled = 1</script>"))
    browser.open(page.as_uri())
    assert browser.run("return window.smuggled === undefined")
    assert any("Content Security Policy" in message for message in browser.errors())
