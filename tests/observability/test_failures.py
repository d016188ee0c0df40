"""Errors that a user can fix end a command with a line each."""

import pytest

from observability import failures


def test_errors_in_groups_of_groups_are_told_one_by_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    inner = ExceptionGroup("tasks", [OSError("no route to host")])
    with (
        pytest.raises(SystemExit, match="2"),
        failures.fatal(OSError, program="contour-operator"),
    ):
        raise ExceptionGroup("tasks", [inner, OSError("refused")])
    told = capsys.readouterr().err.splitlines()
    assert told == ["contour-operator: no route to host", "contour-operator: refused"]
