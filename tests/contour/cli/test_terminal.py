"""Commands on a terminal of any width and kind: nothing is cut, no line is longer than it."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from tests.testbed.processes import CONTOUR, ROOT

MANIFEST = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: a-proxy-with-quite-a-long-name, namespace: team-with-a-name}
spec:
  virtualhost: {fqdn: broken.example.com}
  routes:
  - services: [{name: a-service-that-is-not-there, port: 80}]
"""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def _shown(columns: int, folder: Path, *arguments: str, **variables: str) -> list[str]:
    """The lines that a command prints on a terminal of so many columns, without styles."""
    (folder / "manifest.yaml").write_text(MANIFEST)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: it for name, it in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        (*CONTOUR, *arguments), stdout=theirs, stderr=theirs, cwd=ROOT, env=environment | variables
    ) as running:
        os.close(theirs)
        found = b""
        try:
            while piece := os.read(ours, 1 << 16):
                found += piece
        except OSError:
            pass  # the terminal is closed when the process has ended
        os.close(ours)
    assert running.returncode == 0, found
    return _STYLE.sub("", found.decode()).splitlines()


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("command", ["status", "translate --to routes"])
def test_a_table_fits_the_terminal_and_loses_nothing(
    columns: int, command: str, tmp_path: Path
) -> None:
    lines = _shown(columns, tmp_path, *command.split(), "-f", str(tmp_path))
    assert max(map(len, lines)) <= columns
    told = "".join("".join(lines).split())
    assert "a-proxy-with-quite-a-" in told  # a cell may be folded
    assert "long-name" in told


@pytest.mark.parametrize(
    "variables",
    [{"TERM": "dumb"}, {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, {"NO_COLOR": "1"}],
    ids=str,
)
def test_a_simple_terminal_is_enough(variables: dict[str, str], tmp_path: Path) -> None:
    lines = _shown(80, tmp_path, "status", "-f", str(tmp_path), **variables)
    assert "a-service-that-is-not-there" in "".join("".join(lines).split())


def test_nobody_who_reads_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    command = (*CONTOUR, "translate", "-f", str(tmp_path))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert b"Traceback" not in running.stderr.read()
