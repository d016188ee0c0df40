"""Marked fields are listed where an object really sets them, with paths as users write them."""

from typing import Annotated

import pytest

from crds.fields import Flag
from crds.meta import model
from crds.unserved import Unserved, unserved


@model
class Leaf:
    """What a listed field may hold."""

    plain: str = ""
    marked: Annotated[str, Unserved()] = ""
    guard: Annotated[Flag, Unserved(guards=True)] = False
    choice: Annotated[str, Unserved(values=("b", "c"))] = "a"


@model
class Root:
    """A model with fields of every kind."""

    leaf: Leaf | None = None
    some_leaves: tuple[Leaf, ...] = ()
    whole: Annotated[Leaf | None, Unserved(guards=True)] = None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Root(), []),
        (Root(leaf=Leaf(plain="x", choice="d")), []),
        (Root(leaf=Leaf(marked="", guard=False)), []),
        (Root(leaf=Leaf(marked="x")), [("leaf.marked", False)]),
        (Root(leaf=Leaf(guard=True)), [("leaf.guard", True)]),
        (Root(leaf=Leaf(choice="c")), [("leaf.choice", False)]),
        (Root(some_leaves=(Leaf(), Leaf(marked="x"))), [("someLeaves[1].marked", False)]),
        (Root(whole=Leaf()), [("whole", True)]),
        (Root(whole=Leaf(marked="x")), [("whole", True), ("whole.marked", False)]),
    ],
)
def test_marked_fields_that_are_set_are_listed_with_their_paths(
    found: Root, expected: list[tuple[str, bool]]
) -> None:
    assert [(it.path, it.guards) for it in unserved(found)] == expected
