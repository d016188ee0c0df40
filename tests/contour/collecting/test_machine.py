"""What is gathered from the files of an instance."""

from pathlib import Path

import pytest

from contour.collecting import machine


@pytest.mark.parametrize(
    ("text", "tail"),
    [
        ("one\ntwo\nthree\n", "two\nthree\n"),
        ("ones\ntwo\nthree\n", "two\nthree\n"),
        ("one\ntwos\nthree\n", "three\n"),
        ("two\nthree\n", "two\nthree\n"),
        ("one long line", ""),
    ],
)
def test_a_long_log_begins_with_a_whole_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, tail: str
) -> None:
    """Of half a line of JSON nobody could tell where its texts begin and end."""
    monkeypatch.setattr(machine, "LONGEST", len("two\nthree\n"))
    log = tmp_path / "access.log"
    log.write_text(text)
    assert machine.tail(log) == tail
