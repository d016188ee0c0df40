"""One control plane for all workers of a test run.

It belongs to a process of its own, which ends after its last user: every user holds a shared lock
on a file, and the owner waits for the exclusive one. Locks end with their holders, so this works
however a worker dies.
"""

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import TextIO

from tests.cluster import assets, cluster, prepared

_START = 90.0  # seconds


@contextmanager
def joined(folder: Path) -> Iterator[cluster.Cluster]:
    """The control plane of this folder, which is started if there is none."""
    assets.commands()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "starting").open("w") as starting, (folder / "users").open("w") as users:
        fcntl.flock(starting, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_SH)
        ready = folder / "ready"
        if not ready.exists() or not _is_owned(folder):
            ready.unlink(missing_ok=True)
            _start(folder, ready)
        fcntl.flock(starting, fcntl.LOCK_UN)
        yield cluster.Cluster(folder)


def own(folder: Path) -> None:
    """Runs the control plane of a folder until it has no users any more."""
    ready = folder / "ready"
    with (
        (folder / "users").open("w") as users,
        (folder / "owner").open("w") as owner,
        prepared.running(folder, *cluster.default_crds(), cluster.OPTIONAL),
    ):
        fcntl.flock(owner, fcntl.LOCK_EX)
        ready.touch()
        _wait_for_the_last(users)
        ready.unlink()


def _start(folder: Path, ready: Path) -> None:
    with (folder / "owner.log").open("ab") as log:
        owner = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster", "--own", str(folder)],
            cwd=assets.ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    deadline = monotonic() + _START
    while not ready.exists():
        if owner.poll() is not None or monotonic() > deadline:
            raise RuntimeError((folder / "owner.log").read_text())
        sleep(0.05)
    owner.returncode = 0  # it outlives the process that started it, which must not wait for it


def _is_owned(folder: Path) -> bool:
    """Whether the owner still runs: one that was killed could not remove the file `ready`."""
    with (folder / "owner").open("w") as owner:
        try:
            fcntl.flock(owner, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _wait_for_the_last(users: TextIO) -> None:
    fcntl.flock(users, fcntl.LOCK_EX)
