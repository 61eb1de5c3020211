"""A real browser for the pages that are made here; without one these tests are skipped and say what is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One headless Chromium a process; each test opens its pages in the same window."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "localhost,127.0.0.1")  # the driver is on this machine, whatever the proxy
        patch.setenv("no_proxy", "localhost,127.0.0.1")
        window = Chromium(tmp_path_factory.mktemp("chromium"))
        try:
            yield window
        finally:
            window.close()
