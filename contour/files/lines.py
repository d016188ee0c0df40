"""Finds the lines of fields in a document, for complaints about documents that can be parsed.

Lines are not stored while a document is parsed; the few documents with complaints are read a second
time, as nodes with positions. A missing field has the line of the value that should contain it.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from yaml import CBaseLoader, YAMLError, compose, nodes

FieldPath = Sequence[str | int]


class Lines:
    """The lines of one document that `parse` has accepted; it is read when the first is wanted."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def found(self, paths: Sequence[FieldPath]) -> list[int]:
        """The line of each path, counted from 0 within the document."""
        root = self._root
        return [0 if root is None else _line(root, path) for path in paths]

    @cached_property
    def _root(self) -> nodes.Node | None:
        try:
            root: nodes.Node | None = compose(self._raw, Loader=CBaseLoader)
        except YAMLError:  # JSON that is not quite YAML, such as an escaped surrogate pair.
            return None
        return root


def _line(node: nodes.Node, path: FieldPath) -> int:
    line = node.start_mark.line
    for step in path:
        entry = _entry(node, step)
        if entry is None:
            break
        mark, node = entry
        line = mark.start_mark.line
    return int(line)


def _entry(node: Any, step: str | int) -> tuple[nodes.Node, nodes.Node] | None:
    """The node whose line a step names, and the node it leads to."""
    if isinstance(node, nodes.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key, value
    if isinstance(node, nodes.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None
