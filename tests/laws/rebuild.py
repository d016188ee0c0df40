"""The same rules over the same tables, computed from nothing with no tracking at all.

The oracle of the laws: whatever the engine answers after any history must equal what this answers
from the rows alone. Being a `View` like the engine, it needs no second copy of any rule.
Elsewhere: the tracking (`dag.engine.incremental`), the histories that compare both (`histories`).
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

from dag.engine.view import Index, Plan, Query, Table

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
B = TypeVar("B", bound=Hashable)
M = TypeVar("M", bound=Hashable)

Rows = Mapping[Table[Any, Any], Mapping[Any, Any]]


def rebuilt(plan: Plan, rows: Rows) -> dict[tuple[Query[Any, Any], Any], Any]:
    """Every published answer that there is, by query and key."""
    world = _World(plan, rows)
    for kept in plan.kept:
        for key in world.keys(kept.over):
            world.ask(kept.query, kept.key(key))
    while world.demanded:
        world.ask(*world.demanded.pop())
    return {
        (query, key): answer
        for (query, key), answer in world.answers.items()
        if query in plan.published and answer is not None
    }


class _World:
    def __init__(self, plan: Plan, rows: Rows) -> None:
        self.answers: dict[tuple[Query[Any, Any], Any], Any] = {}
        self.demanded: set[tuple[Query[Any, Any], Any]] = set()
        self._rows = rows
        self._indexes = plan.indexes
        self._buckets: dict[Index[Any, Any], dict[Any, set[Any]]] = {it: {} for it in plan.indexes}
        self._looked_at: set[tuple[Index[Any, Any], Any]] = set()
        for table, found in rows.items():
            self._draw(table, found.items())

    def keys(self, source: Table[Any, Any] | Index[Any, Any]) -> Iterable[Any]:
        if isinstance(source, Table):
            return tuple(self._rows.get(source, {}))
        return tuple(self._buckets[source])

    def read(self, table: Table[K, V], key: K) -> V | None:
        return self._rows.get(table, {}).get(key)

    def bucket(self, index: Index[B, M], key: B) -> frozenset[M]:
        self._looked_at.add((index, key))
        return frozenset(self._buckets[index].get(key, ()))

    def count(self, index: Index[B, M], key: B) -> int:
        self._looked_at.add((index, key))
        return len(self._buckets[index].get(key, ()))

    def ask(self, query: Query[K, V], key: K) -> V:
        if (query, key) not in self.answers:
            found = self.answers[query, key] = query.rule(self, key)
            # Also of a query that is only asked by others, as the claims of hosts are.
            self._draw(query, [(key, found)])
        answer: V = self.answers[query, key]
        return answer

    def demand(self, query: Query[K, Any], key: K) -> None:
        if (query, key) not in self.answers:
            self.demanded.add((query, key))

    def _draw(self, source: Any, found: Iterable[tuple[Any, Any]]) -> None:
        for index in self._indexes:
            if index.source is source:
                for key, value in found:
                    if value is not None:
                        for bucket, member in index.entries(key, value):
                            self._add(index, bucket, member)

    def _add(self, index: Index[Any, Any], bucket: Any, member: Any) -> None:
        found = self._buckets[index].setdefault(bucket, set())
        is_late = member not in found and (index, bucket) in self._looked_at
        assert not is_late, f"{index.name}: {bucket} was looked at before {member} was there"
        found.add(member)
