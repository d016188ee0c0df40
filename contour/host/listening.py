"""Finds the process that listens on a port, for a message that says more than "address in use".

It reads /proc, so it works on Linux only, and for processes that this user may inspect.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

_LISTEN = "0A"


def owner(port: int) -> str | None:
    """The process that listens on the port, as `PID (NAME)`."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    for process in Path("/proc").glob("[0-9]*") if wanted else ():
        if not wanted.isdisjoint(_open_files(process)):
            return f"{process.name} ({_name(process)})"
    return None


def _inodes(port: int) -> Iterator[str]:
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, local, _, state, *_, inode = line.split()[:10]
            if state == _LISTEN and local.endswith(f":{port:04X}"):
                yield inode


def _open_files(process: Path) -> Iterator[str]:
    # The process, or one of its files, may be gone or another user's: then it is not found.
    with contextlib.suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                yield str(descriptor.readlink())


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "?"
