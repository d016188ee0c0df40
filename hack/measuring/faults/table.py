"""What a fault script is, and how it is tried: so many times, each with a chance of its own.

A run survives if nothing that its script expects is missing, no request is lost and no figure is
beyond its limit. A fault that could not be proved to have happened is no survival either. Each
run's outcome is noted by itself; runs share a stage as long as they survive.
"""

import asyncio
import itertools
import logging
import statistics
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from hack.measuring import registry
from hack.measuring.figures import Figure, percentile
from tests.testbed.load import Tally

USUAL, QUICK = 20, 5
"""How many runs a row gets."""


class NotSurvived(Exception):  # noqa: N818
    """Something that the row expects is not so."""


class NotInjected(Exception):  # noqa: N818
    """The fault did not happen: the run proves nothing."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What a figure is measured in, and what it must not exceed."""

    unit: str
    most: float | None = None


@dataclass(slots=True)
class Turn:
    """One run of a script, and what it leaves behind."""

    number: int
    chance: Random
    quick: bool
    sent: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    figures: dict[str, float] = field(default_factory=dict)
    samples: dict[str, list[float]] = field(default_factory=dict)
    """What was measured more than once; the figure of that name is the worst of them."""
    proofs: dict[str, Any] = field(default_factory=dict)
    trouble: str = "not run"

    @property
    def lost(self) -> int:
        """How many requests did not get the answer they should have."""
        return self.failures.total()

    @property
    def survived(self) -> bool:
        """Whether all was as expected."""
        return not self.trouble and not self.lost

    def prove(self, name: str, value: Any) -> None:
        """Notes what shows that the fault happened. Raises `NotInjected` if it shows nothing."""
        self.proofs[name] = value
        if not value:
            raise NotInjected(name)

    def sample(self, name: str, value: float) -> None:
        """One more value of a figure."""
        self.samples.setdefault(name, []).append(value)
        self.figures[name] = max(self.samples[name])

    def expect(self, is_so: object, words: str) -> None:
        """Raises `NotSurvived`."""
        if not is_so:
            raise NotSurvived(words)

    def count(self, tally: Tally) -> None:
        """Adds what became of a load."""
        self.sent += tally.sent
        self.failures += tally.failures


Stage = Callable[[], AbstractAsyncContextManager[Any]]
Site = TypeVar("Site")
Script = Callable[[Turn, Site], Awaitable[None]]


@asynccontextmanager
async def bare() -> AsyncIterator[None]:
    """A stage for scripts that set up everything themselves."""
    yield None


@dataclass(frozen=True, slots=True)
class Fault:
    """A row: how it is staged, and what its figures may be."""

    name: str
    stage: Stage
    limits: dict[str, Limit]
    script: Callable[[Turn, Any], Awaitable[None]]
    together: int  # so many runs at once, each on a stage of its own
    patience: float  # for one run, in seconds


def fault(
    name: str, stage: Stage = bare, *, together: int = 1, patience: float = 60.0, **limits: Limit
) -> Callable[[Script[Site]], Script[Site]]:
    """Registers a script as a row of the table."""

    def register(script: Script[Site]) -> Script[Site]:
        row = Fault(name, stage, limits, script, together, patience)

        @registry.CHAOS.measures(name)
        def measured(options: registry.Options) -> Iterator[Figure]:
            return _figures(row, asyncio.run(_tried(row, options)))

        return script

    return register


async def _tried(row: Fault, options: registry.Options) -> list[Turn]:
    logging.getLogger("contour").addHandler(logging.NullHandler())  # refusals are what we are for
    number = options.times(USUAL, QUICK)
    turns = [
        Turn(it, options.random(f"{row.name} {it}"), options.quick) for it in range(1, number + 1)
    ]
    rest = deque(turns)
    workers = (_work(row, rest, options) for _ in range(row.together))
    await asyncio.gather(*workers)
    return turns


async def _work(row: Fault, rest: deque[Turn], options: registry.Options) -> None:
    """Takes turns until there are none, on a new stage whenever one went wrong."""
    while rest:
        turn = rest.popleft()
        try:
            async with row.stage() as site:
                for it in itertools.chain([turn], _taken(rest)):
                    turn = it
                    await _once(row, turn, site, options)
                    if not turn.survived:
                        break
        except Exception as error:  # a stage that fails is the outcome of its run
            turn.trouble = f"stage: {type(error).__name__}: {error}"
            _note(row, turn, 0.0, options)


def _taken(rest: deque[Turn]) -> Iterator[Turn]:
    while rest:
        yield rest.popleft()


async def _once(row: Fault, turn: Turn, site: Any, options: registry.Options) -> None:
    start = time.monotonic()
    try:
        async with asyncio.timeout(row.patience):
            await row.script(turn, site)
        turn.trouble = _beyond(row, turn)
    except Exception as error:  # whatever it is, it is the outcome
        turn.trouble = _told(error)
    _note(row, turn, time.monotonic() - start, options)


def _beyond(row: Fault, turn: Turn) -> str:
    for name, limit in row.limits.items():
        value = turn.figures.get(name)
        if value is None:
            return f"no figure {name!r}"
        if limit.most is not None and value > limit.most:
            return f"{name} is {value:.4g} {limit.unit}, beyond {limit.most:g}"
    return ""


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:400]


def _note(row: Fault, turn: Turn, seconds: float, options: registry.Options) -> None:
    options.note(
        row.name,
        run=turn.number,
        survived=turn.survived,
        trouble=turn.trouble,
        sent=turn.sent,
        lost=turn.lost,
        failures=dict(turn.failures),
        figures=turn.figures,
        samples=turn.samples,
        proofs=turn.proofs,
        seconds=round(seconds, 3),
    )


def _figures(row: Fault, turns: list[Turn]) -> Iterator[Figure]:
    yield Figure("tried", len(turns), "")
    survived = sum(it.survived for it in turns)
    yield Figure("survived", survived, "", len(turns), at_least=True)
    yield Figure("requests sent", sum(it.sent for it in turns), "")
    yield Figure("requests lost", sum(it.lost for it in turns), "", 0)
    for name, limit in row.limits.items():
        found = [it.figures[name] for it in turns if name in it.figures]
        if found:
            words = name.replace("_", " ")
            yield Figure(f"{words}, worst run", max(found), limit.unit, limit.most)
        if every := [value for it in turns for value in it.samples.get(name, ())]:
            words = f"{name.replace('_', ' ')}, {len(every)} times"
            yield Figure(f"{words}, median", statistics.median(every), limit.unit)
            yield Figure(f"{words}, p99", percentile(every, 0.99), limit.unit)
    for trouble, times in Counter(it.trouble for it in turns if it.trouble).items():
        yield Figure(f"run(s) with {trouble}", times, "")
