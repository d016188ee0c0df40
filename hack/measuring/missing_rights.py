"""The outcomes of rights that are taken away one at a time, from any component."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.testbed.figures import Figure
from tests.testbed.measuring import Options

SIDE_BY_SIDE = 4


class Right(NamedTuple):
    """One verb on one resource, or on one object of that name."""

    group: str
    resource: str
    verb: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name}".rstrip()


class Outcome(NamedTuple):
    """The outcome of a missing right."""

    right: Right
    is_missed: bool
    """Whether something was not done without it."""
    is_told: bool
    """Whether its verb and its resource were reported."""
    is_finished: bool
    """Whether everything was done after the right was given back."""


def rights(rules: Iterable[Mapping[str, Any]]) -> Sequence[Right]:
    """Each right that the rules of a role grant, once."""
    found = (
        Right(group, resource, verb, name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames") or ("",)
    )
    return [*dict.fromkeys(found)]


def without(right: Right, rules: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rules of a role without one right."""
    return [_rule(it) for it in rights(rules) if it != right]


def _rule(it: Right) -> dict[str, Any]:
    found = {"apiGroups": [it.group], "resources": [it.resource], "verbs": [it.verb]}
    return found | ({"resourceNames": [it.name]} if it.name else {})


def figures(found: Sequence[Outcome], unfinished: str) -> Iterator[Figure]:
    """The figures of rights, each of which should be needed."""
    yield Figure("rights taken away, one at a time", len(found), "")
    yield Figure("of which nothing missed", sum(not it.is_missed for it in found), "", 0)
    yield Figure("of which not told", sum(it.is_missed and not it.is_told for it in found), "", 0)
    yield Figure(unfinished, sum(not it.is_finished for it in found), "", 0)


async def outcomes(
    every: Iterable[Right], taken: Callable[[Right], Awaitable[Outcome]]
) -> list[Outcome]:
    """The outcomes of all rights; some run side by side."""
    limit = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(right: Right) -> Outcome:
        async with limit:
            return await taken(right)

    with _at_the_level_of_the_program():
        return await asyncio.gather(*map(one, every))


def note(options: Options, measurement: str, found: Iterable[Outcome]) -> None:
    """Records each outcome."""
    for it in found:
        rest = dict(zip(it._fields[1:], it[1:], strict=True))
        options.note(measurement, right=str(it.right), **rest)


@contextmanager
def logged() -> Iterator[Sequence[str]]:
    """The messages that are logged during the block."""
    found: list[str] = []
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger()
    log.addHandler(handler)
    try:
        yield found
    finally:
        log.removeHandler(handler)


@contextmanager
def _at_the_level_of_the_program() -> Iterator[None]:
    """Logs from INFO on; blocks of `logged` that overlap share the level."""
    log = logging.getLogger()
    level = log.level
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
