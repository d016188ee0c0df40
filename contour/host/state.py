"""The state directory, in which one run keeps its sockets, its files and its lock.

The sockets in it control Envoy, so it is private: it belongs to this user with mode 0700, and must
not contain other things. Only one run at a time can use it. If its path is too long for a Unix
socket address (103 bytes on macOS, 107 on Linux), the sockets are in a short private directory to
which the link `sockets` points, so that clients find them.
"""

import contextlib
import fcntl
import os
import shutil
import socket
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from contour import rundir
from contour.host import errors
from contour.rundir import SOCKETS

_LOCK = "contour.lock"
_READY = "ready"
_LONGEST_ADDRESS = 103  # on macOS; 107 on Linux
_LONGEST_NAME = 16


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """A directory that this process holds."""

    path: Path

    def socket(self, name: str) -> Path:
        """The path for a socket of that name (at most 16 bytes)."""
        return rundir.socket(self.path, name)

    def write(self, name: str, text: str) -> Path:
        """Writes a file that only its owner may read; readers see either the old or the new text.

        Raises RefusedError if that fails, for example without space.
        """
        path = self.path / name
        fresh = path.with_name(f".{name}.new")
        with _refusing(self.path):
            with open(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
                file.write(text)
            fresh.replace(path)
        return path

    def mark_ready(self, process: int) -> None:
        """Marks that this Envoy serves the first complete configuration, for processes that wait
        for it.

        The mark is a link to the executable of the process in /proc, so it is dangling when the
        process has ended, even if no process is left to remove it.
        """
        program, fresh = Path(f"/proc/{process}/exe"), self.path / f".{_READY}.new"
        if not program.exists():
            self.write(_READY, "")
            return
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(program)
        fresh.replace(self.path / _READY)

    def unmark_ready(self) -> None:
        """Removes the mark: Envoy does not serve any more."""
        (self.path / _READY).unlink(missing_ok=True)


@contextlib.contextmanager
def claimed(path: Path) -> Generator[StateDirectory]:
    """Locks the directory, which is created if it does not exist.

    Raises RefusedError for one that is not ours, OccupiedError for one that another run holds.
    """
    path = path.absolute()
    _make(path)
    _check(path)
    with _locked(path), _spared(path):
        _clear(path)
        with _sockets_placed(path):
            try:
                yield StateDirectory(path)
            finally:
                _clear(path)


def examine(path: Path) -> None:
    """Raises RefusedError where `claimed` would; makes and changes nothing."""
    path = path.absolute()
    with _refusing(path):
        if os.path.lexists(path):
            _require_own(path)
        nearest = existing(path)
        if not nearest.is_dir():
            raise _refused(path, f"{nearest} is not a directory")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise _refused(path, f"nothing can be made in {nearest}")


def existing(path: Path) -> Path:
    """The directory, or its nearest existing ancestor."""
    return next(it for it in (path.absolute(), *path.absolute().parents) if it.exists())


def holder(path: Path) -> str | None:
    """The ID of the process whose run answers in the directory; `?` if it is not known."""
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(str(rundir.socket(path, rundir.INSPECTION)))
            return (path / _LOCK).read_text().strip() or "?"
        except OSError:
            return None


def _make(path: Path) -> None:
    with _refusing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)


def _check(path: Path) -> None:
    with _refusing(path):
        _require_own(path)
        path.chmod(0o700)


def _require_own(path: Path) -> None:
    if path.is_symlink():
        raise _refused(path, "it is a symbolic link; name the directory itself")
    if path.stat().st_uid != os.geteuid():
        raise _refused(path, "it belongs to another user")
    found = set(os.listdir(path))
    if found and _LOCK not in found:
        raise _refused(path, f"it holds other things, such as {min(found)!r}; name an empty one")


def _refused(path: Path, why: str) -> errors.RefusedError:
    return errors.RefusedError(f"cannot keep state in {path} (--state-dir): {why}")


@contextlib.contextmanager
def _refusing(path: Path) -> Generator[None]:
    """Reports an error of the system as a problem of the directory."""
    try:
        yield
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from error


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW
    with _refusing(path):
        descriptor = os.open(path / _LOCK, flags, 0o600)
    with open(descriptor, "rb+", buffering=0) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise errors.OccupiedError(
                f"{path} is in use by process {lock.read().decode().strip() or '?'}: "
                "stop that one or name another directory with --state-dir"
            ) from None
        except OSError as error:  # a file system without locks
            raise _refused(path, f"it cannot be locked: {error.strerror}") from error
        with _refusing(path):
            lock.truncate()
            lock.write(f"{os.getpid()}\n".encode())
        yield


@contextlib.contextmanager
def _spared(path: Path) -> Generator[None]:
    """Has systemd-tmpfiles leave a directory alone, with all that is below it, however old it is
    (tmpfiles.d, "Age"): it may be in /tmp, and a run may last for months."""
    with _refusing(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # somebody else has locked it
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _clear(path: Path) -> None:
    """Removes the traces of a run, which one that was killed could not remove."""
    for stale in (path / _READY, *path.glob("*.sock")):
        stale.unlink(missing_ok=True)
    link = path / SOCKETS
    if link.is_symlink():
        shutil.rmtree(link.readlink(), ignore_errors=True)
        link.unlink()


@contextlib.contextmanager
def _sockets_placed(path: Path) -> Generator[None]:
    if _is_short(path):
        yield
        return
    # Where TMPDIR is long itself, /tmp is not.
    places = (Path(tempfile.gettempdir()), Path("/tmp"))
    place = next(it for it in places if _is_short(it / "contour-12345678"))
    with tempfile.TemporaryDirectory(
        prefix="contour-", dir=place, ignore_cleanup_errors=True
    ) as made:
        (path / SOCKETS).symlink_to(made)
        with _spared(Path(made)):
            yield


def _is_short(directory: Path) -> bool:
    return len(os.fsencode(directory)) + 1 + _LONGEST_NAME <= _LONGEST_ADDRESS
