"""What a verification run finds: one finding a property, saying how it was established and on how many cases."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Literal, TypeVar

import attrs

from ecm.errors import ECMError

How = Literal[
    "symbolic proof", "rigorous bounds", "exact check", "exhaustive", "Hypothesis", "attack", "numeric", "not checked"
]
S = TypeVar("S")


class Counterexample(Exception):
    """A property fails; the text is the smallest case known, ready to paste.

    >>> def small(q):
    ...     raise Counterexample(f"q = {q}")
    >>> [(f.passed, f.counterexample) for f in run_checks([Check("mine", "q is small", small)], 9)]
    [(False, 'q = 9')]
    """


@attrs.frozen
class Evidence:
    """How a property was established: the method, the number of cases, a word of detail.

    >>> Evidence("exhaustive", 256, "every level")
    Evidence(how='exhaustive', cases=256, note='every level')
    """

    how: How
    cases: int = 1
    note: str = ""


@attrs.frozen
class Check(Generic[S]):
    """A property of one layer and the function that establishes it, or raises `Counterexample`.

    >>> even = Check("mine", "q is even", lambda q: Evidence("exact check"))
    >>> [(f.claim, f.status) for f in run_checks([even], 8)]
    [('q is even', 'ok')]
    """

    layer: str
    claim: str
    run: Callable[[S], Evidence]


@attrs.frozen
class Finding:
    """The result of one check. `passed` is None where nothing was checked, and the note says why.

    >>> Finding("metric", "g(0) = 0", "not checked", 0, 0.0, None, "left out").status
    'open'
    """

    layer: str
    claim: str
    how: How
    cases: int
    seconds: float
    passed: bool | None
    note: str = ""
    counterexample: str = ""

    @property
    def status(self) -> str:
        """ok, FAILED or open."""
        return {True: "ok", False: "FAILED", None: "open"}[self.passed]


@attrs.frozen
class Report:
    """All findings of a run, in the order of the layers.

    >>> Report("z", {}, (Finding("metric", "g(0) = 0", "exact check", 1, 0.0, True),)).passed
    True
    """

    metric: str
    settings: dict[str, Any]
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """No property failed, and at least one was established."""
        return all(f.passed is not False for f in self.findings) and any(f.passed for f in self.findings)

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that failed."""
        return tuple(f for f in self.findings if f.passed is False)

    def to_json(self) -> str:
        """Return the report as data."""
        data = attrs.asdict(self) | {"passed": self.passed}
        return json.dumps(data, indent=1)

    def __str__(self) -> str:
        lines = [f"verification of {self.metric}: {'passed' if self.passed else 'FAILED'}"]
        for f in self.findings:
            lines.append(
                f"  {f.status:6} {f.layer:12} {f.claim}  [{f.how}, {f.cases} cases, {f.seconds:.2f} s] {f.note}"
            )
            if f.counterexample:
                lines.append(f"         counterexample: {f.counterexample}")
        return "\n".join(lines)


def run_checks(
    checks: Iterable[Check[S]],
    setting: S,
    deadline: float = float("inf"),
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Finding]:
    """Run the checks in order; an unexpected exception is a failure too, never a pass.

    `deadline` is a `time.monotonic()` value; checks that would start after it are reported as not checked.
    """
    for check in checks:
        progress(f"{check.layer}: {check.claim}")
        start = time.monotonic()
        if start > deadline:
            yield Finding(check.layer, check.claim, "not checked", 0, 0.0, None, "the time given was used up")
            continue
        try:
            evidence = check.run(setting)
        except (Counterexample, ECMError) as found:  # the library's own refusal names the case as well
            spent = time.monotonic() - start
            yield Finding(check.layer, check.claim, "exact check", 0, spent, False, "", str(found))
        except Exception as error:  # a crash of the code under test must show as a failure of the run
            spent = time.monotonic() - start
            yield Finding(
                check.layer, check.claim, "exact check", 0, spent, False, "the check itself broke", repr(error)
            )
        else:
            spent = time.monotonic() - start
            passed = None if evidence.how == "not checked" else True
            yield Finding(check.layer, check.claim, evidence.how, evidence.cases, spent, passed, evidence.note)
