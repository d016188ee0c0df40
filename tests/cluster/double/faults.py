"""The script of what goes wrong: which requests are answered otherwise, and what watches are told.

A test adds rules and takes them away again; the first one that matches a request decides. A rule
that is to hold for some requests only has `times`. What is done to watches that are open already is
done to them: see `watches.Watch`.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tests.cluster.double.store import Change

Tampering = Callable[[list[Change]], Iterable[Change]]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as rules see it and as tests count it."""

    verb: str
    """get, list, watch, create, update, patch, delete, or discovery."""
    resource: str
    """Its plural; empty if it is of none."""
    namespace: str
    name: str
    subresource: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    time: float
    """Of the event loop's clock."""


@dataclass(slots=True)
class Rule:
    """What happens to the requests that match."""

    verb: str = ""
    resource: str = ""
    when: Callable[[Request], bool] = lambda _: True
    status: int = 0
    """Answered with this and a Status; 0: answered as if nothing were wrong."""
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "scripted"
    body: bytes | None = None
    """Instead of a Status."""
    hold: asyncio.Event | None = None
    """Nothing is answered before it is set."""
    drop: bool = False
    """The connection ends without an answer."""
    times: int | None = None
    met: int = 0
    """How many requests it has decided."""

    def matches(self, request: Request) -> bool:
        """Whether this request is its business."""
        return (
            self.verb in {"", request.verb}
            and self.resource in {"", request.resource}
            and (self.times is None or self.met < self.times)
            and self.when(request)
        )


@dataclass(slots=True)
class Script:
    """All that is to go wrong."""

    rules: list[Rule] = field(default_factory=list)
    tampering: dict[str, Tampering] = field(default_factory=dict)
    """By plural: what watches are told of what happened. Duplicate, reorder, leave out."""

    def add(self, rule: Rule) -> Rule:
        """From now on."""
        self.rules.append(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        """No longer."""
        self.rules.remove(rule)

    def forbid(self, resource: str) -> Rule:
        """403 for all that concerns a resource, as without a right to it."""
        return self.add(Rule(resource=resource, status=403, message=f"{resource} is forbidden"))

    def heal(self) -> None:
        """Nothing goes wrong any more."""
        self.rules.clear()
        self.tampering.clear()

    def decide(self, request: Request) -> Rule | None:
        """The rule for a request, which has met it now."""
        for rule in self.rules:
            if rule.matches(request):
                rule.met += 1
                return rule
        return None
