"""Progress is told on stderr, with the time left, also where there is no terminal."""

from __future__ import annotations

import re

import pytest

from ecm.progress import ProgressBar


def test_a_log_gets_a_line_after_ten_seconds_and_then_rarely(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest at the speed so far; nothing on stdout, which belongs to results."""
    clock = iter([0.0, 20.0, 40.0, 60.0, 641.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with ProgressBar(100, "voting", show=True) as advance:
        for _ in range(4):
            advance(5)
    said = capsys.readouterr()
    assert said.err.splitlines() == ["voting: 5 of 100, 0:06:20 left", "voting: 20 of 100, 0:42:44 left"]
    assert not said.out


def test_nobody_is_told_what_nobody_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Without `show` there is silence."""
    with ProgressBar(1, "voting", show=False) as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")


def test_a_resumed_task_is_timed_by_what_this_session_did(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an earlier session did says nothing about the speed of this one."""
    clock = iter([0.0, 40.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    ProgressBar(300, "steps", done=100).at(120, "loss 1.000")
    assert capsys.readouterr().err.splitlines() == ["steps: 120 of 300, loss 1.000, 0:06:00 left"]


def test_what_is_for_a_terminal_alone_is_not_logged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal and without `log` there is silence, however long it takes."""
    clock = iter([0.0, 400.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock, 400.0))
    with ProgressBar(10, "design", log=False, after=1.0) as advance:
        advance(5)
    assert capsys.readouterr() == ("", "")


def test_in_a_narrow_window_the_bar_gets_shorter_and_the_numbers_stay_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """80 columns are enough for the longest line there is, the one of a training."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    with ProgressBar(1320, "steps on fashion_mnist") as progress:
        progress.at(1200, "loss 1.230, base accuracy 55.0%")
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", capsys.readouterr().err)
    last = [line.strip() for line in re.split(r"[\r\n]+", plain) if "1320" in line][-1]
    assert re.fullmatch(
        r"steps on fashion_mnist \S+ 1200/1320 loss 1\.230, base accuracy 55\.0%, 0:00:\d\d left", last
    ), last
    assert len(last) <= 80
