"""The managers of fields: server-side apply, with lists as atomic values.

Real schemas may declare lists whose items are merged by a key. The double has no schemas, so here
every list is one field, as in a CRD that declares nothing about its lists.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tests.cluster.double.refusals import RefusalError

Raw = dict[str, Any]
Path = tuple[str, ...]

_OF_NOBODY = {"apiVersion", "kind"}
_OF_THE_SERVER = {
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation"),
    *("creationTimestamp", "deletionTimestamp", "managedFields"),
}


def applied(before: Raw, wanted: Raw, manager: str, subresource: str, force: bool) -> Raw:
    """The object after a manager applied its fields; 409 where another manager owns them."""
    mine, content = _key(manager, "Apply", subresource), dict(fields(wanted))
    owners = _owners(before)
    disputed = {
        key: {it for it in paths & content.keys() if value(before, it) != content[it]}
        for key, paths in owners.items()
        if key != mine
    }
    if any(disputed.values()) and not force:
        raise RefusalError(409, _dispute(disputed))
    after = _copied(before)
    for path in owners.get(mine, set()) - content.keys():
        if not any(path in paths for key, paths in owners.items() if key != mine):
            _drop(after, path)
    for path, wish in content.items():
        _set(after, path, wish)
    kept = {key: paths - disputed.get(key, set()) for key, paths in owners.items()}
    return _noted(after, {**kept, mine: set(content)})


def updated(before: Raw, after: Raw, manager: str, subresource: str) -> Raw:
    """The object with the fields that a write changed recorded as its manager's."""
    old, new = dict(fields(before)), dict(fields(after))
    changed = {it for it in new if it not in old or old[it] != new[it]}
    mine = _key(manager, "Update", subresource)
    kept = {key: (paths & new.keys()) - changed for key, paths in _owners(before).items()}
    return _noted(after, {**kept, mine: kept.get(mine, set()) | changed})


def fields(obj: Raw, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field that a manager may own."""
    for name, content in obj.items():
        here = (*path, name)
        if (not path and name in _OF_NOBODY) or (path == ("metadata",) and name in _OF_THE_SERVER):
            continue
        if isinstance(content, dict) and content:
            yield from fields(content, here)
        elif here != ("metadata",):
            yield here, content


def value(obj: Any, path: Path) -> Any:
    """The value at a path."""
    for step in path:
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


Key = tuple[str, str, str]  # manager, operation, subresource


def _key(manager: str, operation: str, subresource: str) -> Key:
    return manager, operation, subresource


def _owners(obj: Raw) -> dict[Key, set[Path]]:
    entries = obj["metadata"].get("managedFields", ())
    return {
        _key(it["manager"], it["operation"], it.get("subresource", "")): set(
            _paths(it["fieldsV1"], ())
        )
        for it in entries
    }


def _noted(obj: Raw, owners: dict[Key, set[Path]]) -> Raw:
    version = obj.get("apiVersion", "")
    entries = [_entry(key, version, paths) for key, paths in owners.items() if paths]
    metadata = {name: it for name, it in obj["metadata"].items() if name != "managedFields"}
    return obj | {"metadata": metadata | ({"managedFields": entries} if entries else {})}


def _entry(key: Key, version: str, paths: Iterable[Path]) -> Raw:
    manager, operation, subresource = key
    tree: Raw = {}
    for path in sorted(paths):
        level = tree
        for step in path:
            level = level.setdefault(f"f:{step}", {})
    entry: Raw = {"manager": manager, "operation": operation, "apiVersion": version}
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": tree}
    return entry | ({"subresource": subresource} if subresource else {})


def _paths(tree: Raw, path: Path) -> Iterator[Path]:
    for step, below in tree.items():
        here = (*path, step.removeprefix("f:"))
        if below:
            yield from _paths(below, here)
        else:
            yield here


def _dispute(disputed: dict[Key, set[Path]]) -> str:
    told = [
        f'conflict with "{key[0]}": {", ".join("." + ".".join(it) for it in sorted(paths))}'
        for key, paths in disputed.items()
        if paths
    ]
    return f"Apply failed with {len(told)} conflict{'s' * (len(told) > 1)}: {'; '.join(told)}"


def _copied(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _copied(it) for name, it in content.items()}
    return content


def _set(obj: Raw, path: Path, wish: Any) -> None:
    *above, last = path
    for step in above:
        below = obj.get(step)
        obj[step] = below if isinstance(below, dict) else {}
        obj = obj[step]
    obj[last] = wish


def _drop(obj: Raw, path: Path) -> None:
    """Removes a field, and the objects that held nothing else."""
    *above, last = path
    chain = [obj]
    for step in above:
        chain.append(chain[-1].get(step, {}))
    chain[-1].pop(last, None)
    for parent, step in zip(reversed(chain[:-1]), reversed(above), strict=True):
        if not parent.get(step, True):
            del parent[step]
