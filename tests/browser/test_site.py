"""The documentation in a real browser, opened from a folder as well as from a server."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; where it lies is the only thing it does not share with `make docs`."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    return folder


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(site: Path) -> Iterator[str]:
    """The address of a server of the site on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site))) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


def test_all_pages_are_quiet_and_fit(browser: Chromium, site: Path) -> None:
    """No error, no outside request, no sideways scrolling on a phone, and every picture is there."""
    pages = [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]
    assert len(pages) > 15
    for page in pages:
        browser.open(page.as_uri(), 390, 844)
        assert (page.name, browser.errors(), browser.outside()) == (page.name, [], [])
        assert (page.name, browser.overflow()) == (page.name, 0)
        assert browser.run("return [...document.images].every(image => image.naturalWidth > 0)"), page.name


@pytest.mark.parametrize("place", ["folder", "server"])
def test_the_search_finds(browser: Chromium, site: Path, place: str, request: pytest.FixtureRequest) -> None:
    """A word of the theory leads to the theory, without a network."""
    from selenium.webdriver.support.ui import WebDriverWait

    start = site.as_uri() if place == "folder" else request.getfixturevalue("server")
    browser.open(f"{start}/index.html")
    browser.driver.find_element("css selector", ".md-search__input").send_keys("pseudometric")
    results = WebDriverWait(browser.driver, 30).until(
        lambda driver: driver.find_elements("css selector", ".md-search-result__link")
    )
    assert any("theory.html" in str(link.get_attribute("href")) for link in results)
    assert browser.errors() == []
    assert browser.outside() == []


def test_formulas_are_set(browser: Chromium, site: Path) -> None:
    """Indices and powers of the prose are drawn as such; code keeps its underscores."""
    browser.open((site / "theory.html").as_uri())
    prose = browser.run("return [...document.querySelectorAll('.md-content p, .md-content li')].map(e => e.innerHTML)")
    text = "\n".join(prose)
    assert "n<sub>c</sub> − n<sub>k</sub>" in text
    assert "(αr)<sup>1/p</sup>" in text
    assert "ℓ_p" not in text
    browser.open((site / "api" / "smoothing.html").as_uri())
    assert "vote_aware" in browser.run("return document.body.textContent")


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_as_dark_as_the_reader_wants(browser: Chromium, site: Path, dark: bool) -> None:
    """Dark where the system is dark, and a switch that is reached by keys."""
    browser.open((site / "index.html").as_uri(), dark=dark)
    color = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(int(c) for c in color[4:-1].split(",")) < 300) is dark
    assert browser.run("return document.querySelectorAll('[data-md-component=palette] input').length") == 3
