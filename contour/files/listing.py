"""Lists the manifests under the paths of the user, with signatures by which changes are found.

Folders are listed recursively; names that begin with a dot are skipped, so the folders behind a
mounted ConfigMap (`..data`) are seen only through the links into them. Links to files are followed,
links to folders only on the way to what the user has named. `manifests` reads the files.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from contour.complaints import ManifestSource

NO_DEVICES: Mapping[str, int] = {}
_SUFFIXES = (".yaml", ".yml", ".json")


class Signature(NamedTuple):
    """The signature of a file, which differs if the file has changed."""

    device: int
    inode: int
    modified: int
    changed: int
    size: int


@dataclass(slots=True)
class Listing:
    """The files and folders at one moment."""

    files: dict[ManifestSource, Signature | None] = field(default_factory=dict)
    """None: the system says nothing of the file; why, is found when it is read."""
    folders: set[str] = field(default_factory=set)  # in which a new manifest counts
    targets: dict[str, ManifestSource] = field(default_factory=dict)
    """The files that links lead to, by real path."""
    names: dict[tuple[int, int], ManifestSource] = field(default_factory=dict)
    """Under which name each file is read, by device and inode."""
    shared: set[str] = field(default_factory=set)  # all names of files that have several here
    links: set[str] = field(default_factory=set)  # folders in which a given link or file stands
    faults: dict[ManifestSource, str] = field(default_factory=dict)  # what cannot be listed
    devices: dict[str, int] = field(default_factory=dict)
    """Of each folder, that of its file system when it was last not empty."""
    odd: dict[ManifestSource, str] = field(default_factory=dict)
    """Files that are named like manifests but are none, and why."""

    @property
    def watched(self) -> list[str]:
        """The folders in which relevant changes may happen, the listed ones first."""
        around = {os.path.dirname(file) or "." for file in (*self.targets, *self.files)}
        return [*sorted(self.folders), *sorted((around | self.links) - self.folders)]

    def is_faulty(self, file: ManifestSource) -> bool:
        """Whether the state of a file is unknown, because a folder above it cannot be listed."""
        return any(file.startswith(os.path.join(fault, "")) for fault in self.faults)


def listed(
    roots: Iterable[ManifestSource],
    folders: frozenset[ManifestSource],
    devices: Mapping[str, int] = NO_DEVICES,
) -> Listing:
    """The manifests under these paths; paths in `folders` must exist. `devices` has those of the
    last listing."""
    found = Listing(devices=dict(devices))
    known: set[tuple[int, int]] = set()  # folders
    for root in roots:
        is_folder = root in folders or os.path.isdir(root)
        followed = (*links_to(root), *(() if is_folder else (root,)))
        found.links |= {os.path.dirname(it) or "." for it in followed}
        if is_folder:
            _list(root, found, known)
        else:
            _add(root, found)
    for gone in found.devices.keys() - found.folders - found.faults.keys():
        del found.devices[gone]
    return found


def links_to(path: str) -> Iterator[str]:
    """The links on the way to a path, the path itself among them."""
    while path not in ("", os.sep):
        if os.path.islink(path):
            yield path
        path = os.path.dirname(path)


def is_manifest(name: str) -> bool:
    """Whether a file of this name in a folder is read."""
    return name.endswith(_SUFFIXES) and not name.startswith(".")


def signature(status: os.stat_result) -> Signature:
    """The signature of an open file, so that what was read cannot be newer."""
    return Signature(
        status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
    )


def name_of(path: str, known: Listing) -> ManifestSource | None:
    """Under which name a file is read that is listed already; None if it is not."""
    try:
        status = os.stat(path)
        name = known.names.get((status.st_dev, status.st_ino))
        if name is not None and os.path.samestat(status, os.stat(name)):
            return name
    except OSError:
        pass
    return known.targets.get(os.path.realpath(path))


def _list(folder: str, found: Listing, known: set[tuple[int, int]]) -> None:
    """The same folder under two names is listed once."""
    try:
        status = os.stat(folder)
        if (identity := (status.st_dev, status.st_ino)) in known:
            return
        with os.scandir(folder) as entries:
            every = [(it.name, it.path, it.is_dir(follow_symlinks=False)) for it in entries]
    except OSError as error:
        found.faults[ManifestSource(folder)] = (
            f"cannot list the folder: {error.strerror}; its last good objects stay"
        )
        return
    if every:
        found.devices[folder] = status.st_dev
    elif found.devices.get(folder, status.st_dev) != status.st_dev:
        found.faults[ManifestSource(folder)] = (
            "the folder is empty, and on another file system than before; "
            "its last good objects stay"
        )
        return
    known.add(identity)
    found.folders.add(folder)
    for name, path, is_folder in sorted(every):
        if name.startswith("."):
            continue
        if is_folder:
            _list(path, found, known)
        elif is_manifest(name) and (why := _add(ManifestSource(path), found)):
            found.odd[ManifestSource(path)] = f"ignored: it is {why}"


def _add(file: ManifestSource, found: Listing) -> str | None:
    """Adds a file; one with two names is read once. Returns why it is no regular file, if so."""
    try:
        status = os.stat(file)
    except OSError as error:
        if os.path.islink(file):
            return f"a link that cannot be followed ({error.strerror})"
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            found.files[file] = None
        return None
    if not stat.S_ISREG(status.st_mode):
        is_folder = stat.S_ISDIR(status.st_mode)
        return "a link to a folder" if is_folder else "a pipe, a socket or a device"
    identity = status.st_dev, status.st_ino
    if (first := found.names.setdefault(identity, file)) != file:
        found.shared |= {first, file}
        return None
    found.files[file] = signature(status)
    if os.path.islink(file):
        found.targets[os.path.realpath(file)] = file
    return None
