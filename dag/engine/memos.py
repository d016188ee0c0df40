"""What the engine remembers: rows, buckets and answers, and who reads what.

There are some twenty answers for each host, and as many rows and buckets that their rules have
read. To save memory, a collection that nearly always has one member or none is no set, list or
dict. What is known of a table, an index or a query is in one object, so a read looks it up once.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from dag.engine.view import Index, Kept, Plan, Query, Table

Readable: TypeAlias = "Memo | Seen"
Readers: TypeAlias = "Memo | tuple[Memo, ...] | dict[Memo, None]"
"""Distinct members: one as itself, a few as a tuple, many as a dict (half the size of a set)."""
Members: TypeAlias = tuple[Any, ...] | dict[Any, int]
"""Distinct members: a few of one entry each as a tuple, otherwise with their entry counts."""

_FEW = 4


@dataclass(slots=True, eq=False)
class Cell:
    """Something that a rule can read: what it is now, and who has read it."""

    key: Any
    answer: Any
    readers: Readers


@dataclass(slots=True, eq=False)
class Seen(Cell):
    """A row, a bucket or its size that somebody has looked at: the row itself, a stamp that each
    change of the bucket or of a family's rows renews, or the number of members."""

    known: "dict[Any, Seen]"  # where it is, under its key

    def forget(self) -> None:
        """Nobody looks at it any longer."""
        del self.known[self.key]


@dataclass(slots=True, eq=False)
class Memo(Cell):
    """An answer, or one that is yet to be found."""

    of: "Answers"
    reads: Sequence[Any] = ()  # every cell that was read, then what was seen of each
    holders: int = 0  # keepers and demanders
    stale: bool = True
    answered: bool = False


class _DemandedType:
    """Stands in a read's place for what was seen, where the answer does not matter."""


DEMANDED = _DemandedType()


def is_live(memo: Memo) -> bool:
    """Whether anybody keeps, demands or reads it."""
    return bool(memo.holders or memo.readers)


def pairs(reads: Sequence[Any]) -> Iterator[tuple[Readable, Any]]:
    """What was read, each once, in order, and what was seen of it."""
    half = len(reads) // 2
    return zip(reads[:half], reads[half:], strict=True)


def read_alike(before: Sequence[Any], now: Sequence[Any]) -> bool:
    """Whether the same cells were read in the same order, the same of them on demand alone."""
    half = len(now) // 2
    if len(before) != len(now) or before[:half] != now[:half]:
        return False
    for was, seen in zip(before[half:], now[half:], strict=True):
        if was is not seen and (was is DEMANDED or seen is DEMANDED):
            return False
    return True


def each(readers: Readers) -> Iterable[Memo]:
    """Every reader."""
    return (readers,) if isinstance(readers, Memo) else readers


def joined(readers: Readers, memo: Memo) -> Readers:
    """The members and one more, which is not among them yet."""
    if not readers:
        return memo
    if isinstance(readers, dict):
        readers[memo] = None
        return readers
    some = (*each(readers), memo)
    return some if len(some) <= _FEW else dict.fromkeys(some)


def without(readers: Readers, memo: Memo) -> Readers:
    """With one fewer."""
    if isinstance(readers, dict):
        readers.pop(memo, None)
        return readers
    return tuple(it for it in each(readers) if it is not memo)


def entered(members: Members, member: Any) -> Members:
    """With one entry more."""
    if isinstance(members, tuple):
        if len(members) < _FEW and member not in members:
            return (*members, member)
        members = dict.fromkeys(members, 1)
    members[member] = members.get(member, 0) + 1
    return members


def left(members: Members, member: Any) -> Members:
    """With one entry fewer."""
    if isinstance(members, tuple):
        return tuple(it for it in members if it != member)
    members[member] -= 1
    if not members[member]:
        del members[member]
    return members


Entries: TypeAlias = Collection[tuple[Any, Any]]


def moved(
    entries: Callable[[Any, Any], Iterable[tuple[Any, Any]]], key: Any, old: Any, new: Any
) -> tuple[Entries, Entries]:
    """The entries that an index loses with the old row or answer, and those that it gains with the
    new one. Nearly all stay where they are."""
    was = tuple(entries(key, old)) if old is not None else ()
    now = tuple(entries(key, new)) if new is not None else ()
    if was == now:
        return (), ()
    gone, come = _distinct(was), _distinct(now)
    return [it for it in gone if it not in come], [it for it in come if it not in gone]


def _distinct(entries: tuple[tuple[Any, Any], ...]) -> Entries:
    """Each once. One alone, as most are, need not be hashed."""
    return entries if len(entries) < 2 else frozenset(entries)


def firsts(before: dict[Memo, Any]) -> Iterator[tuple[Memo, Any]]:
    """Of several changes of one answer, the first: it has the answer that was reported last."""
    told: set[Any] = set()
    for memo, old in before.items():
        place = (memo.of, memo.key)
        if place not in told:
            told.add(place)
            yield memo, old


def kept_over(plan: Plan, over: Table[Any, Any] | Index[Any, Any]) -> tuple[Kept, ...]:
    """The queries that a plan keeps for the rows of a table or the buckets of an index."""
    return tuple(it for it in plan.kept if it.over is over)


@dataclass(slots=True, eq=False)
class Buckets:
    """An index as an engine has it."""

    index: Index[Any, Any]
    kept: Sequence[Kept]  # over its buckets
    members: dict[Any, Members] = field(default_factory=dict)
    seen: dict[Any, Seen] = field(default_factory=dict)
    sizes_seen: dict[Any, Seen] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Rows:
    """A table as an engine has it."""

    indexes: Sequence[Buckets]
    kept: Sequence[Kept]
    seen: dict[Any, Seen]
    is_of_family: bool  # so `seen` is that of all its tables
    values: dict[Any, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Answers:
    """A query as an engine has it."""

    query: Query[Any, Any]
    indexes: Sequence[Buckets]
    stage: int | None  # in which its answers are settled; None: when they are asked for
    is_published: bool
    memos: dict[Any, Memo] = field(default_factory=dict)


def drawn_from(
    source: Table[Any, Any] | Query[Any, Any], among: Mapping[Index[Any, Any], Buckets]
) -> tuple[Buckets, ...]:
    """The indexes over a table or a query."""
    return tuple(it for index, it in among.items() if index.source is source)


N = TypeVar("N")
S = TypeVar("S")


class States(dict[N, S], Generic[N, S]):
    """What an engine has of each noun, from when it is first used."""

    def __init__(self, made: Callable[[N], S]) -> None:
        super().__init__()
        self._made = made

    def __missing__(self, noun: N) -> S:
        found = self[noun] = self._made(noun)
        return found
