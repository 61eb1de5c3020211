"""What all tests share: designs are cached in a folder of the test run, never in the user's."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["ECM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
