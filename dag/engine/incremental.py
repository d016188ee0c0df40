"""The engine: tracked, memoised queries over tables; a change costs what it touches.

The engine notes what each run of a rule reads. A write marks the readers of a row stale,
transitively. A stale answer is first *checked*: its recorded reads are compared in order, and only
if one differs does the rule run again; an equal answer keeps its identity: nothing above it runs
(early cutoff). No dependency is declared by hand. An answer that nobody asks for, demands or keeps
is forgotten.

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
    Answers,
    Buckets,
    Memo,
    Readable,
    Readers,
    Rows,
    Seen,
    States,
    drawn_from,
    each,
    entered,
    firsts,
    is_live,
    joined,
    kept_over,
    left,
    moved,
    pairs,
    read_alike,
    without,
)
from dag.engine.view import B, Change, Family, Index, K, Kept, M, Plan, Query, Table, V
from dag.engine.work import QueryCycleError, RuleFailedError, Work


class Engine:
    """The tracked view, the tables behind it, and the answers."""

    def __init__(self, plan: Plan) -> None:
        self.work = Work()
        self._plan = plan
        stages = dict.fromkeys([*(it.query for it in plan.kept), *plan.published])
        sources = (it.source for it in plan.indexes if isinstance(it.source, Query))
        self._stage = {it: n for n, it in enumerate(dict.fromkeys([*stages, *sources]))}
        self._buckets = {it: Buckets(it, kept_over(plan, it)) for it in plan.indexes}
        self._rows: States[Table[Any, Any], Rows] = States(self._of_table)
        self._seen_by_family: defaultdict[Family | None, dict[Any, Seen]] = defaultdict(dict)
        self._answers: States[Query[Any, Any], Answers] = States(self._of_query)
        self._running: dict[Memo, None] = {}  # the one that asked for another before that
        self._reads: dict[Readable, Any] = {}  # of what runs now
        self._due: list[deque[Memo]] = [deque() for _ in self._stage]
        self._first = len(self._due)  # no earlier stage has anything due
        self._stamp = itertools.count(1)
        self._before: dict[Memo, Any] = {}  # answers of published queries
        self._has_forgotten = False  # one of these: another may be in its place
        self._unread: set[Memo] = set()
        self._failed: dict[Memo, Exception] = {}

    def _of_table(self, table: Table[Any, Any]) -> Rows:
        is_of_family = table.family is not None
        seen = self._seen_by_family[table.family] if is_of_family else {}
        indexes = drawn_from(table, self._buckets)
        return Rows(indexes, kept_over(self._plan, table), seen, is_of_family)

    def _of_query(self, query: Query[Any, Any]) -> Answers:
        stage, is_published = self._stage.get(query), query in self._plan.published
        return Answers(query, drawn_from(query, self._buckets), stage, is_published)

    # Writing and settling.

    def write(self, table: Table[K, V], key: K, value: V | None) -> None:
        """Writes a row, or removes it if it is None. An equal row changes nothing."""
        rows = self._rows[table]
        old = rows.values.get(key)
        if old is value or old == value:
            return
        if value is None:
            del rows.values[key]
        else:
            rows.values[key] = value
        self._alter(rows.seen, key, next(self._stamp) if rows.is_of_family else value)
        self._index(rows.indexes, key, old, value)
        if (old is None) != (value is None):
            self._keep(rows.kept, key, born=old is None)

    def settle(self) -> list[Change]:
        """Brings every kept answer up to date; returns published answers that really changed."""
        return [it for it in self.settling() if it is not None]

    def settling(self) -> Iterator[Change | None]:
        """`settle`, step by step: yields None after each answer brought up to date, then the
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
        forgot, self._has_forgotten = self._has_forgotten, False
        for memo, old in firsts(before) if forgot else before.items():
            new = self.answer(memo.of.query, memo.key) if forgot else memo.answer
            if new is not old and new != old:
                yield Change(memo.of.query, memo.key, old, new)

    def answer(self, query: Query[K, V], key: K) -> V | None:
        """The answer as it was last settled, from outside; None where there is none."""
        memo = self._answers[query].memos.get(key)
        return memo.answer if memo is not None else None

    def answers(self, query: Query[K, V]) -> Iterator[tuple[K, V]]:
        """Every answer of a query as it was last settled, for listings and tests.

        The engine may settle between two of them: keys that are new then are not listed.
        """
        memos = self._answers[query].memos
        for key in tuple(memos):
            memo = memos.get(key)
            if memo is not None and memo.answer is not None:
                yield key, memo.answer

    def row(self, table: Table[K, V], key: K) -> V | None:
        """A row as it was last written, from outside; None where there is none."""
        value: V | None = self._rows[table].values.get(key)
        return value

    def rows(self, table: Table[K, V]) -> Iterator[tuple[K, V]]:
        """Every row of a table, for listings and tests; no rule may iterate a table.

        Rows may be written between two of them: those that are new then are not listed.
        """
        rows = self._rows[table].values
        for key in tuple(rows):
            if key in rows:
                yield key, rows[key]

    def size(self, table: Table[K, V]) -> int:
        """How many rows a table has."""
        return len(self._rows[table].values)

    @property
    def failures(self) -> Sequence[tuple[Query[Any, Any], Any, Exception]]:
        """The rules that raised when they last ran: bugs. Their last good answers stay."""
        return [(it.of.query, it.key, failure) for it, failure in self._failed.items()]

    # The view that rules see.

    def read(self, table: Table[K, V], key: K) -> V | None:
        rows = self._rows[table]
        value: V | None = rows.values.get(key)
        self._look(rows.seen, key, 0 if rows.is_of_family else value)
        return value

    def bucket(self, index: Index[B, M], key: B) -> frozenset[M]:
        buckets = self._buckets[index]
        self._look(buckets.seen, key, 0)
        return frozenset(buckets.members.get(key, ()))

    def count(self, index: Index[B, M], key: B) -> int:
        buckets = self._buckets[index]
        number = len(buckets.members.get(key, ()))
        self._look(buckets.sizes_seen, key, number)
        return number

    def ask(self, query: Query[K, V], key: K) -> V:
        answers = self._answers[query]
        memo = answers.memos.get(key) or self._new(answers, key)
        if memo.stale:
            self._refresh(memo)
        if self._running:
            self._reads[memo] = memo.answer
        if not memo.answered:
            raise RuleFailedError(f"{query.name}({key}) never had an answer") from self._failed.get(
                memo
            )
        return memo.answer  # type: ignore[no-any-return]

    def demand(self, query: Query[K, Any], key: K) -> None:
        memo = self._to_be_settled(query, key)
        if self._running:
            self._reads.setdefault(memo, DEMANDED)

    def _look(self, known: dict[Any, Seen], key: Any, now: Any) -> None:
        """Notes a read; `now` is what is there if nobody has looked at it yet."""
        if not self._running:
            return
        seen = known.get(key)
        if seen is None:
            seen = known[key] = Seen(key, now, (), known)
        self._reads[seen] = seen.answer

    def _new(self, answers: Answers, key: Any) -> Memo:
        memo = answers.memos[key] = Memo(key, None, (), answers)
        if not self._running:
            self._unread.add(memo)
        return memo

    def _to_be_settled(self, query: Query[Any, Any], key: Any) -> Memo:
        answers = self._answers[query]
        memo = answers.memos.get(key)
        if memo is None:
            memo = self._new(answers, key)
            self._schedule(memo)
        return memo

    # Checking and running.

    def _refresh(self, memo: Memo) -> None:
        if memo in self._running:
            path = [f"{it.of.query.name}({it.key})" for it in [*self._running, memo]]
            raise QueryCycleError(" -> ".join(path))
        if memo.answered and memo not in self._failed and self._are_as_seen(memo):
            memo.stale = False
            return
        self._run(memo)

    def _are_as_seen(self, memo: Memo) -> bool:
        for source, seen in pairs(memo.reads):
            self.work.checks += 1
            if seen is DEMANDED:
                continue
            if isinstance(source, Memo) and source.stale:
                self._refresh(source)
            if source.answer is not seen:
                return False
        return True

    def _run(self, memo: Memo) -> None:
        self.work.runs += 1
        outer, self._reads = self._reads, {}
        failure, answer = None, memo.answer
        self._running[memo] = None
        try:
            answer = memo.of.query.rule(self, memo.key)
        except QueryCycleError:
            raise
        except Exception as raised:  # one rule's bug must not stop the others
            failure = raised
        finally:
            del self._running[memo]
            reads, self._reads = self._reads, outer
        self._subscribe(memo, reads)
        memo.stale = False
        if failure is None:
            self._failed.pop(memo, None)
            self._take(memo, answer)
        else:
            self._failed[memo] = failure

    def _take(self, memo: Memo, answer: Any) -> None:
        old, memo.answered = memo.answer, True
        if answer is old or (old is not None and answer == old):
            return
        memo.answer = answer
        self._report(memo, old)
        self._index(memo.of.indexes, memo.key, old, answer)

    def _report(self, memo: Memo, old: Any) -> None:
        if memo.of.is_published:
            self._before.setdefault(memo, old)

    # Who reads what.

    def _subscribe(self, memo: Memo, reads: dict[Readable, Any]) -> None:
        before, memo.reads = memo.reads, (*reads, *reads.values())
        if not before:
            for source, seen in reads.items():  # most of what is ever read is read here
                if seen is DEMANDED:
                    self._join(memo, source, demanded=True)
                elif not (readers := source.readers):
                    source.readers = memo
                elif type(readers) is dict:
                    readers[memo] = None
                else:
                    source.readers = joined(readers, memo)
            return
        if read_alike(before, memo.reads):
            return
        was = {(source, seen is DEMANDED) for source, seen in pairs(before)}
        now = {(source, seen is DEMANDED) for source, seen in reads.items()}
        for source, demanded in now - was:
            self._join(memo, source, demanded=demanded)
        for source, demanded in was - now:
            self._leave(memo, source, demanded=demanded)

    def _join(self, memo: Memo, source: Readable, *, demanded: bool) -> None:
        if demanded and isinstance(source, Memo):
            source.holders += 1
        else:
            source.readers = joined(source.readers, memo)

    def _leave(self, memo: Memo, source: Readable, *, demanded: bool) -> None:
        if demanded and isinstance(source, Memo):
            source.holders -= 1
        else:
            source.readers = without(source.readers, memo)
        if isinstance(source, Seen):
            if not source.readers:
                source.forget()
        elif not is_live(source):
            self._unread.add(source)

    def _alter(self, known: dict[Any, Seen], key: Any, now: Any) -> None:
        """A row, a bucket or its size is different."""
        seen = known.get(key)
        if seen is not None:
            seen.answer = now
            self._wake(seen.readers)

    def _wake(self, readers: Readers) -> None:
        pending = list(each(readers))
        while pending:
            memo = pending.pop()
            if memo.stale:
                continue
            memo.stale = True
            self.work.woken += 1
            self._schedule(memo)
            pending.extend(each(memo.readers))

    def _schedule(self, memo: Memo) -> None:
        """To be settled in its turn, if its query has one."""
        stage = memo.of.stage
        if stage is not None:
            self._due[stage].append(memo)
            self._first = min(self._first, stage)

    def _next_due(self) -> Memo | None:
        """The first of the earliest stage."""
        for stage in range(self._first, len(self._due)):
            if due := self._due[stage]:
                self._first = stage
                return due.popleft()
        self._first = len(self._due)
        return None

    def _forget_unread(self) -> None:
        while self._unread:
            memo = self._unread.pop()
            if is_live(memo) or memo.of.memos.get(memo.key) is not memo:
                continue
            del memo.of.memos[memo.key]
            self._failed.pop(memo, None)
            self._subscribe(memo, {})
            if memo.of.is_published:
                self._has_forgotten = True
            if memo.answer is not None:
                self._report(memo, memo.answer)
                self._index(memo.of.indexes, memo.key, memo.answer, None)

    # Indexes and what is kept over their buckets.

    def _index(self, indexes: Iterable[Buckets], key: Any, old: Any, new: Any) -> None:
        for buckets in indexes:
            gone, come = moved(buckets.index.entries, key, old, new)
            for bucket, member in gone:
                self._count_member(buckets, bucket, member, -1)
            for bucket, member in come:
                self._count_member(buckets, bucket, member, +1)

    def _count_member(self, buckets: Buckets, key: Any, member: Any, step: int) -> None:
        members = buckets.members.get(key, ())
        before = len(members)
        members = entered(members, member) if step > 0 else left(members, member)
        if members:
            buckets.members[key] = members
        else:
            del buckets.members[key]
        if len(members) == before:
            return
        self._alter(buckets.seen, key, next(self._stamp))
        self._alter(buckets.sizes_seen, key, len(members))
        if not before or not members:
            self._keep(buckets.kept, key, born=not before)

    def _keep(self, over: Iterable[Kept], key: Any, *, born: bool) -> None:
        """What is kept over a row or a bucket comes or goes with it."""
        for kept in over:
            memo = self._to_be_settled(kept.query, kept.key(key))
            memo.holders += 1 if born else -1
            if is_live(memo):
                self._unread.discard(memo)
            else:
                self._unread.add(memo)
