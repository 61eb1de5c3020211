"""The contract that users inherit, on metrics of every kind: formulas, tables, steps, groups, zero components."""

from __future__ import annotations

import subprocess
import sys

from ecm import ECM
from ecm.verification.contract import MetricContract


class TestRoot(MetricContract):
    """l_1/2, the paper's metric."""

    metric = ECM.lp("1/2", 3)


class TestCubeRoot(MetricContract):
    """l_1/3."""

    metric = ECM.lp("1/3", 2)


class TestL1(MetricContract):
    """The fixed-Lambda method."""

    metric = ECM.l1(2)
    budget = 32


class TestL0(MetricContract):
    """A step at 0."""

    metric = ECM.l0(5)


class TestCapped(MetricContract):
    """alpha < 1, with a kink."""

    metric = ECM.lp("1/2", "1/2")


class TestLog(MetricContract):
    """A saturating formula without rational values."""

    metric = ECM.log1p(5, 2)


class TestTable(MetricContract):
    """Known on a grid only."""

    metric = ECM.from_values(["0", "3/10", "1/2", "3/5", "3/5"])
    budget = 40


class TestGroups(MetricContract):
    """A metric a channel, one of them zero."""

    metric = ECM.grouped([ECM.lp("1/2", 2), ECM.from_expr("0"), ECM.l0(2)])
    q = 8


def test_without_pytest_the_import_says_what_to_install() -> None:
    """pytest is no dependency of the package."""
    code = "import sys; sys.modules['pytest'] = None; import ecm.verification.contract"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install pytest" in run.stderr.splitlines()[-1]
