"""The lines of the console: what is said, how many lines there are, and where they may fail."""

import io
import os
from collections.abc import Iterator

import pytest

from contour.console.pacing import LINES, Pace
from contour.console.terminal import Terminal
from contour.console.wording import Effect, Known, line, problem
from contour.status.board import KEPT
from contour.status.rows import Row, Told
from crds.meta import ObjectRef

WEB = ObjectRef("HTTPProxy", "default", "web")
MISSING = Told("A/B: spec.x: no such thing", "error", "no such thing", "A", "B", "spec.x")
PLACED = Told("other", "error", "other", field="spec.y", file="web.yaml", line=7)
REMARK = Told("no endpoints", "info", "no endpoints")
FAST = Effect(0.004)
GOOD, BAD = Row(WEB, "ok", "valid"), Row(WEB, "error", "invalid", (MISSING,))
WORSE = Row(WEB, "error", "invalid", (REMARK, MISSING, PLACED))
WAS_GOOD = Known("ok", frozenset())
WAS_BAD = Known("error", frozenset({MISSING.text}))
WAS_WORSE = Known("error", frozenset({MISSING.text, PLACED.text}))


@pytest.mark.parametrize(
    ("row", "before", "effect", "told"),
    [
        (GOOD, None, FAST, ("new", "HTTPProxy default/web (in Envoy after 4 ms)")),
        (GOOD, WAS_GOOD, FAST, ("changed", "HTTPProxy default/web changed (in Envoy after 4 ms)")),
        (GOOD, WAS_GOOD, Effect(1.26),
         ("changed", "HTTPProxy default/web changed (in Envoy after 1.3 s)")),
        (GOOD, WAS_GOOD, Effect(0.1, is_any=False),
         ("changed", "HTTPProxy default/web changed (no effect on Envoy)")),
        (GOOD, WAS_GOOD, Effect(0.1, is_any=False, is_for_nodes=True),
         ("changed", "HTTPProxy default/web changed (for Envoys of node IDs)")),
        (GOOD, WAS_GOOD, Effect(None),
         ("changed", "HTTPProxy default/web changed (Envoy does not have it yet)")),
        (GOOD, WAS_GOOD, None, None),
        (GOOD, WAS_BAD, FAST,
         ("good", "HTTPProxy default/web is valid again (in Envoy after 4 ms)")),
        (GOOD, WAS_BAD, None, ("good", "HTTPProxy default/web is valid again")),
        (BAD, WAS_GOOD, FAST, ("bad", "HTTPProxy default/web: spec.x: no such thing")),
        (BAD, WAS_BAD, None, None),
        (BAD, WAS_WORSE, None, ("changed", "HTTPProxy default/web: 1 of 2 problems left")),
        (WORSE, None, FAST,
         ("bad", "HTTPProxy default/web: spec.x: no such thing (and 2 more)")),
        (WORSE, WAS_BAD, None,
         ("bad", "HTTPProxy default/web: spec.y: other [web.yaml:7] (and 1 more)")),
        (Row(WEB, "ok", "valid", (REMARK,)), WAS_GOOD, None,
         ("note", "HTTPProxy default/web: no endpoints")),
        (GOOD, Known("ok", frozenset({REMARK.text})), None,
         ("good", "HTTPProxy default/web has all that it needs again")),
        (Row(WEB, "error", KEPT, (MISSING,)), WAS_GOOD, FAST,
         ("bad", "HTTPProxy default/web: spec.x: no such thing; its last good version stays")),
    ],
)  # fmt: skip
def test_what_is_said_of_an_object(
    row: Row, before: Known | None, effect: Effect | None, told: tuple[str, str] | None
) -> None:
    assert line(row, before, effect) == told


def test_a_file_has_its_path_as_its_name() -> None:
    row = Row(ObjectRef("File", "", "a.yaml"), "error", "", (MISSING,))
    assert problem(row)[1].startswith("a.yaml: ")


def test_lines_of_a_second_are_bounded_and_the_rest_is_counted() -> None:
    pace = Pace()
    said = sum(pace.admits("bad" if n % 2 else "changed", 10 + n / 1000) for n in range(99))
    assert said == LINES - 1
    assert pace.due == 11
    assert pace.summary(11) == (
        "and 80 more: 40 with problems, 40 changed (contour status shows all)"
    )
    assert pace.due is None
    # The line with the counts is one of the next second.
    assert sum(pace.admits("new", 11.1) for _ in range(99)) == LINES - 2
    assert pace.admits("new", 11.2) is False


def test_what_comes_slowly_is_all_said() -> None:
    pace = Pace()
    assert all(pace.admits("new", n / 10) for n in range(100))


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("utf-8", "✗ caf\xe9 a b\n"), ("ascii", "x caf\\xe9 a b\n"), ("latin-1", "x caf\xe9 a b\n")],
)
def test_a_terminal_is_told_what_it_can_show(encoding: str, shown: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    Terminal(stream, is_coloured=False).say("bad", "caf\xe9\x1ba\nb")
    assert raw.getvalue().decode(encoding) == shown


class _Broken(io.StringIO):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def write(self, _: str) -> int:
        raise self._error


def _streams() -> Iterator[io.StringIO | None]:
    yield None
    yield _Broken(OSError(28, os.strerror(28)))
    yield _Broken(BrokenPipeError())
    closed = io.StringIO()
    closed.close()
    yield closed


@pytest.mark.parametrize("stream", list(_streams()), ids=["none", "full", "gone", "closed"])
def test_what_cannot_be_written_is_lost_and_nothing_else(stream: io.StringIO | None) -> None:
    Terminal(stream).say("bad", "no")


def test_colours_are_for_terminals_that_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tty(io.StringIO):
        def isatty(self) -> bool:
            return True

    def said() -> str:
        stream = Tty()
        Terminal(stream).say("bad", "no")
        return stream.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[31m" in said()
    for name, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
        assert "\x1b" not in said()
        monkeypatch.delenv(name)
