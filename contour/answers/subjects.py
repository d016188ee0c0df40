"""An object as JSON has it, in the answers to `contour explain`, `analyze` and `diff`."""

from typing import Final, TypedDict

FILE: Final = "File"
"""The kind of a file of which something is told, in place of that of an object."""


class Subject(TypedDict):
    """An object by kind, namespace (empty if it is in none) and name."""

    kind: str
    namespace: str
    name: str


def order(kind: str, namespace: str, name: str) -> tuple[bool, str, str, str]:
    """What objects are sorted by in every listing: files first."""
    return kind != FILE, kind, namespace, name


def named(subject: Subject) -> str:
    """An object as people read it: `HTTPProxy default/shop`, `GatewayClass contour`."""
    key = "/".join(it for it in (subject["namespace"], subject["name"]) if it)
    return f"{subject['kind']} {key}"
