"""The volumes of a pod as folders, and how their content changes under running containers.

Files are written as a kubelet does it: into a folder of their own, to which `..data` is pointed by
one rename, with a link for every name. So a reader sees all of the old or all of the new.
"""

import os
import shutil
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.pods import environment

Raw = dict[str, Any]

FROM_OBJECTS = ("secret", "configMap", "projected", "downwardAPI")
_PUBLIC, _KIND = 0o644, {"secret": "Secret", "configMap": "ConfigMap"}


@dataclass(frozen=True, slots=True)
class File:
    """What a volume shows under a name."""

    content: bytes
    mode: int


Files = dict[str, File]


def files(volume: Raw, pod: Raw, find: environment.Find, tokens: Mapping[str, str]) -> Files:
    """What a volume that is made from objects shows now; `tokens` by audience."""
    source = next(it for it in FROM_OBJECTS if it in volume)
    spec = volume[source]
    mode = spec.get("defaultMode", _PUBLIC)
    if source != "projected":
        return _from_source(source, spec, mode, pod, find)
    found: Files = {}
    for part in spec.get("sources") or ():
        if "serviceAccountToken" in part:
            token = part["serviceAccountToken"]
            content = tokens[token.get("audience", "")].encode()
            found[token["path"]] = File(content, mode)
        else:
            name = next(iter(part))
            found |= _from_source(name, part[name], mode, pod, find)
    return found


def tokens_of(volume: Raw) -> list[Raw]:
    """The ServiceAccount tokens that a volume shows."""
    sources = volume.get("projected", {}).get("sources") or ()
    return [it["serviceAccountToken"] for it in sources if "serviceAccountToken" in it]


def write(folder: Path, wanted: Files, group: int | None) -> bool:
    """Makes the folder show these files, all at once; whether that was a change."""
    folder.mkdir(parents=True, exist_ok=True)
    if _shown(folder) == {name: it.content for name, it in wanted.items()}:
        return False
    fresh = folder / f"..{time.time_ns()}"
    for name, it in wanted.items():
        path = fresh / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(it.content)
        _own(path, it.mode, group)
    fresh.mkdir(exist_ok=True)
    fresh.chmod(0o755)
    link = folder / "..data"
    old = folder / os.readlink(link) if link.is_symlink() else None
    (folder / "..data_tmp").symlink_to(fresh.name)
    (folder / "..data_tmp").rename(link)
    _link(folder, {name.split("/")[0] for name in wanted})
    if old is not None:
        shutil.rmtree(old)
    return True


def write_empty(folder: Path, group: int | None) -> None:
    """An emptyDir: anybody may write."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    if group is not None:
        os.chown(folder, 0, group)
        folder.chmod(0o2777)


def below(folder: Path, path: str) -> Path:
    """What a volume has at this path. A folder that is missing is made, with the volume's mode and
    group, as a kubelet does."""
    found = (folder / path).resolve()
    if not found.exists():
        found.mkdir(parents=True)
        whole = folder.stat()
        os.chown(found, 0, whole.st_gid)
        found.chmod(stat.S_IMODE(whole.st_mode))
    return found


def _from_source(source: str, spec: Raw, mode: int, pod: Raw, find: environment.Find) -> Files:
    if source == "downwardAPI":
        return {
            it["path"]: File(_downward(it, pod).encode(), it.get("mode", mode))
            for it in spec.get("items") or ()
        }
    name: str = spec.get("secretName") or spec["name"]
    obj = find(_KIND[source], pod["metadata"]["namespace"], name)
    if obj is None:
        if spec.get("optional"):
            return {}
        raise environment.MissingError(f"no {_KIND[source]} {name}")
    return _selected(environment.decoded(obj), spec, mode, name)


def _selected(held: Mapping[str, bytes], spec: Raw, mode: int, name: str) -> Files:
    if not spec.get("items"):
        return {key: File(content, mode) for key, content in held.items()}
    missing = [it["key"] for it in spec["items"] if it["key"] not in held]
    if missing and not spec.get("optional"):
        raise environment.MissingError(f"{name} has no {missing[0]}")
    return {
        it["path"]: File(held[it["key"]], it.get("mode", mode))
        for it in spec["items"]
        if it["key"] in held
    }


def _downward(item: Raw, pod: Raw) -> str:
    if "fieldRef" in item:
        return environment.field(item["fieldRef"]["fieldPath"], pod)
    ref = item["resourceFieldRef"]
    named = (it for it in pod["spec"]["containers"] if it["name"] == ref["containerName"])
    return environment.resource(next(named), ref["resource"])


def _shown(folder: Path) -> dict[str, bytes] | None:
    link = folder / "..data"
    if not link.is_symlink():
        return None
    paths = (it for it in link.resolve().rglob("*") if it.is_file())
    return {str(it.relative_to(link.resolve())): it.read_bytes() for it in paths}


def _own(path: Path, mode: int, group: int | None) -> None:
    if group is not None:
        os.chown(path, 0, group)
        mode |= 0o440
    path.chmod(mode)


def _link(folder: Path, names: Iterable[str]) -> None:
    wanted = set(names)
    for it in folder.iterdir():
        if not it.name.startswith("..") and it.name not in wanted:
            it.unlink()
    for name in wanted:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
