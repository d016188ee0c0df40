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

from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Tally
from tests.testbed.measuring import Measured, Options, mark

USUAL, QUICK = 20, 5
"""How many runs a row gets."""


class NotSurvivedError(Exception):
    """Something that the row expects is not so."""


class NotInjectedError(Exception):
    """The fault did not happen: the run proves nothing."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What a figure is measured in, and what it must not exceed."""

    unit: str
    most: float | None = None


@dataclass(slots=True)
class Run:
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
        """Notes what shows that the fault happened. Raises `NotInjectedError` if nothing does."""
        self.proofs[name] = value
        if not value:
            raise NotInjectedError(name)

    def sample(self, name: str, value: float) -> None:
        """One more value of a figure."""
        self.samples.setdefault(name, []).append(value)
        self.figures[name] = max(self.samples[name])

    def expect(self, is_so: object, words: str) -> None:
        """Raises `NotSurvivedError`."""
        if not is_so:
            raise NotSurvivedError(words)

    def count(self, tally: Tally) -> None:
        """Adds what became of a load."""
        self.sent += tally.sent
        self.failures += tally.failures


Stage = Callable[[], AbstractAsyncContextManager[Any]]
Site = TypeVar("Site")
Script = Callable[[Run, Site], Awaitable[None]]


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
    script: Callable[[Run, Any], Awaitable[None]]
    together: int  # so many runs at once, each on a stage of its own
    patience: float  # for one run, in seconds

    def tried(self, options: Options) -> Iterator[Figure]:
        """Tries it as often as is asked for."""
        logging.getLogger("contour").addHandler(logging.NullHandler())  # refusals are the point
        yield from self._figures(asyncio.run(self._runs(options)))

    async def _runs(self, options: Options) -> list[Run]:
        numbers = range(1, options.times(USUAL, QUICK) + 1)
        runs = [Run(it, options.random(f"{self.name} {it}"), options.quick) for it in numbers]
        rest = deque(runs)
        await asyncio.gather(*(self._work(rest, options) for _ in range(self.together)))
        return runs

    async def _work(self, rest: deque[Run], options: Options) -> None:
        """Takes runs until there are none, on a new stage whenever one went wrong."""
        while rest:
            run = rest.popleft()
            try:
                async with self.stage() as site:
                    for it in itertools.chain([run], _taken(rest)):
                        run = it
                        await self._once(run, site, options)
                        if not run.survived:
                            break
            except Exception as error:  # a stage that fails is the outcome of its run
                run.trouble = f"stage: {_told(error)}"
                self._note(run, 0.0, options)

    async def _once(self, run: Run, site: Any, options: Options) -> None:
        start = time.monotonic()
        try:
            async with asyncio.timeout(self.patience):
                await self.script(run, site)
            run.trouble = self._beyond(run)
        except Exception as error:  # whatever it is, it is the outcome
            run.trouble = _told(error)
        self._note(run, time.monotonic() - start, options)

    def _beyond(self, run: Run) -> str:
        for name, limit in self.limits.items():
            value = run.figures.get(name)
            if value is None:
                return f"no figure {name!r}"
            if limit.most is not None and value > limit.most:
                return f"{name} is {value:.4g} {limit.unit}, beyond {limit.most:g}"
        return ""

    def _note(self, run: Run, seconds: float, options: Options) -> None:
        options.note(
            self.name,
            run=run.number,
            survived=run.survived,
            trouble=run.trouble,
            sent=run.sent,
            lost=run.lost,
            failures=dict(run.failures),
            figures=run.figures,
            samples=run.samples,
            proofs=run.proofs,
            seconds=round(seconds, 3),
        )

    def _figures(self, runs: list[Run]) -> Iterator[Figure]:
        yield Figure("tried", len(runs), "")
        survived = sum(it.survived for it in runs)
        yield Figure("survived", survived, "", len(runs), at_least=True)
        yield Figure("requests sent", sum(it.sent for it in runs), "")
        yield Figure("requests lost", sum(it.lost for it in runs), "", 0)
        for name, limit in self.limits.items():
            words = name.replace("_", " ")
            found = [it.figures[name] for it in runs if name in it.figures]
            if found:
                yield Figure(f"{words}, worst run", max(found), limit.unit, limit.most)
            if every := [value for it in runs for value in it.samples.get(name, ())]:
                words = f"{words}, {len(every)} times"
                yield Figure(f"{words}, median", statistics.median(every), limit.unit)
                yield Figure(f"{words}, p99", percentile(every, 0.99), limit.unit)
        for trouble, times in Counter(it.trouble for it in runs if it.trouble).items():
            yield Figure(f"run(s) with {trouble}", times, "")


def fault(
    name: str, stage: Stage = bare, *, together: int = 1, patience: float = 60.0, **limits: Limit
) -> Callable[[Script[Site]], Script[Site]]:
    """Makes a script a row of the table, which pytest finds under its name."""

    def known(script: Script[Site]) -> Script[Site]:
        row = Fault(name, stage, limits, script, together, patience)
        mark(script, Measured(name, "fault", row.tried))
        return script

    return known


def _taken(rest: deque[Run]) -> Iterator[Run]:
    while rest:
        yield rest.popleft()


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:400]
