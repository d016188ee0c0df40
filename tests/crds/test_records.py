"""Records behave as `dataclasses` makes them, from their first call on, and compile no sooner."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from crds import records


@records.dataclass(frozen=True, slots=True)
class Point:
    """Two numbers."""

    x: int
    y: int = 0
    note: str = field(default="", compare=False, repr=False)
    tags: list[str] = field(default_factory=list, hash=False)


@records.dataclass(frozen=True, slots=True)
class Pair:
    """Two values, of which one is a name; no default is made for an object."""

    key: str
    value: int = 7


@records.dataclass(frozen=True, slots=True)
class Labelled(Pair):
    """One with a label more."""

    label: str = ""


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Named(Point):
    """One with a name that is checked."""

    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a name is required")


@records.dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """Equal to itself alone."""

    x: int = 0


@records.dataclass(frozen=True, slots=True)
class Quiet:
    """Says what it likes."""

    x: int = 0

    def __repr__(self) -> str:
        return "quiet"


def test_equality_hash_and_text_are_those_of_a_dataclass() -> None:
    one, same, other = Point(1, 2, "a"), Point(1, 2, "b"), Point(1, 3)
    assert (one == same, one == other, one != other) == (True, False, True)
    assert hash(one) == hash(same)
    outsider: object = (1, 2)
    assert one != outsider
    assert repr(one) == "Point(x=1, y=2, tags=[])"
    assert repr(Named(1, name="n")) == "Named(x=1, y=0, tags=[], name='n')"
    assert repr(Quiet()) == "quiet"
    assert Point(1) != Named(1, name="n")
    assert (Alone() == Alone(), len({Alone(), Alone()})) == (False, 2)


def test_arguments_defaults_and_checks_are_those_of_a_dataclass() -> None:
    assert Point(1).tags is not Point(1).tags
    assert dataclasses.replace(Named(1, name="n"), y=5) == Named(1, 5, name="n")
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 0, "note": "", "tags": []}
    with pytest.raises(TypeError, match="x"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="a name is required"):
        Named(1, name="")
    assert (Pair("a"), Pair(value=8, key="b")) == (Pair("a", 7), Pair("b", 8))
    assert dataclasses.replace(Labelled("a", label="l"), value=1) == Labelled("a", 1, "l")
    for arguments in ({}, {"key": "a", "other": 1}):
        with pytest.raises(TypeError, match=r"Pair.__init__\(\)"):
            Pair(**arguments)  # type: ignore[arg-type]
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_copy_differs_in_what_is_told_alone() -> None:
    point = Point(1, 2, "a", ["t"])
    assert records.replace(point, y=5) == Point(1, 5, "a", ["t"])
    assert (records.replace(point).note, records.replace(point).tags) == ("a", point.tags)
    assert records.replace(Labelled("a", label="l"), value=1) == Labelled("a", 1, "l")
    assert point == Point(1, 2, "a", ["t"])
    untyped: Any = records.replace
    with pytest.raises(TypeError):
        untyped(point, z=1)


def test_a_copy_is_checked_where_its_class_checks() -> None:
    assert records.replace(Named(1, name="n"), y=5) == Named(1, 5, name="n")
    with pytest.raises(ValueError):
        records.replace(Named(1, name="n"), name="")


def test_a_record_cannot_be_changed_and_can_be_copied() -> None:
    point, pair = Named(1, name="n"), Labelled("a", 1)
    for it, name in ((point, "x"), (pair, "key")):
        with pytest.raises(FrozenInstanceError):
            setattr(it, name, 2)
        with pytest.raises(FrozenInstanceError):
            delattr(it, name)
        assert not hasattr(it, "__dict__")
        for again in (copy.deepcopy(it), pickle.loads(pickle.dumps(it))):
            assert again == it
            assert again is not it


def test_a_method_is_compiled_by_its_first_call_and_for_its_own_class() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Fresh:
        x: int = 0

    @records.dataclass(frozen=True, slots=True)
    class Wider(Fresh):
        y: int = 0

    begun = {name: vars(Fresh)[name] for name in ("__init__", "__eq__", "__hash__", "__repr__")}
    assert begun == {name: vars(Wider)[name] for name in begun}
    assert Wider(1, 2) == Wider(1, 2)
    assert {name: vars(Fresh)[name] for name in begun} == begun
    assert [name for name in begun if vars(Wider)[name] is begun[name]] == ["__hash__", "__repr__"]


def test_other_classes_are_refused() -> None:
    with pytest.raises(TypeError):
        records.dataclass(frozen=False, slots=True)
