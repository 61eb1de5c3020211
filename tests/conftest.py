"""What all tests share: a cache of their own for designs, and Hypothesis without clocks (times are benchmarks)."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ecm", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("ecm")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["ECM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
