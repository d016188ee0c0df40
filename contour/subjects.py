"""An object as JSON has it, in the answers to `contour explain`, `analyze` and `diff`."""

from typing import TypedDict


class Subject(TypedDict):
    """An object by kind, namespace (empty if it is in none) and name."""

    kind: str
    namespace: str
    name: str
