"""Progress is told on stderr, with the time left, also where there is no terminal."""

from __future__ import annotations

import pytest

from smoothing.votes.progress import progress_bar


def test_a_log_gets_a_line_after_ten_seconds_and_then_rarely(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest at the speed so far; nothing on stdout, which belongs to results."""
    clock = iter([0.0, 20.0, 40.0, 60.0, 641.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with progress_bar(100, "voting", show=True) as advance:
        for _ in range(4):
            advance(5)
    said = capsys.readouterr()
    assert said.err.splitlines() == ["voting: 5 of 100, 0:06:20 left", "voting: 20 of 100, 0:42:44 left"]
    assert not said.out


def test_nobody_is_told_what_nobody_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Without `show` there is silence."""
    with progress_bar(1, "voting", show=False) as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")
