"""Ctrl-C in any phase of any command: no traceback, and the exit code of what was interrupted."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports
from tests.testbed.processes import CONTOUR, ROOT, wait

COMMANDS = {
    "run": ("run", "-"),
    "translate": ("translate", "-f", "-"),
    "status": ("status", "-f", "-"),
    "serve": ("serve", "--kubeconfig", "FIFO"),
    "demo": ("demo", "--state-dir", "STATE"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_while_a_command_is_imported_ends_it(name: str) -> None:
    """At the first module of ours that is imported after the command line."""
    with _started(name, imports="contour.cli.") as process:
        _, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told) == (130, b"")


@pytest.mark.parametrize("name", ["translate", "status"])
def test_ctrl_c_while_a_command_reads_ends_it(name: str) -> None:
    with _started(name) as process:
        wait(lambda: _reads(process.pid), "somebody who reads standard input")
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 130


def test_run_that_is_told_to_end_while_it_reads_starts_no_envoy(tmp_path: Path) -> None:
    http, https = free_ports(2)
    ports = ("--map-port", f"80={http}", "--map-port", f"443={https}")
    options = ("--state-dir", str(tmp_path / "state"), *ports)
    with _started("run", options=options) as process:
        wait(lambda: _reads(process.pid), "somebody who reads standard input")
        process.send_signal(signal.SIGINT)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(PATIENCE)
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert not (tmp_path / "state" / "envoy.log").exists()


def _reads(pid: int) -> bool:
    """It sleeps in a read of its standard input, which is a pipe."""
    try:
        return "pipe_read" in Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return False


_INTERRUPTING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(PREFIX) and name != PREFIX.rstrip("."):
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return None

import contour.cli
sys.meta_path.insert(0, Interrupting())
contour.cli.main()
"""


def _started(name: str, imports: str = "", options: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """A command; it gets SIGINT when it imports a module whose name begins so."""
    program = (*CONTOUR[:2], _INTERRUPTING.replace("PREFIX", repr(imports))) if imports else CONTOUR
    return subprocess.Popen(
        [*program, *COMMANDS[name], *options],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
