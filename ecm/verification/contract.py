"""A test class to inherit: all properties of a metric as pytest tests.

    from ecm import ECM
    from ecm.verification.contract import MetricContract

    class TestMyMetric(MetricContract):
        metric = ECM.from_expr("Min(3*z, 1)/18")

Every check that `ecm verify` runs becomes one test, named by its property; a failing one shows the counterexample.
"""

from __future__ import annotations

from typing import ClassVar

try:
    import pytest
except ModuleNotFoundError as error:
    raise ImportError(
        "ecm.verification.contract makes tests for pytest, which is not installed here: pip install pytest"
    ) from error

from ecm.elementwise import ECM
from ecm.verification.checks import Setting, all_checks
from ecm.verification.report import Check, run_checks

__all__ = ["MetricContract"]


class MetricContract:
    """Inherit and set `metric`; `q`, `budget`, `examples` and `seed` have defaults that keep a test below a second.

    >>> class TestMine(MetricContract):  # pytest runs one test a property
    ...     metric = ECM.from_expr("Min(3*z, 1)/18")
    >>> len(TestMine.test_property.pytestmark[0].args[1]) == len(list(all_checks()))
    True
    """

    metric: ClassVar[ECM]
    q: ClassVar[int | None] = None
    budget: ClassVar[int | None] = None
    examples: ClassVar[int] = 30
    seed: ClassVar[int] = 0

    @pytest.fixture(scope="class")
    @classmethod
    def setting(cls) -> Setting:
        """Return what all tests of the class share: the metric's allocation and design are made once."""
        from ecm.design import default_budget

        q = cls.q if cls.q is not None else (cls.metric.grid or 16)
        budget = cls.budget if cls.budget is not None else default_budget(cls.metric, q)
        return Setting(cls.metric, q, budget, cls.examples, cls.seed, quick=False)

    @pytest.mark.parametrize("check", [pytest.param(check, id=check.claim) for check in all_checks()])
    def test_property(self, check: Check[Setting], setting: Setting) -> None:
        """The property holds, or its counterexample is shown."""
        (finding,) = run_checks([check], setting)
        if finding.passed is None:
            pytest.skip(finding.note)
        assert finding.passed, finding.counterexample
