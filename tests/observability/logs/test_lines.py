"""A record is one line, whatever a tenant wrote into it, and shows no secret."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from crds.meta import NamespacedName, ObjectRef
from observability import logs
from observability.logs import lines, repeats

FORMATS = [lines.Json(), lines.Text()]


def record(text: str, *arguments: Any, **more: Any) -> logging.LogRecord:
    made = logging.makeLogRecord(
        {"name": "contour.test", "levelno": 30, "levelname": "WARNING", "created": 1.5}
    )
    made.msg, made.args = text, arguments
    vars(made).update(more)
    return made


def test_a_json_line_holds_time_level_logger_message_and_fields() -> None:
    ref = ObjectRef("HTTPProxy", "default", "app")
    line = lines.Json().format(record("%s is refused", ref, fleet="web", tries=3))
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:01.500Z",
        "level": "warning",
        "logger": "contour.test",
        "message": "HTTPProxy default/app is refused",
        "fleet": "web",
        "tries": 3,
    }


def test_a_text_line_holds_the_same() -> None:
    line = lines.Text().format(record("%d objects", 3, kind="Secret"))
    assert line == "1970-01-01T00:00:01.500Z WARNING contour.test: 3 objects kind=Secret"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "hostile",
    ["a\nERROR all is lost", "\r\n", "\x1b[2J\x1b]0;owned\x07", "\x85\u2028", "\u202egnirts", "\0"],
)
def test_what_a_tenant_writes_breaks_no_line_and_steers_no_terminal(
    form: logging.Formatter, hostile: str
) -> None:
    for it in (record("host %s", hostile), record("host", host=hostile), record(hostile)):
        line = form.format(it)
        assert len(line.splitlines()) == 1
        assert "\x1b" not in line
        assert "\0" not in line


def test_json_gives_back_what_was_written() -> None:
    hostile = 'a"\n\\\x1b[2J'
    assert json.loads(lines.Json().format(record("%s", hostile)))["message"] == hostile


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "secret",
    [
        b"hunter2",
        bytearray(b"hunter2"),
        [b"hunter2"],
        {"tls.key": b"hunter2"},
        ({"a": [memoryview(b"hunter2")]},),
    ],
)
def test_key_material_is_never_shown(form: logging.Formatter, secret: Any) -> None:
    for it in (record("got %s", secret), record("got %r", secret), record("got", it=secret)):
        line = form.format(it)
        assert "hunter2" not in line
        assert "[redacted: 7 bytes]" in line


@pytest.mark.parametrize("form", FORMATS)
def test_a_field_cannot_pass_for_the_message(form: logging.Formatter) -> None:
    line = form.format(record("true", level="debug", time="never"))
    assert "true" in line
    if isinstance(form, lines.Json):
        assert (json.loads(line)["level"], json.loads(line)["message"]) == ("warning", "true")


@pytest.mark.parametrize("form", FORMATS)
def test_what_cannot_be_written_does_not_raise(form: logging.Formatter) -> None:
    for it in (
        record("%d", "x"),
        record("%s %s", 1),
        record("%s", "\ud800"),
        record("", n=1 << 70),
    ):
        assert form.format(it)


def test_mapping_arguments_and_named_tuples_stay_what_they_are() -> None:
    assert lines.message(record("%s", NamespacedName("a", "b"))) == "a/b"
    made = record("%(host)s")
    made.args = {"host": "a.test"}
    assert lines.message(made) == "a.test"


def test_a_traceback_is_told() -> None:
    try:
        raise ValueError("oh no")
    except ValueError as error:
        it = record("failed", exc_info=(type(error), error, error.__traceback__))
    assert "ValueError: oh no" in json.loads(lines.Json().format(it))["error"]
    assert lines.Text().format(it).endswith("ValueError: oh no")


def test_a_traceback_does_not_control_the_terminal() -> None:
    try:
        raise ValueError("first\nsecond\x1b[2J\r")
    except ValueError as error:
        it = record("failed", exc_info=(type(error), error, error.__traceback__))
    assert lines.Text().format(it).endswith("ValueError: first\nsecond\\x1b[2J\\r")


def at(when: float, text: str = "no answer") -> logging.LogRecord:
    return record(text, created=when)


def test_the_same_line_is_written_a_few_times_and_then_counted() -> None:
    it = repeats.Repeats()
    assert [it.filter(at(0.1 * n)) for n in range(8)] == [True] * repeats.BURST + [False] * 3
    assert it.filter(at(1, "another"))
    later = at(repeats.WINDOW + 0.1)
    assert it.filter(later)
    assert lines.fields(later) == {"repeated": 3}
    again = at(repeats.WINDOW + 0.2)
    assert it.filter(again)
    assert lines.fields(again) == {}


def test_a_clock_that_is_set_back_silences_nobody() -> None:
    it = repeats.Repeats()
    assert [it.filter(at(1000)) for _ in range(6)][-1] is False
    assert it.filter(at(0))


def test_many_different_lines_take_no_memory_for_ever() -> None:
    it = repeats.Repeats()
    for number in range(3 * repeats.MOST_KNOWN):
        assert it.filter(at(0, f"line {number}"))
    assert len(it._seen) == repeats.MOST_KNOWN


@contextmanager
def configured(form: logs.Format, level: str) -> Iterator[io.StringIO]:
    root, stream = logging.getLogger(), io.StringIO()
    before = list(root.handlers), root.level
    try:
        logs.configure(form, level, stream)
        yield stream
    finally:
        logging.captureWarnings(False)
        root.handlers[:], root.level = before[0], before[1]


def test_the_process_logs_as_it_is_told_to() -> None:
    with configured("json", "warning") as stream:
        logging.getLogger("contour.x").info("not this")
        logging.getLogger("contour.x").warning("but this", extra={"fleet": "web"})
        logging.getLogger("aiohttp.access").info("nor this")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["fleet"] == "web"
