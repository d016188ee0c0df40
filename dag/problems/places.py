"""The places of problems: fields of objects."""

import re
from collections.abc import Generator, Iterable
from typing import NamedTuple, TypeVar

from crds.meta import ObjectRef
from dag.problems import Problem
from dag.problems.reasons import ErrorType, Own, Word
from dag.statuses import SubCondition

T = TypeVar("T")

Findings = Generator[Problem, None, T]
"""What a rule returns: a generator that yields problems, and returns the node."""


def gathered(findings: Findings[T]) -> tuple[T, tuple[Problem, ...]]:
    """The node that a rule returns, and the problems that it yielded."""
    told: list[Problem] = []
    while True:
        try:
            told.append(next(findings))
        except StopIteration as stop:
            return stop.value, tuple(told)


class Place(NamedTuple):
    """A field of an object."""

    subject: ObjectRef
    path: str = "spec"
    lent: tuple[tuple[str, ObjectRef], ...] = ()
    """Fields below that come from another object: their paths, and that object."""

    def at(self, step: str, index: int | None = None) -> "Place":
        """A field below this one, or an item of it."""
        item = "" if index is None else f"[{index}]"
        path = f"{self.path}.{step}{item}"
        if not self.lent:
            return Place(self.subject, path)
        return Place(dict(self.lent).get(path, self.subject), path, self.lent)

    def item(self, index: int | str) -> "Place":
        """An item of this list, or an entry of this map."""
        return Place(self.subject, f"{self.path}[{index}]")

    def error(self, type_: Word, reason: Word, text: str) -> Problem:
        """Something in this field cannot be served."""
        return Problem(self.subject, type_, reason, f"{self.path}: {text}")

    def closing(self, type_: Word, reason: Word, text: str) -> Problem:
        """Something in this field cannot be served, and what it guards must not be open."""
        return Problem(self.subject, type_, reason, f"{self.path}: {text}", closes=True)

    def warning(self, type_: Word, reason: Word, text: str) -> Problem:
        """Something in this field has another effect than its author may expect."""
        return Problem(self.subject, type_, reason, f"{self.path}: {text}", "warning")


def sub_conditions(found: Iterable[Problem]) -> tuple[SubCondition, ...]:
    """In the order of the document (`routes[10]` after `routes[2]`), as many as fit."""
    told = sorted(found, key=_rank)
    shown = [sub_condition(it) for it in told[:MAX_TOLD]]
    if len(told) > MAX_TOLD:
        rest = f"and {len(told) - MAX_TOLD} more, which are not listed"
        shown.append(SubCondition(ErrorType.SpecError.value, Own.TooManyProblems.value, rest))
    return tuple(shown)


def sub_condition(it: Problem) -> SubCondition:
    """A problem as a sub-condition of Contour's statuses."""
    return SubCondition(it.type.value, it.reason.value, it.message[:MAX_MESSAGE])


MAX_TOLD = 100
MAX_MESSAGE = 4096
"""The most characters of a message. The API server refuses a status that is too large."""

_NUMBER = re.compile("([0-9]+)")


def _rank(it: Problem) -> tuple[list[str], str, str]:
    parts = _NUMBER.split(it.message)
    return [part.zfill(9) if part.isdigit() else part for part in parts], it.type, it.reason
