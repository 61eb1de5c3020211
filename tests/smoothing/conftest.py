"""One thread a test: threads of tests that run side by side would wait for each other at every operation."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)
