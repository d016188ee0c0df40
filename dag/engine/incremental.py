"""The engine: tracked, memoised queries over tables; a change costs what it touches.

It notes what each run of a rule reads. A write marks the readers of a row stale, transitively. A
stale answer is first *checked*: its recorded reads are compared in order, and only if one differs
does the rule run again; an equal answer keeps its identity: nothing above it runs (early cutoff).
No dependency is declared by hand. Answers nobody asks for, demands or keeps are forgotten.

The engine knows nothing of ingress; its nouns are in `view`. The theory: verifying traces and
early cutoff (Mokhov, Mitchell, Peyton Jones, "Build Systems à la Carte", section 4), staleness
pushed on write (Adapton).
"""

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, overload

from dag.engine.view import B, Change, Index, K, M, Plan, Query, Size, Table, V
from dag.engine.work import QueryCycleError, RuleFailedError, Work

Source: TypeAlias = "_Memo | Table[Any, Any] | Size | Index[Any, Any]"
Read: TypeAlias = tuple[Source, Any, Any]
"""What was read, its key, and what was seen."""


@dataclass(slots=True, eq=False)
class _Memo:
    query: Query[Any, Any]
    key: Any
    answer: Any = None
    reads: list[Read] = field(default_factory=list)
    readers: set["_Memo"] = field(default_factory=set)
    holders: int = 0  # keepers and demanders
    stale: bool = True
    answered: bool = False
    running: bool = False
    failure: Exception | None = None


class _DemandedType:
    """Stands in a read's place for what was seen, where the answer does not matter."""


_DEMANDED = _DemandedType()


@dataclass(slots=True, eq=False)
class _Bucket:
    members: dict[Any, int] = field(default_factory=dict)
    readers: set[_Memo] = field(default_factory=set)
    counters: set[_Memo] = field(default_factory=set)
    stamp: int = 0


class Engine:
    """The tracked view, the tables behind it, and the answers."""

    def __init__(self, plan: Plan) -> None:
        self.work = Work()
        self._rows: dict[Table[Any, Any], dict[Any, Any]] = {}
        self._row_readers: dict[Table[Any, Any], dict[Any, set[_Memo]]] = {}
        self._buckets: dict[Index[Any, Any], dict[Any, _Bucket]] = {it: {} for it in plan.indexes}
        self._memos: dict[Query[Any, Any], dict[Any, _Memo]] = {}
        self._indexes_of = _grouped((it.source, it) for it in plan.indexes)
        self._kept_over = _grouped((it.over, it) for it in plan.kept)
        self._published = frozenset(plan.published)
        stages = dict.fromkeys([*(it.query for it in plan.kept), *plan.published])
        sources = (it.source for it in plan.indexes if isinstance(it.source, Query))
        self._stage = {it: n for n, it in enumerate(dict.fromkeys([*stages, *sources]))}
        self._running: list[_Memo] = []
        self._due: list[tuple[int, int, _Memo]] = []
        self._ticket = itertools.count()
        self._stamp = itertools.count(1)
        self._before: dict[tuple[Query[Any, Any], Any], Any] = {}
        self._unread: set[_Memo] = set()
        self._failed: set[_Memo] = set()

    # Writing and settling.

    def write(self, table: Table[K, V], key: K, value: V | None) -> None:
        """Puts a row, or removes it with None. An equal row changes nothing."""
        rows = self._rows.setdefault(table, {})
        old = rows.get(key)
        if old is value or old == value:
            return
        if value is None:
            del rows[key]
        else:
            rows[key] = value
        self._wake(self._row_readers.get(table, {}).get(key, ()))
        self._index(table, key, old, value)
        if (old is None) != (value is None):
            self._keep(table, key, born=old is None)

    def settle(self) -> list[Change]:
        """Brings every kept answer up to date; the published answers that really changed."""
        while self._due or self._unread:
            while self._due:
                memo = heapq.heappop(self._due)[2]
                if memo.stale and _is_live(memo):
                    self._refresh(memo)
            self._forget_unread()
        changes = [
            Change(query, key, old, new)
            for (query, key), old in self._before.items()
            if (new := self.answer(query, key)) is not old and new != old
        ]
        self._before.clear()
        return changes

    def answer(self, query: Query[K, V], key: K) -> V | None:
        """The answer as it was last settled, from outside; None where there is none."""
        memo = self._memos.get(query, {}).get(key)
        return memo.answer if memo is not None else None

    def answers(self, query: Query[K, V]) -> Iterator[tuple[K, V]]:
        """Every answer of a query as it was last settled, for listings and tests."""
        for key, memo in self._memos.get(query, {}).items():
            if memo.answer is not None:
                yield key, memo.answer

    def row(self, table: Table[K, V], key: K) -> V | None:
        """A row as it was last written, from outside; None where there is none."""
        value: V | None = self._rows.get(table, {}).get(key)
        return value

    def rows(self, table: Table[K, V]) -> Sequence[tuple[K, V]]:
        """Every row of a table, for listings and tests; no rule may iterate a table."""
        return tuple(self._rows.get(table, {}).items())

    @property
    def failures(self) -> Sequence[tuple[Query[Any, Any], Any, Exception]]:
        """The rules that raised when they last ran: bugs; their last good answers still stand."""
        return [(it.query, it.key, it.failure) for it in self._failed if it.failure is not None]

    # The view that rules see.

    def read(self, table: Table[K, V], key: K) -> V | None:
        value: V | None = self._rows.get(table, {}).get(key)
        self._note(table, key, value)
        return value

    def bucket(self, index: Index[B, M], key: B) -> frozenset[M]:
        bucket = self._buckets[index].get(key)
        self._note(index, key, bucket.stamp if bucket else 0)
        return frozenset(bucket.members) if bucket else frozenset()

    def count(self, index: Index[B, M], key: B) -> int:
        bucket = self._buckets[index].get(key)
        number = len(bucket.members) if bucket else 0
        self._note(index.size, key, number)
        return number

    def ask(self, query: Query[K, V], key: K) -> V:
        memo = self._memo(query, key)
        self._fresh(memo)
        self._note(memo, None, memo.answer)
        if not memo.answered:
            raise RuleFailedError(f"{query.name}({key}) never had an answer") from memo.failure
        return memo.answer  # type: ignore[no-any-return]

    def demand(self, query: Query[K, Any], key: K) -> None:
        self._note(self._memo(query, key), None, _DEMANDED)

    def _note(self, source: Any, key: Any, seen: Any) -> None:
        if self._running:
            self._running[-1].reads.append((source, key, seen))

    # Checking and running.

    def _memo(self, query: Query[Any, Any], key: Any) -> _Memo:
        memos = self._memos.setdefault(query, {})
        memo = memos.get(key)
        if memo is None:
            memo = memos[key] = _Memo(query, key)
            if query in self._stage:
                self._schedule(memo)
            if not self._running:
                self._unread.add(memo)
        return memo

    def _fresh(self, memo: _Memo) -> None:
        if memo.running:
            path = [f"{it.query.name}({it.key})" for it in [*self._running, memo]]
            raise QueryCycleError(" -> ".join(path))
        if memo.stale:
            self._refresh(memo)

    def _refresh(self, memo: _Memo) -> None:
        if memo.answered and memo.failure is None and all(map(self._is_as_seen, memo.reads)):
            memo.stale = False
            return
        self._run(memo)

    def _is_as_seen(self, read: Read) -> bool:
        self.work.checks += 1
        source, key, seen = read
        if isinstance(source, _Memo):
            if seen is _DEMANDED:
                return True
            self._fresh(source)
            return source.answer is seen
        if isinstance(source, Table):
            return self._rows.get(source, {}).get(key) is seen
        if isinstance(source, Size):
            bucket = self._buckets[source.index].get(key)
            return bool(seen == (len(bucket.members) if bucket else 0))
        bucket = self._buckets[source].get(key)
        return bool(seen == (bucket.stamp if bucket else 0))

    def _run(self, memo: _Memo) -> None:
        self.work.runs += 1
        before, memo.reads = memo.reads, []
        memo.running, failure, answer = True, None, memo.answer
        self._running.append(memo)
        try:
            answer = memo.query.rule(self, memo.key)
        except QueryCycleError:
            memo.reads = before
            raise
        except Exception as raised:  # one rule's bug must not stop the others
            failure = raised
        finally:
            self._running.pop()
            memo.running = False
        self._subscribe(memo, before)
        memo.stale = False
        self._note_failure(memo, failure)
        if failure is None:
            self._take(memo, answer)

    def _note_failure(self, memo: _Memo, failure: Exception | None) -> None:
        memo.failure = failure
        if failure is None:
            self._failed.discard(memo)
        else:
            self._failed.add(memo)

    def _take(self, memo: _Memo, answer: Any) -> None:
        old, memo.answered = memo.answer, True
        if answer is old or answer == old:
            return
        memo.answer = answer
        self._report(memo, old)
        self._index(memo.query, memo.key, old, answer)

    def _report(self, memo: _Memo, old: Any) -> None:
        if memo.query in self._published:
            self._before.setdefault((memo.query, memo.key), old)

    # Who reads what.

    def _subscribe(self, memo: _Memo, before: list[Read]) -> None:
        was, now = _sources(before), _sources(memo.reads)
        for source in now - was if was else now:
            self._join(memo, *source)
        for source in was - now if was else ():
            self._leave(memo, *source)

    def _join(self, memo: _Memo, source: Source, key: Any, demanded: bool) -> None:
        if isinstance(source, _Memo):
            if demanded:
                source.holders += 1
            else:
                source.readers.add(memo)
        elif isinstance(source, Table):
            self._row_readers.setdefault(source, {}).setdefault(key, set()).add(memo)
        elif isinstance(source, Size):
            self._bucket(source.index, key).counters.add(memo)
        else:
            self._bucket(source, key).readers.add(memo)

    def _leave(self, memo: _Memo, source: Source, key: Any, demanded: bool) -> None:
        if isinstance(source, _Memo):
            if demanded:
                source.holders -= 1
            else:
                source.readers.discard(memo)
            if not _is_live(source):
                self._unread.add(source)
        elif isinstance(source, Table):
            readers = self._row_readers[source][key]
            readers.discard(memo)
            if not readers:
                del self._row_readers[source][key]
        else:
            index = source.index if isinstance(source, Size) else source
            bucket = self._buckets[index][key]
            (bucket.counters if isinstance(source, Size) else bucket.readers).discard(memo)
            self._drop_idle_bucket(index, key, bucket)

    def _wake(self, readers: Iterable[_Memo]) -> None:
        pending = list(readers)
        while pending:
            memo = pending.pop()
            if memo.stale:
                continue
            memo.stale = True
            self.work.woken += 1
            if memo.query in self._stage:
                self._schedule(memo)
            pending.extend(memo.readers)

    def _schedule(self, memo: _Memo) -> None:
        heapq.heappush(self._due, (self._stage[memo.query], next(self._ticket), memo))

    def _forget_unread(self) -> None:
        while self._unread:
            memo = self._unread.pop()
            if _is_live(memo) or self._memos[memo.query].get(memo.key) is not memo:
                continue
            del self._memos[memo.query][memo.key]
            self._failed.discard(memo)
            before, memo.reads = memo.reads, []
            self._subscribe(memo, before)
            if memo.answer is not None:
                self._report(memo, memo.answer)
                self._index(memo.query, memo.key, memo.answer, None)

    # Indexes and what is kept over their buckets.

    def _index(self, source: Any, key: Any, old: Any, new: Any) -> None:
        for index in self._indexes_of.get(source, ()):
            was = set(index.entries(key, old)) if old is not None else _NO_ENTRIES
            now = set(index.entries(key, new)) if new is not None else _NO_ENTRIES
            for bucket, member in was - now:
                self._count_member(index, bucket, member, -1)
            for bucket, member in now - was:
                self._count_member(index, bucket, member, +1)

    def _count_member(self, index: Index[Any, Any], key: Any, member: Any, step: int) -> None:
        bucket = self._bucket(index, key)
        number = bucket.members.get(member, 0) + step
        if number:
            bucket.members[member] = number
        else:
            del bucket.members[member]
        if number != (1 if step > 0 else 0):
            return
        bucket.stamp = next(self._stamp)
        self._wake(bucket.readers)
        self._wake(bucket.counters)
        if len(bucket.members) == (1 if step > 0 else 0):
            self._keep(index, key, born=step > 0)
        self._drop_idle_bucket(index, key, bucket)

    def _bucket(self, index: Index[Any, Any], key: Any) -> _Bucket:
        buckets = self._buckets[index]
        found = buckets.get(key)
        if found is None:
            found = buckets[key] = _Bucket()
        return found

    def _drop_idle_bucket(self, index: Index[Any, Any], key: Any, bucket: _Bucket) -> None:
        if not (bucket.members or bucket.readers or bucket.counters):
            self._buckets[index].pop(key, None)

    def _keep(self, source: Any, key: Any, *, born: bool) -> None:
        for kept in self._kept_over.get(source, ()):
            memo = self._memo(kept.query, kept.key(key))
            memo.holders += 1 if born else -1
            if not _is_live(memo):
                self._unread.add(memo)


_NO_ENTRIES: frozenset[Any] = frozenset()


def _is_live(memo: _Memo) -> bool:
    return bool(memo.holders or memo.readers)


def _sources(reads: list[Read]) -> set[tuple[Source, Any, bool]]:
    return {(source, key, seen is _DEMANDED) for source, key, seen in reads}


G = TypeVar("G")
I = TypeVar("I")  # noqa: E741


@overload
def _grouped(pairs: Iterable[tuple[G, I]]) -> dict[G, list[I]]: ...
@overload
def _grouped(pairs: Iterable[tuple[Any, I]]) -> dict[Any, list[I]]: ...
def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups
