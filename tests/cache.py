"""The user's cache: what is made or fetched once, for all clones and all runs."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def folder(*names: str) -> Path:
    """A folder of it, which need not be there yet."""
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return place.joinpath("contour-ingress", *names)


def is_there(path: Path) -> bool:
    """Whether there is a folder. Then it counts as the newest: somebody is about to use it."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def forget(shelf: Path, kept: int) -> None:
    """Removes all folders but those that were made or used last, which somebody may be using."""
    found: dict[Path, float] = {}
    for path in shelf.iterdir():
        with suppress(FileNotFoundError):  # another process may be at it as well
            if path.is_dir():
                found[path] = path.stat().st_mtime
    for path in sorted(found, key=found.__getitem__)[:-kept]:
        shutil.rmtree(path, ignore_errors=True)
        path.with_suffix(".lock").unlink(missing_ok=True)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """For the one process at a time that makes what is at this path; the others wait for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
