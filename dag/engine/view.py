"""The interface of the engine: tables, queries, indexes and plans, and the view that a rule gets.

Rules are pure functions `rule(view, key) -> answer`. A *table* holds inputs. A *query* is a rule
with its answers. An *index* groups entries drawn from the rows of a table, or from the answers of a
query, into buckets. A *plan* says what an engine maintains, a *change* is what it reports. Absence
is a value: a rule that read a missing row runs again when it appears. Elsewhere: the implementation
(`incremental`).
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
B = TypeVar("B", bound=Hashable)
M = TypeVar("M", bound=Hashable)


class Family:
    """Tables whose rows with the same key are read together and are nearly always absent. They
    count as one read: a reader of one row is woken by the rows of that key in all of them."""


class Table(Generic[K, V]):
    """Inputs of one kind: rows by key, written from outside, never by a rule."""

    def __init__(self, name: str, family: Family | None = None) -> None:
        self.name = name
        self.family = family

    def __repr__(self) -> str:
        return f"<table {self.name}>"


class Query(Generic[K, V]):
    """A rule with its answers, one for each key; named after what it answers."""

    def __init__(self, rule: Callable[["View", K], V]) -> None:
        self.rule = rule
        self.name = rule.__name__
        self.__doc__ = rule.__doc__

    def __repr__(self) -> str:
        return f"<query {self.name}>"


def query(rule: Callable[["View", K], V]) -> Query[K, V]:
    """Makes a tracked query of a pure function."""
    return Query(rule)


class OpenQuery(Query[K, V]):
    """A query whose rule is set elsewhere, so that the asking module need not import it."""

    def __init__(self, name: str) -> None:
        def unanswered(view: "View", key: K) -> V:
            raise LookupError(f"nobody answers {name}")

        super().__init__(unanswered)
        self.name = name

    def answer(self, rule: Callable[["View", K], V]) -> "OpenQuery[K, V]":
        """Sets the rule; for use as a decorator."""
        self.rule, self.__doc__ = rule, rule.__doc__
        return self


class Index(Generic[B, M]):
    """Entries `(bucket, member)` drawn from each row of a table or answer of a query.

    A bucket should hold exactly what its readers compare. Equal entries are counted, so a member
    stays until the last row or answer that yields it is gone.
    """

    def __init__(
        self,
        name: str,
        source: Table[Any, Any] | Query[Any, Any],
        entries: Callable[[Any, Any], Iterable[tuple[B, M]]],
    ) -> None:
        self.name = name
        self.source = source
        self.entries = entries

    def __repr__(self) -> str:
        return f"<index {self.name}>"


class View(Protocol):
    """What a rule may see of the world."""

    def read(self, table: Table[K, V], key: K) -> V | None:
        """The row, or None where there is none."""

    def bucket(self, index: Index[B, M], key: B) -> frozenset[M]:
        """The members of a bucket; wakes the reader when one comes or goes."""
        ...

    def count(self, index: Index[B, M], key: B) -> int:
        """How many members a bucket has; wakes the reader only when the number changes."""
        ...

    def ask(self, query: Query[K, V], key: K) -> V:
        """The answer of another query."""
        ...

    def demand(self, query: Query[K, Any], key: K) -> None:
        """Keeps another query's answer alive without depending on what it is."""


def _same(key: Hashable) -> Hashable:
    return key


class Kept(NamedTuple):
    """A query whose answers are kept current for every key of a table or bucket of an index."""

    query: Query[Any, Any]
    over: Table[Any, Any] | Index[Any, Any]
    key: Callable[[Any], Hashable] = _same


class Change(NamedTuple):
    """A published answer that is not what it was; None stands for "there is none"."""

    query: Query[Any, Any]
    key: Any
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Plan:
    """What an engine maintains. Queries are settled in the order in which they are listed here."""

    indexes: tuple[Index[Any, Any], ...] = ()
    kept: tuple[Kept, ...] = ()
    published: tuple[Query[Any, Any], ...] = ()

    def __add__(self, other: "Plan") -> "Plan":
        return Plan(
            self.indexes + other.indexes, self.kept + other.kept, self.published + other.published
        )
