"""What comes of rights that are taken away one at a time, whoever lacks them."""

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
    """What came of a right that was missing."""

    right: Right
    is_missed: bool
    """Something was not done without it."""
    is_told: bool
    """With its verb and its resource."""
    is_finished: bool
    """With the right all was done that was to be done."""


def rights(rules: Iterable[Mapping[str, Any]]) -> Sequence[Right]:
    """Each right that the rules of a role give, once."""
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
    """The rules of a role that lacks one right."""
    return [_rule(it) for it in rights(rules) if it != right]


def _rule(it: Right) -> dict[str, Any]:
    found = {"apiGroups": [it.group], "resources": [it.resource], "verbs": [it.verb]}
    return found | ({"resourceNames": [it.name]} if it.name else {})


def figures(found: Sequence[Outcome], unfinished: str) -> Iterator[Figure]:
    """Of rights each of which is needed."""
    yield Figure("rights taken away, one at a time", len(found), "")
    yield Figure("of which nothing missed", sum(not it.is_missed for it in found), "", 0)
    yield Figure("of which not told", sum(it.is_missed and not it.is_told for it in found), "", 0)
    yield Figure(unfinished, sum(not it.is_finished for it in found), "", 0)


async def outcomes(
    every: Iterable[Right], taken: Callable[[Right], Awaitable[Outcome]]
) -> list[Outcome]:
    """Some of them side by side."""
    limit = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(right: Right) -> Outcome:
        async with limit:
            return await taken(right)

    return await asyncio.gather(*map(one, every))


def note(options: Options, measurement: str, found: Iterable[Outcome]) -> None:
    """Keeps each outcome."""
    for it in found:
        rest = dict(zip(it._fields[1:], it[1:], strict=True))
        options.note(measurement, right=str(it.right), **rest)


@contextmanager
def logged() -> Iterator[Sequence[str]]:
    """What is written to the log meanwhile."""
    found: list[str] = []
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)  # as the program's own
    try:
        yield found
    finally:
        log.setLevel(level)
        log.removeHandler(handler)
