"""The engine: tracked, memoised queries over tables; a change costs what it touches.

It notes what each run of a rule reads. A write marks the readers of a row stale, transitively. A
stale answer is first *checked*: its recorded reads are compared in order, and only if one differs
does the rule run again; an equal answer keeps its identity: nothing above it runs (early cutoff).
No dependency is declared by hand. Answers nobody asks for, demands or keeps are forgotten.

The engine knows nothing of ingress; its nouns are in `view`. The theory: verifying traces and
early cutoff (Mokhov, Mitchell, Peyton Jones, "Build Systems à la Carte", section 4), staleness
pushed on write (Adapton).
"""

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dag.engine.memos import (
    DEMANDED,
    Bucket,
    Memo,
    Readers,
    Reads,
    Source,
    grouped,
    is_live,
    joined,
    sources,
    without,
)
from dag.engine.view import B, Change, Index, K, M, Plan, Query, Size, Table, V
from dag.engine.work import QueryCycleError, RuleFailedError, Work


class Engine:
    """The tracked view, the tables behind it, and the answers."""

    def __init__(self, plan: Plan) -> None:
        self.work = Work()
        self._rows: dict[Table[Any, Any], dict[Any, Any]] = {}
        self._row_readers: defaultdict[Table[Any, Any], dict[Any, Readers]] = defaultdict(dict)
        self._buckets: dict[Index[Any, Any], dict[Any, Bucket]] = {it: {} for it in plan.indexes}
        self._memos: defaultdict[Query[Any, Any], dict[Any, Memo]] = defaultdict(dict)
        self._indexes_of = grouped((it.source, it) for it in plan.indexes)
        self._kept_over = grouped((it.over, it) for it in plan.kept)
        self._published = frozenset(plan.published)
        stages = dict.fromkeys([*(it.query for it in plan.kept), *plan.published])
        sources = (it.source for it in plan.indexes if isinstance(it.source, Query))
        self._stage = {it: n for n, it in enumerate(dict.fromkeys([*stages, *sources]))}
        self._running: list[Memo] = []
        self._reads: list[Any] = []  # of what runs now
        self._due: list[deque[Memo]] = [deque() for _ in self._stage]
        self._first = len(self._due)  # no earlier stage has anything due
        self._stamp = itertools.count(1)
        self._before: dict[tuple[Query[Any, Any], Any], Any] = {}
        self._unread: set[Memo] = set()
        self._failed: set[Memo] = set()

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
        return [it for it in self.settling() if it is not None]

    def settling(self) -> Iterator[Change | None]:
        """The same step by step: None after each answer that was brought up to date, then the
        changes. Rows may be written between steps; nothing may be settled."""
        while True:
            while (memo := self._next_due()) is not None:
                if memo.stale and is_live(memo):
                    self._refresh(memo)
                    yield None
            if not self._unread:
                break
            self._forget_unread()
        before, self._before = self._before, {}
        for (query, key), old in before.items():
            new = self.answer(query, key)
            if new is not old and new != old:
                yield Change(query, key, old, new)

    def answer(self, query: Query[K, V], key: K) -> V | None:
        """The answer as it was last settled, from outside; None where there is none."""
        memo = self._memos.get(query, {}).get(key)
        return memo.answer if memo is not None else None

    def answers(self, query: Query[K, V]) -> Iterator[tuple[K, V]]:
        """Every answer of a query as it was last settled, for listings and tests.

        The engine may settle between two of them: keys that are new then are not listed.
        """
        memos = self._memos.get(query, {})
        for key in tuple(memos):
            memo = memos.get(key)
            if memo is not None and memo.answer is not None:
                yield key, memo.answer

    def row(self, table: Table[K, V], key: K) -> V | None:
        """A row as it was last written, from outside; None where there is none."""
        value: V | None = self._rows.get(table, {}).get(key)
        return value

    def rows(self, table: Table[K, V]) -> Iterator[tuple[K, V]]:
        """Every row of a table, for listings and tests; no rule may iterate a table.

        Rows may be written between two of them: those that are new then are not listed.
        """
        rows = self._rows.get(table, {})
        for key in tuple(rows):
            if key in rows:
                yield key, rows[key]

    def size(self, table: Table[K, V]) -> int:
        """How many rows a table has."""
        return len(self._rows.get(table, ()))

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
        self._note(self._memo(query, key), None, DEMANDED)

    def _note(self, source: Any, key: Any, seen: Any) -> None:
        if self._running:
            self._reads += (source, key, seen)

    # Checking and running.

    def _memo(self, query: Query[Any, Any], key: Any) -> Memo:
        memos = self._memos[query]
        memo = memos.get(key)
        if memo is None:
            memo = memos[key] = Memo(query, key)
            self._schedule(memo)
            if not self._running:
                self._unread.add(memo)
        return memo

    def _fresh(self, memo: Memo) -> None:
        if memo.running:
            path = [f"{it.query.name}({it.key})" for it in [*self._running, memo]]
            raise QueryCycleError(" -> ".join(path))
        if memo.stale:
            self._refresh(memo)

    def _refresh(self, memo: Memo) -> None:
        if memo.answered and memo.failure is None and self._are_as_seen(memo.reads):
            memo.stale = False
            return
        self._run(memo)

    def _are_as_seen(self, reads: Reads) -> bool:
        each = iter(reads)
        return all(map(self._is_as_seen, each, each, each))

    def _is_as_seen(self, source: Source, key: Any, seen: Any) -> bool:
        self.work.checks += 1
        if isinstance(source, Memo):
            if seen is DEMANDED:
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

    def _run(self, memo: Memo) -> None:
        self.work.runs += 1
        before, outer, self._reads = memo.reads, self._reads, []
        memo.running, failure, answer = True, None, memo.answer
        self._running.append(memo)
        try:
            answer = memo.query.rule(self, memo.key)
        except QueryCycleError:
            raise
        except Exception as raised:  # one rule's bug must not stop the others
            failure = raised
        finally:
            self._running.pop()
            memo.running = False
            reads, self._reads = tuple(self._reads), outer
        memo.reads = reads
        self._subscribe(memo, before)
        memo.stale = False
        self._note_failure(memo, failure)
        if failure is None:
            self._take(memo, answer)

    def _note_failure(self, memo: Memo, failure: Exception | None) -> None:
        memo.failure = failure
        if failure is None:
            self._failed.discard(memo)
        else:
            self._failed.add(memo)

    def _take(self, memo: Memo, answer: Any) -> None:
        old, memo.answered = memo.answer, True
        if answer is old or answer == old:
            return
        memo.answer = answer
        self._report(memo, old)
        self._index(memo.query, memo.key, old, answer)

    def _report(self, memo: Memo, old: Any) -> None:
        if memo.query in self._published:
            self._before.setdefault((memo.query, memo.key), old)

    # Who reads what.

    def _subscribe(self, memo: Memo, before: Reads) -> None:
        now = sources(memo.reads)
        if not before:
            for source in now:
                self._join(memo, *source)
            return
        was = sources(before)
        for source in now - was:
            self._join(memo, *source)
        for source in was - now:
            self._leave(memo, *source)

    def _join(self, memo: Memo, source: Source, key: Any, demanded: bool) -> None:
        if isinstance(source, Memo):
            if demanded:
                source.holders += 1
            else:
                source.readers = joined(source.readers, memo)
        elif isinstance(source, Table):
            readers = self._row_readers[source]
            readers[key] = joined(readers.get(key, ()), memo)
        elif isinstance(source, Size):
            bucket = self._bucket(source.index, key)
            bucket.counters = joined(bucket.counters, memo)
        else:
            bucket = self._bucket(source, key)
            bucket.readers = joined(bucket.readers, memo)

    def _leave(self, memo: Memo, source: Source, key: Any, demanded: bool) -> None:
        if isinstance(source, Memo):
            if demanded:
                source.holders -= 1
            else:
                source.readers = without(source.readers, memo)
            if not is_live(source):
                self._unread.add(source)
        elif isinstance(source, Table):
            readers = without(self._row_readers[source][key], memo)
            if readers:
                self._row_readers[source][key] = readers
            else:
                del self._row_readers[source][key]
        elif isinstance(source, Size):
            bucket = self._buckets[source.index][key]
            bucket.counters = without(bucket.counters, memo)
            self._drop_idle_bucket(source.index, key, bucket)
        else:
            bucket = self._buckets[source][key]
            bucket.readers = without(bucket.readers, memo)
            self._drop_idle_bucket(source, key, bucket)

    def _wake(self, readers: Iterable[Memo]) -> None:
        pending = list(readers)
        while pending:
            memo = pending.pop()
            if memo.stale:
                continue
            memo.stale = True
            self.work.woken += 1
            self._schedule(memo)
            pending.extend(memo.readers)

    def _schedule(self, memo: Memo) -> None:
        """To be settled in its turn, if its query has one."""
        stage = self._stage.get(memo.query)
        if stage is not None:
            self._due[stage].append(memo)
            self._first = min(self._first, stage)

    def _next_due(self) -> Memo | None:
        """The first of the earliest stage."""
        while self._first < len(self._due):
            if self._due[self._first]:
                return self._due[self._first].popleft()
            self._first += 1
        return None

    def _forget_unread(self) -> None:
        while self._unread:
            memo = self._unread.pop()
            if is_live(memo) or self._memos[memo.query].get(memo.key) is not memo:
                continue
            del self._memos[memo.query][memo.key]
            self._failed.discard(memo)
            before, memo.reads = memo.reads, ()
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

    def _bucket(self, index: Index[Any, Any], key: Any) -> Bucket:
        buckets = self._buckets[index]
        found = buckets.get(key)
        if found is None:
            found = buckets[key] = Bucket()
        return found

    def _drop_idle_bucket(self, index: Index[Any, Any], key: Any, bucket: Bucket) -> None:
        if not (bucket.members or bucket.readers or bucket.counters):
            self._buckets[index].pop(key, None)

    def _keep(self, source: Any, key: Any, *, born: bool) -> None:
        for kept in self._kept_over.get(source, ()):
            memo = self._memo(kept.query, kept.key(key))
            memo.holders += 1 if born else -1
            if is_live(memo):
                self._unread.discard(memo)
            else:
                self._unread.add(memo)


_NO_ENTRIES: frozenset[Any] = frozenset()
