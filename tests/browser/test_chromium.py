"""The browser sees what it is there to see: errors, requests, sizes, colours; otherwise a green page says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import chromium
from tests.browser.chromium import Chromium


def _page(folder: Path, body: str) -> str:
    path = folder / "page.html"
    head = '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">'
    path.write_text(f"<!doctype html>{head}<title>page</title><body>{body}")
    return path.as_uri()


def test_a_quiet_page_is_quiet(browser: Chromium, tmp_path: Path) -> None:
    """One request, of the page itself; and the window has the size that was asked for."""
    url = _page(tmp_path, "<h1>hello</h1>")
    browser.open(url, 390, 844)
    assert browser.errors() == []
    assert browser.requests() == [url]
    assert browser.outside() == []
    assert browser.run("return [innerWidth, innerHeight]") == [390, 844]
    assert browser.overflow() == 0


def test_errors_are_seen_and_forgotten(browser: Chromium, tmp_path: Path) -> None:
    """An exception of a script is an error of its page, not of the next one."""
    browser.open(_page(tmp_path, "<script>missing()</script>"))
    assert len(browser.errors()) == 1
    assert "missing is not defined" in browser.errors()[0]
    browser.open(_page(tmp_path, ""))
    assert browser.errors() == []


def test_outside_requests_are_seen_and_fail(browser: Chromium, tmp_path: Path) -> None:
    """A picture from elsewhere is named, and cannot be loaded."""
    browser.open(_page(tmp_path, '<img src="http://example.org/a.png"><div style="width: 5000px">wide</div>'))
    assert browser.outside() == ["http://example.org/a.png"]
    assert len(browser.errors()) == 1
    assert browser.overflow() > 3000


def test_screenshots_show_the_window_or_the_page(browser: Chromium, tmp_path: Path) -> None:
    """Sizes in pixels; a dark window is dark."""
    from PIL import Image

    style = "<style>body { margin: 0; color-scheme: light dark } div { height: 3000px }</style><div></div>"
    browser.open(_page(tmp_path, style), 500, 400)
    assert Image.open(browser.screenshot(tmp_path / "window.png")).size == (500, 400)
    with Image.open(browser.screenshot(tmp_path / "page.png", full=True)) as light:
        assert light.size == (500, 3000)
        assert light.convert("L").getpixel((250, 200)) > 200
    browser.resize(500, 400, dark=True)
    assert browser.run("return matchMedia('(prefers-color-scheme: dark)').matches")


def test_without_a_browser_the_tests_say_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Skipped, with the program's name and the command that installs it."""
    pytest.importorskip("selenium")
    monkeypatch.setattr(chromium.shutil, "which", lambda name: None)
    with pytest.raises(pytest.skip.Exception, match=r"no chromium here.*make test-browser"):
        Chromium(tmp_path)
