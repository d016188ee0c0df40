"""What the engine remembers: answers, and who reads what.

There are some twenty answers for each host, so what is nearly always empty or has one member is no
set or list of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, overload

from dag.engine.view import Index, Query, Size, Table

Source: TypeAlias = "Memo | Table[Any, Any] | Size | Index[Any, Any]"
Reads: TypeAlias = Sequence[Any]
"""What was read, its key, and what was seen; then the same of what was read next."""
Readers: TypeAlias = "tuple[Memo, ...] | set[Memo]"
"""Each once: a few as a tuple."""

_FEW = 4


@dataclass(slots=True, eq=False)
class Memo:
    """An answer, or one that is yet to be found."""

    query: Query[Any, Any]
    key: Any
    answer: Any = None
    reads: Reads = ()
    readers: Readers = ()
    holders: int = 0  # keepers and demanders
    stale: bool = True
    answered: bool = False
    running: bool = False
    failure: Exception | None = None


class _DemandedType:
    """Stands in a read's place for what was seen, where the answer does not matter."""


DEMANDED = _DemandedType()


@dataclass(slots=True, eq=False)
class Bucket:
    """What an index holds under one key."""

    members: dict[Any, int] = field(default_factory=dict)
    readers: Readers = ()
    counters: Readers = ()
    stamp: int = 0


def is_live(memo: Memo) -> bool:
    """Whether anybody keeps, demands or reads it."""
    return bool(memo.holders or memo.readers)


def sources(reads: Reads) -> set[tuple[Source, Any, bool]]:
    """What was read, each once, and whether it was only demanded."""
    each = iter(reads)
    triples = zip(each, each, each, strict=True)
    return {(source, key, seen is DEMANDED) for source, key, seen in triples}


def joined(readers: Readers, memo: Memo) -> Readers:
    """With one more, which is not among them."""
    if isinstance(readers, set):
        readers.add(memo)
        return readers
    return (*readers, memo) if len(readers) < _FEW else {*readers, memo}


def without(readers: Readers, memo: Memo) -> Readers:
    """With one fewer."""
    if isinstance(readers, set):
        readers.discard(memo)
        return readers
    return tuple(it for it in readers if it is not memo)


G = TypeVar("G")
I = TypeVar("I")  # noqa: E741


@overload
def grouped(pairs: Iterable[tuple[G, I]]) -> dict[G, list[I]]: ...
@overload
def grouped(pairs: Iterable[tuple[Any, I]]) -> dict[Any, list[I]]: ...
def grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """The second halves of the pairs, in order, by the first."""
    groups: dict[Any, list[Any]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups
