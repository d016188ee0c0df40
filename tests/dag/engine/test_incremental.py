"""The engine by itself, on a toy world: words, their lengths, and sums over groups."""

import random
from collections.abc import Iterable
from typing import Any

import pytest

from dag.engine.incremental import Engine
from dag.engine.view import Change, Family, Index, Kept, OpenQuery, Plan, Table, View, query
from dag.engine.work import QueryCycleError
from tests.laws import rebuild

# A group lists words; a word may be missing; the longest word of a group is published.
GROUPS: Table[str, tuple[str, ...]] = Table("groups")
# What is said of a word besides stands in a table of the same family.
LEXICON = Family()
WORDS: Table[str, str] = Table("words", LEXICON)
ACCENTS: Table[str, str] = Table("accents", LEXICON)


def _words(key: str, words: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    return ((word, key) for word in words)


GROUPS_WITH: Index[str, str] = Index("groups with", GROUPS, _words)


@query
def length(view: View, word: str) -> int:
    text = view.read(WORDS, word)
    if text == "raise":
        raise ValueError(word)
    return len(text) if text is not None else -1


@query
def longest(view: View, group: str) -> int | None:
    words = view.read(GROUPS, group)
    if words is None:
        return None
    return max((view.ask(length, word) for word in words), default=None)


@query
def usage(view: View, word: str) -> tuple[str, ...]:
    return tuple(sorted(view.bucket(GROUPS_WITH, word)))


@query
def usages(view: View, word: str) -> int:
    return view.count(GROUPS_WITH, word)


def _by_length(group: str, answer: int) -> Iterable[tuple[int, str]]:
    return [(answer, group)]


BY_LENGTH: Index[int, str] = Index("groups by length", longest, _by_length)


@query
def rivals(view: View, number: int) -> tuple[str, ...] | None:
    return tuple(sorted(view.bucket(BY_LENGTH, number))) or None


@query
def spelling(view: View, word: str) -> str:
    return (view.read(WORDS, word) or "?").upper() + (view.read(ACCENTS, word) or "")


@query
def poster(view: View, group: str) -> str | None:
    words = view.read(GROUPS, group)
    for word in words or ():
        view.demand(spelling, word)
    return group if words else None


PLAN = Plan(
    indexes=(GROUPS_WITH, BY_LENGTH),
    kept=(
        Kept(longest, GROUPS),
        Kept(usage, WORDS),
        Kept(usages, WORDS),
        Kept(rivals, BY_LENGTH),
        Kept(poster, GROUPS),
    ),
    published=(longest, usage, usages, rivals, poster, spelling),
)


def _engine(**groups: tuple[str, ...]) -> Engine:
    engine = Engine(PLAN)
    for group, words in groups.items():
        engine.write(GROUPS, group, words)
    engine.settle()
    return engine


def test_a_change_wakes_only_what_read_it() -> None:
    engine = _engine(a=("x", "y"), b=("z",))
    before = engine.work.runs
    engine.write(WORDS, "z", "zebra")
    changes = engine.settle()
    assert {(it.query, it.key) for it in changes} >= {(longest, "b"), (spelling, "z")}
    assert engine.answer(longest, "a") == -1
    assert engine.work.runs - before <= 7


def test_a_look_at_one_table_of_a_family_is_a_look_at_all_of_them() -> None:
    engine = _engine(a=("x", "y"))
    assert len(engine._rows[WORDS].seen) == 2
    for accent, old, new in (("'", "?", "?'"), ("!", "?'", "?!"), (None, "?!", "?")):
        before = engine.work.runs
        engine.write(ACCENTS, "x", accent)
        assert engine.settle() == [Change(spelling, "x", old, new)]
        assert engine.work.runs - before == 2  # its length was looked up as well


def test_absence_is_a_value_and_birth_wakes_who_looked() -> None:
    engine = _engine(a=("x",))
    assert engine.answer(longest, "a") == -1
    engine.write(WORDS, "x", "four")
    engine.settle()
    assert engine.answer(longest, "a") == 4


def test_an_equal_answer_stops_the_wave() -> None:
    engine = _engine(a=("x",))
    engine.write(WORDS, "x", "four")
    engine.settle()
    engine.write(WORDS, "x", "five")
    assert longest not in {it.query for it in engine.settle()}


def test_an_equal_row_changes_nothing() -> None:
    engine = _engine(a=("x", "y"))
    woken = engine.work.woken
    engine.write(GROUPS, "a", ("x", "y"))
    assert engine.settle() == []
    assert engine.work.woken == woken


def test_a_count_wakes_its_reader_only_when_the_number_changes() -> None:
    engine = _engine(a=("x",), b=())
    engine.write(WORDS, "x", "x")
    engine.settle()
    engine.write(GROUPS, "a", ())
    engine.write(GROUPS, "b", ("x",))
    changed = {it.query for it in engine.settle()}
    assert usage in changed
    assert usages not in changed


def test_a_demanded_answer_lives_as_long_as_somebody_demands_it() -> None:
    engine = _engine(a=("x",), b=("x",))
    engine.write(GROUPS, "a", None)
    engine.settle()
    assert engine.answer(spelling, "x") == "?"
    engine.write(GROUPS, "b", None)
    assert Change(spelling, "x", "?", None) in engine.settle()
    assert engine.answer(spelling, "x") is None


def test_a_demand_does_not_wake_the_one_who_demands() -> None:
    @query
    def shout(view: View, word: str) -> str:
        return (view.read(WORDS, word) or "?").upper()

    @query
    def crowd(view: View, group: str) -> int:
        view.demand(shout, "x")
        return 1

    engine = Engine(Plan(kept=(Kept(crowd, GROUPS),), published=(shout, crowd)))
    engine.write(GROUPS, "a", ())
    engine.settle()
    runs, woken = engine.work.runs, engine.work.woken
    engine.write(WORDS, "x", "abc")
    assert engine.settle() == [Change(shout, "x", "?", "ABC")]
    assert (engine.work.runs - runs, engine.work.woken - woken) == (1, 1)


def test_a_change_that_is_taken_back_before_settling_is_not_reported() -> None:
    engine = _engine(a=("x",))
    engine.write(WORDS, "x", "abc")
    engine.settle()
    engine.write(WORDS, "x", "abcd")
    engine.write(WORDS, "x", "abc")
    assert engine.settle() == []


def test_a_rule_that_raises_keeps_its_last_good_answer_and_harms_no_other() -> None:
    engine = _engine(a=("x",), b=("z",))
    engine.write(WORDS, "x", "good")
    engine.settle()
    engine.write(WORDS, "x", "raise")
    engine.write(WORDS, "z", "zz")
    engine.settle()
    assert engine.answer(longest, "a") == 4
    assert engine.answer(longest, "b") == 2
    assert [(it.name, key) for it, key, _ in engine.failures] == [("length", "x")]
    engine.write(WORDS, "x", "better")
    engine.settle()
    assert engine.answer(longest, "a") == 6
    assert not engine.failures


def test_a_rule_that_raises_at_first_leaves_only_its_askers_without_an_answer() -> None:
    engine = Engine(PLAN)
    engine.write(WORDS, "x", "raise")
    engine.write(GROUPS, "a", ("x",))
    engine.write(GROUPS, "b", ("z",))
    engine.settle()
    assert engine.answer(longest, "a") is None
    assert engine.answer(longest, "b") == -1
    engine.write(WORDS, "x", "mended")
    engine.settle()
    assert engine.answer(longest, "a") == 6


def test_queries_in_a_ring_are_a_bug_that_names_the_ring() -> None:
    @query
    def left(view: View, key: str) -> int:
        return view.ask(right, key)

    @query
    def right(view: View, key: str) -> int:
        return view.ask(left, key)

    engine = Engine(Plan(kept=(Kept(left, WORDS),), published=(left,)))
    engine.write(WORDS, "x", "x")
    with pytest.raises(QueryCycleError, match=r"left\(x\) -> right\(x\) -> left\(x\)"):
        engine.settle()


def test_forgotten_answers_leave_nothing_behind() -> None:
    engine = _engine(a=("x", "y"), b=("x",))
    engine.write(WORDS, "x", "x")
    engine.settle()
    for group in "ab":
        engine.write(GROUPS, group, None)
    engine.write(WORDS, "x", None)
    engine.settle()
    assert not any(it.memos for it in engine._answers.values())
    assert not any(it.values or it.seen for it in engine._rows.values())
    assert not any(it.members or it.seen or it.sizes_seen for it in engine._buckets.values())


def test_an_answer_that_is_forgotten_and_found_again_has_not_changed() -> None:
    @query
    def listed(view: View, word: str) -> str:
        return word

    listing: Index[int, str] = Index("listing", listed, lambda word, _: [(0, word)])

    @query
    def lists(view: View, group: str) -> None:
        for word in view.read(GROUPS, group) or ():
            view.demand(listed, word)
            view.demand(spelling, word)

    @query
    def steps_in(view: View, word: str) -> None:
        if not view.bucket(listing, 0):  # as `listed` is forgotten, and `spelling` with it
            view.demand(spelling, word)

    kept = (Kept(lists, GROUPS), Kept(steps_in, WORDS))
    engine = Engine(Plan(indexes=(listing,), kept=kept, published=(spelling,)))
    engine.write(WORDS, "x", "x")
    engine.write(GROUPS, "a", ("x",))
    assert engine.settle() == [Change(spelling, "x", None, "X")]
    engine.write(GROUPS, "a", ())
    assert engine.settle() == []
    assert engine.answer(spelling, "x") == "X"


@pytest.mark.parametrize("seed", range(300))
def test_after_any_history_the_answers_equal_a_rebuild_and_the_changes_are_the_real_ones(
    seed: int,
) -> None:
    chance = random.Random(seed)
    engine = Engine(PLAN)
    rows: dict[Table[Any, Any], dict[Any, Any]] = {GROUPS: {}, WORDS: {}, ACCENTS: {}}
    known: dict[Any, Any] = {}
    for _ in range(40):
        for _ in range(chance.randint(1, 4)):
            table, key, value = _random_write(chance)
            engine.write(table, key, value)
            if value is None:
                rows[table].pop(key, None)
            else:
                rows[table][key] = value
        changes = engine.settle()
        now = rebuild.rebuilt(PLAN, rows)
        real = {it for it in known.keys() | now.keys() if known.get(it) != now.get(it)}
        assert sorted((it.query.name, it.key) for it in changes) == sorted(
            (query.name, key) for query, key in real
        )
        for it in changes:
            assert it.new == now.get((it.query, it.key))
            assert it.old == known.get((it.query, it.key))
        known = dict(now)


def _random_write(chance: random.Random) -> tuple[Table[Any, Any], str, Any]:
    if chance.random() < 0.5:
        value = None if chance.random() < 0.3 else "w" * chance.randint(0, 3)
        return WORDS, chance.choice("uvwxyz"), value
    if chance.random() < 0.2:
        return ACCENTS, chance.choice("uvwxyz"), None if chance.random() < 0.3 else "'"
    words = tuple(chance.choice("uvwxyz") for _ in range(chance.randint(0, 3)))
    return GROUPS, chance.choice("abcd"), None if chance.random() < 0.3 else words


def test_an_open_query_is_answered_by_the_rule_that_it_is_given() -> None:
    asked: OpenQuery[str, int] = OpenQuery("asked")

    @query
    def twice(view: View, word: str) -> int:
        return 2 * view.ask(asked, word)

    engine = Engine(Plan(kept=(Kept(twice, WORDS),), published=(twice,)))
    engine.write(WORDS, "a", "abc")
    assert engine.settle() == []
    assert "nobody answers asked" in str([failure for _, _, failure in engine.failures])
    asked.answer(length.rule)
    engine.write(WORDS, "b", "b")
    assert engine.settle() == [Change(twice, "b", None, 2)]


def test_rows_and_answers_may_change_while_they_are_listed() -> None:
    engine = Engine(PLAN)
    for word in ("a", "bb", "ccc"):
        engine.write(WORDS, word, word)
        engine.write(GROUPS, word, (word,))
    engine.settle()
    rows, answers = engine.rows(WORDS), engine.answers(longest)
    assert (next(rows)[0], next(answers)[0]) == ("a", "a")
    engine.write(WORDS, "dddd", "dddd")
    engine.write(GROUPS, "dddd", ("dddd",))
    engine.write(WORDS, "bb", None)
    engine.write(GROUPS, "bb", None)
    engine.settle()
    assert (list(rows), list(answers)) == ([("ccc", "ccc")], [("ccc", 3)])
    assert engine.size(WORDS) == 3
