"""What a command that takes long says on a terminal, and that it says nothing elsewhere."""

import io
import threading

import pytest

from contour.cli import waiting
from tests.testbed.processes import wait


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


def test_what_is_done_is_shown_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with waiting.shown("evaluating 3 objects", patience=0):
        wait(lambda: "evaluating 3 objects ... 0 s" in terminal.getvalue(), "the line")
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("stream", "term", "patience"),
    [(io.StringIO(), "xterm", 0), (Terminal(), "dumb", 0), (Terminal(), "xterm", 60)],
    ids=["no terminal", "dumb", "soon done"],
)
def test_nothing_is_shown_where_nobody_waits(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, term: str, patience: float
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stderr", stream)
    before = threading.active_count()
    with waiting.shown("work", patience):
        threading.Event().wait(0.01)
    assert stream.getvalue() == ""
    assert threading.active_count() == before
