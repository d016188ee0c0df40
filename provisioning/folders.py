"""Folders of certificates and keys, whose files are replaced atomically, for programs that watch
them.

The layout is that of a Secret that a kubelet mounts: the names are links through `..data`, which is
replaced with a folder of new contents in one rename. So no reader sees a certificate with the key
of another one, and Envoy's `watched_directory` and our own server notice the change. Only the owner
may read the files, whatever the umask.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

_CURRENT = "..data"


def write(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Writes these files to the folder, in place of those of the last time; what others have put
    there stays."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    for name, content in contents.items():
        _write_private(fresh / name, content)
    before = _current(folder)
    _link(folder / _CURRENT, fresh.name)
    for name in contents:
        _link(folder / name, f"{_CURRENT}/{name}")
    if before is not None:
        shutil.rmtree(before, ignore_errors=True)


def read(folder: Path, name: str) -> bytes:
    """The contents of a file; empty if there is no such file."""
    try:
        return (folder / name).read_bytes()
    except FileNotFoundError:
        return b""


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with open(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _current(folder: Path) -> Path | None:
    link = folder / _CURRENT
    return folder / link.readlink() if link.is_symlink() else None


def _link(path: Path, target: str) -> None:
    """Makes the path a link to the target, in one step."""
    if path.is_symlink() and str(path.readlink()) == target:
        return
    fresh = path.with_name(f"..{path.name.lstrip('.')}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(path)
