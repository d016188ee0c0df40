"""The log file that does not grow without end."""

import os
from pathlib import Path

from contour.host import log


def test_a_log_above_its_limit_keeps_its_newer_half(tmp_path: Path) -> None:
    kept = log.Log(tmp_path / "log", limit=100)
    writer = kept.opened()
    os.write(writer, b"a" * 100 + b"b" * 50)
    kept.cut()
    os.write(writer, b"c")
    os.close(writer)
    assert (tmp_path / "log").read_bytes() == b"c"
    assert (tmp_path / "log.1").read_bytes() == b"b" * 50


def test_a_log_whose_older_part_has_no_room_is_cut_all_the_same(tmp_path: Path) -> None:
    """On a full disk; a cut that failed would end the process that makes it."""
    kept = log.Log(tmp_path / "log", limit=100)
    (tmp_path / "log").write_bytes(b"a" * 150)
    (tmp_path / "log.1").symlink_to("/dev/full")
    kept.cut()
    assert kept.size == 0


def test_a_log_below_its_limit_is_left_alone(tmp_path: Path) -> None:
    kept = log.Log(tmp_path / "log", limit=100)
    kept.cut()
    (tmp_path / "log").write_bytes(b"a" * 100)
    kept.cut()
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_the_last_lines_are_those_written_since(tmp_path: Path) -> None:
    kept = log.Log(tmp_path / "log")
    (tmp_path / "log").write_text("old\n")
    since = kept.size
    (tmp_path / "log").write_text("old\nnew 1\nnew 2\nnew 3\n")
    assert kept.last_lines(2, since) == ["new 2", "new 3"]
    assert kept.last_lines(10, since) == ["new 1", "new 2", "new 3"]


def test_the_last_lines_of_a_log_that_was_cut_are_all_it_has(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("new\n")
    assert log.Log(tmp_path / "log").last_lines(10, since=1000) == ["new"]
