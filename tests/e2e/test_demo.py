"""The demonstration that the README begins with, as a whole."""

import contextlib
import json
import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.envoy


def test_the_demonstration_gets_every_answer_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = _demonstration(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All answers are as expected." in done.stdout
    assert "✗" not in done.stdout
    assert re.search(r"\d{3,} requests sent, 0 lost", done.stdout)
    assert _processes(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_runs_until_it_is_stopped_as_the_demonstration_says(tmp_path: Path) -> None:
    done = _demonstration(tmp_path, "--keep")
    asked = re.search(r"  (curl -H .*)\n", done.stdout)
    stopped = re.search(r"  (kill .*)", done.stdout)
    assert stopped is not None, done.stdout + done.stderr
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        assert asked is not None
        answer = subprocess.run(asked[1], shell=True, capture_output=True, check=True)
        assert json.loads(answer.stdout)["backend"] == "storefront-next"
    finally:
        subprocess.run(stopped[1], shell=True, check=True)
    _wait_for_the_end(tmp_path)
    assert list(tmp_path.iterdir()) == []


def _demonstration(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hack.demonstration", *arguments],
        cwd=ROOT,
        env={"TMPDIR": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def _processes(folder: Path) -> list[int]:
    """Those that work in the folder: their command lines name it."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in command.read_bytes():
                found.append(int(command.parent.name))
        except OSError:
            continue
    return found


def _wait_for_the_end(folder: Path) -> None:
    for process in _processes(folder):
        with contextlib.suppress(ProcessLookupError), open(os.pidfd_open(process)) as ended:
            select.select([ended], [], [], 10)
    assert _processes(folder) == []
