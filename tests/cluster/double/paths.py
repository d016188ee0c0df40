"""Paths of the API: the resource, the object and the subresource."""

from typing import NamedTuple


class Path(NamedTuple):
    """A path below a version."""

    group: str
    version: str
    namespace: str = ""
    plural: str = ""
    name: str = ""
    subresource: str = ""


def parsed(path: str) -> Path | None:
    """The path; None if it leads to no resource."""
    match path.strip("/").split("/"):
        case ["api", version, *rest]:
            return _below("", version, rest)
        case ["apis", group, version, *rest]:
            return _below(group, version, rest)
    return None


_OF_NAMESPACES = {"status", "finalize"}


def _below(group: str, version: str, rest: list[str]) -> Path | None:
    match rest:
        case ["namespaces", namespace, plural, *more] if plural not in _OF_NAMESPACES:
            return _of(Path(group, version, namespace, plural), more)
        case [plural, *more]:
            return _of(Path(group, version, "", plural), more)
    return Path(group, version)


def _of(path: Path, more: list[str]) -> Path | None:
    return path._replace(**dict(zip(("name", "subresource"), more, strict=False))) \
        if len(more) <= 2 else None  # fmt: skip
