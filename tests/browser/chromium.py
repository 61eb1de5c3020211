"""A headless Chromium that keeps what the pages said and asked for."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # Chromium refuses to run as root with it
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing outside can be reached, even by mistake
)


class Chromium:
    """One browser window: `open` a page, then ask for its `errors`, its `requests` and a `screenshot`.

    `driver` is selenium's WebDriver, for finding elements and pressing keys.
    """

    def __init__(self, profile: Path) -> None:
        webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium here: pip install selenium")
        program = _program("chromium", "chromium-browser", "google-chrome")
        driver = _program("chromedriver", "chromium.chromedriver")
        options = webdriver.ChromeOptions()
        options.binary_location = program
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.ChromeService(executable_path=driver)  # a path: selenium asks no server for a driver
        self.driver: Any = webdriver.Chrome(options=options, service=service)
        self.driver.set_page_load_timeout(150)  # a busy machine is not a broken page
        self.driver.set_script_timeout(60)
        self._messages: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []

    def open(self, url: str, width: int = 1400, height: int = 1000, *, dark: bool = False) -> Chromium:
        """Load a page in a window of that size (CSS pixels; 390 x 844 is a phone) and forget what came before."""
        self.driver.get("about:blank")
        self._collect()
        self._messages, self._events = [], []
        self.resize(width, height, dark=dark)
        self.driver.get(url)
        return self

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        """The window's size, and whether its user prefers dark pages."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def close(self) -> None:
        """End the browser and its driver."""
        self.driver.quit()

    def errors(self) -> list[str]:
        """What the console said at the level of an error since `open`: exceptions, failed loads, forbidden ones."""
        self._collect()
        return [entry["message"] for entry in self._messages if entry["level"] == "SEVERE"]

    def requests(self) -> list[str]:
        """The addresses asked for since `open`, sockets too; what the page carries in itself is not a request."""
        self._collect()
        found = []
        for event in self._events:
            if event["method"] == "Network.requestWillBeSent":
                found.append(event["params"]["request"]["url"])
            elif event["method"] == "Network.webSocketCreated":
                found.append(event["params"]["url"])
        return [url for url in found if urlsplit(url).scheme not in ("data", "blob", "about")]

    def outside(self) -> list[str]:
        """The requests that leave this machine: neither a file nor the loopback address."""
        return [
            url
            for url in self.requests()
            if urlsplit(url).scheme != "file" and urlsplit(url).hostname not in ("127.0.0.1", "localhost")
        ]

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window; 0 where nobody has to scroll sideways."""
        return self.run("const page = document.documentElement; return page.scrollWidth - page.clientWidth")

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns in the page; its arguments are `arguments[0]` and so on."""
        return self.driver.execute_script(script, *arguments)

    def screenshot(self, path: Path, *, full: bool = False) -> Path:
        """The window as a PNG at that path, or the whole page with `full`."""
        options: dict[str, Any] = {"format": "png", "captureBeyondViewport": full}
        if full:
            size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        path.write_bytes(base64.b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"]))
        return path

    def _collect(self) -> None:
        """The driver hands out each entry once, so they are kept here."""
        self._messages += self.driver.get_log("browser")
        self._events += [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]


def _program(*names: str) -> str:
    for name in names:
        if path := shutil.which(name):
            return path
    pytest.skip(
        f"no {names[0]} here, so no page was opened in a browser: `make test-browser` installs it on Debian "
        "(apt-get install chromium chromium-driver)"
    )
