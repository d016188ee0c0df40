"""The script of faults: which requests get another answer, and which events watches get.

A test adds and removes rules; the first one that matches a request decides. `times` limits a rule
to a number of requests. Faults of open watches are methods of `watches.Watch`.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tests.cluster.double.store import Change

Tampering = Callable[[list[Change]], Iterable[Change]]


@dataclass(frozen=True, slots=True)
class Request:
    """A request, for rules to match and for tests to count."""

    verb: str
    """One of get, list, watch, create, update, patch, delete, and discovery."""
    resource: str
    """The plural name; empty if the request is for no resource."""
    namespace: str
    name: str
    subresource: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    time: float
    """When it came, by the event loop's clock."""


@dataclass(slots=True)
class Rule:
    """What happens to the requests that match."""

    verb: str = ""
    resource: str = ""
    when: Callable[[Request], bool] = lambda _: True
    status: int = 0
    """The HTTP status of the answer, which has a Status as its body; 0 for a normal answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "scripted"
    body: bytes | None = None
    """The body of the answer instead of a Status."""
    hold: asyncio.Event | None = None
    """The answer waits until this is set."""
    drop: bool = False
    """Whether the connection is closed without an answer."""
    times: int | None = None
    met: int = 0
    """How many requests it has decided."""

    def matches(self, request: Request) -> bool:
        """Whether the rule applies to this request."""
        return (
            self.verb in {"", request.verb}
            and self.resource in {"", request.resource}
            and (self.times is None or self.met < self.times)
            and self.when(request)
        )


@dataclass(slots=True)
class Script:
    """All faults."""

    rules: list[Rule] = field(default_factory=list)
    tampering: dict[str, Tampering] = field(default_factory=dict)
    """By plural name: a function of the events that watches get, to duplicate, reorder or omit
    some."""

    def add(self, rule: Rule) -> Rule:
        """Adds a rule, from now on."""
        self.rules.append(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        """Removes a rule."""
        self.rules.remove(rule)

    def forbid(self, resource: str) -> Rule:
        """Answers all requests for a resource with 403, as without rights to it."""
        return self.add(Rule(resource=resource, status=403, message=f"{resource} is forbidden"))

    def heal(self) -> None:
        """Removes all faults."""
        self.rules.clear()
        self.tampering.clear()

    def decide(self, request: Request) -> Rule | None:
        """The rule for a request, which counts the request."""
        for rule in self.rules:
            if rule.matches(request):
                rule.met += 1
                return rule
        return None
