"""Candidates for a Lease: what each may do, and that no two of them ever lead at once.

The histories run on a clock of their own: requests and answers take any time or are lost,
processes are paused in any place, and the clocks of the machines have nothing in common.
"""

import heapq
import random
from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube import lease

HOLDER = lease.Record(holder="other", duration=15.0, transitions=3, renewed="a", version="7")
OWN = replace(HOLDER, holder="me")


def candidate(seen: lease.Record | None, at: float = 100.0) -> lease.Candidate:
    found = lease.Candidate("me")
    found.observe(seen, at)
    return found


@pytest.mark.parametrize(
    ("seen", "waited", "may"),
    [
        (None, 0.0, True),
        (lease.Record(), 0.0, True),
        (OWN, 0.0, True),
        (HOLDER, 14.9, False),
        (HOLDER, 15.0, True),
        (replace(HOLDER, duration=60.0), 15.0, False),
        (replace(HOLDER, duration=60.0), 60.0, True),
        (replace(HOLDER, duration=0.0), 14.9, False),
    ],
)
def test_a_lease_is_taken_when_it_is_free_or_its_holder_gave_no_sign_of_life(
    seen: lease.Record | None, waited: float, may: bool
) -> None:
    assert candidate(seen).may_take(100.0 + waited) is may


def test_any_difference_in_the_record_is_a_sign_of_life() -> None:
    found = candidate(HOLDER)
    found.observe(replace(HOLDER, renewed="0001-01-01T00:00:00.000000Z"), 110.0)
    assert not found.may_take(124.9)
    assert found.may_take(125.0)


def test_a_lease_that_was_deleted_is_not_taken_before_its_last_holder_has_given_up() -> None:
    found = candidate(HOLDER)
    found.observe(None, 110.0)
    assert not found.may_take(114.9)
    assert found.may_take(115.0)
    assert found.claim("now").version == ""
    assert found.claim("now").transitions == 4


def test_the_leadership_is_counted_from_the_moment_the_renewal_was_asked_for() -> None:
    found = candidate(None)
    found.won(replace(OWN, version="8"), 100.0, 109.0)
    assert found.is_leader(109.99)
    assert not found.is_leader(110.0)


def test_an_answer_that_comes_after_the_deadline_makes_nobody_a_leader() -> None:
    found = candidate(None)
    found.won(replace(OWN, version="8"), 100.0, 131.0)
    assert not found.is_leader(131.0)


def test_an_answer_that_names_nobody_makes_nobody_a_leader() -> None:
    found = candidate(None)
    found.won(lease.record({}), 100.0, 100.1)
    assert not found.is_leader(100.1)


def test_who_sees_another_holder_leads_no_more() -> None:
    found = candidate(None)
    found.won(replace(OWN, version="8"), 100.0, 100.1)
    found.observe(replace(HOLDER, version="9"), 101.0)
    assert not found.is_leader(101.0)


def test_only_a_change_of_the_holder_counts_as_a_transition() -> None:
    assert candidate(None).claim("now").transitions == 0
    assert candidate(HOLDER).claim("now").transitions == 4
    renewed = candidate(replace(OWN, acquired="then")).claim("now")
    assert (renewed.transitions, renewed.acquired, renewed.renewed) == (3, "then", "now")


def test_resigning_frees_the_lease_and_ends_the_leadership_at_once() -> None:
    found = candidate(None)
    found.won(replace(OWN, version="8"), 100.0, 100.1)
    freed = found.resign("now")
    assert freed is not None
    assert (freed.holder, freed.transitions, freed.version) == ("", 3, "8")
    assert not found.is_leader(100.1)
    assert candidate(HOLDER).resign("now") is None


def test_a_lease_says_what_was_written_to_it() -> None:
    record = lease.Record(
        "me", 15.0, 2, "2026-01-01T00:00:00.000001Z", "2025-01-01T00:00:00.000000Z", "12",
        (("address", "10.0.0.1:8001"),),
    )  # fmt: skip
    assert lease.record(lease.written(record, "ns", "leader")) == record


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"metadata": None, "spec": None},
        {"spec": {"holderIdentity": None, "leaseDurationSeconds": "x", "leaseTransitions": []}},
        {"metadata": [], "spec": "garbage"},
        [],
    ],
)
def test_a_lease_in_which_somebody_else_wrote_anything_is_read_all_the_same(
    found: object,
) -> None:
    assert lease.record(found) == lease.Record()


# Histories.


@dataclass
class Machine:
    """A candidate, the clock of its machine, and how it fares."""

    candidate: lease.Candidate
    offset: float
    rate: float

    def clock(self, now: float) -> float:
        return self.offset + self.rate * now


@dataclass
class Server:
    """One Lease, replaced only by who has seen it as it is."""

    record: lease.Record | None = None
    version: int = 0

    def take(self, claim: lease.Record) -> lease.Record | None:
        if claim.version != (self.record.version if self.record else ""):
            return None
        self.version += 1
        self.record = replace(claim, version=str(self.version))
        return self.record


class History:
    """Candidates at work until the end; faults until shortly before it."""

    def __init__(self, seed: int, timing: lease.Timing = lease.KUBERNETES) -> None:
        self.random = random.Random(seed)
        self.server = Server()
        self.now = 0.0
        self.is_calm = False
        self.terms: list[str] = []
        self.machines = [self._machine(name, timing) for name in "abc"]

    def run(self, seconds: float, calm: float = 60.0) -> None:
        agenda: list[tuple[float, int, Generator[float]]] = []
        order = count()
        for machine in self.machines:
            heapq.heappush(agenda, (self.random.random(), next(order), self._life(machine)))
        while agenda[0][0] < seconds:
            self.now, _, life = heapq.heappop(agenda)
            self.is_calm = self.now > seconds - calm
            delay = next(life)
            self._check()
            heapq.heappush(agenda, (self.now + delay, next(order), life))

    def leaders(self) -> list[str]:
        return [
            it.candidate.identity
            for it in self.machines
            if it.candidate.is_leader(it.clock(self.now))
        ]

    def _check(self) -> None:
        found = self.leaders()
        assert len(found) <= 1, f"{found} lead at {self.now}"
        if found and self.terms[-1:] != found:
            self.terms += found

    def _machine(self, name: str, timing: lease.Timing) -> Machine:
        rate = self.random.uniform(0.98, 1.02)
        return Machine(lease.Candidate(name, timing), self.random.uniform(-1e6, 1e6), rate)

    def _life(self, it: Machine) -> Generator[float]:
        """What `kube.election` does, with every pause that may come between two steps."""
        while True:
            is_sure = yield from self._look(it)
            if is_sure and it.candidate.may_take(it.clock(self.now)):
                yield from self._take(it)
            if not self.is_calm and self.random.random() < 0.02:
                yield from self._resign(it)
            yield self._delay(2.0)

    def _look(self, it: Machine) -> Generator[float, None, bool]:
        if it.candidate.is_leader(it.clock(self.now)) and self.random.random() < 0.9:
            return True
        yield self._delay(0.1)
        found = self.server.record
        yield self._delay(0.1)
        if self._is_lost():
            return False
        it.candidate.observe(found, it.clock(self.now))
        return True

    def _take(self, it: Machine) -> Generator[float]:
        asked_at = it.clock(self.now)
        claim = it.candidate.claim(str(self.random.random()))
        yield self._delay(0.1)
        if self._is_lost():
            return
        found = self.server.take(claim)
        yield self._delay(0.1)
        if found is not None and not self._is_lost():
            it.candidate.won(found, asked_at, it.clock(self.now))

    def _resign(self, it: Machine) -> Generator[float]:
        freed = it.candidate.resign(str(self.random.random()))
        yield self._delay(0.1)
        if freed is not None and not self._is_lost():
            self.server.take(freed)

    def _delay(self, usual: float) -> float:
        if self.is_calm or self.random.random() < 0.9:
            return usual
        return self.random.choice([1.0, 5.0, 9.9, 10.1, 14.9, 15.1, 30.0])

    def _is_lost(self) -> bool:
        return not self.is_calm and self.random.random() < 0.1


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**32))
def test_no_two_candidates_ever_lead_at_once_and_in_the_end_one_does(seed: int) -> None:
    history = History(seed)
    history.run(600.0)
    assert len(history.leaders()) == 1


def test_the_histories_are_eventful() -> None:
    terms = []
    for seed in range(20):
        history = History(seed)
        history.run(600.0)
        terms.append(len(history.terms))
    assert min(terms) >= 3


def test_the_histories_catch_a_leader_that_trusts_itself_for_too_long() -> None:
    def is_caught(seed: int) -> bool:
        try:
            History(seed, lease.Timing(15.0, 25.0, 2.0)).run(600.0)
        except AssertionError:
            return True
        return False

    assert any(is_caught(seed) for seed in range(20))
