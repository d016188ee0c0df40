"""What an evaluation says: the steps in the order in which they happen, and the answer.

Steps are data, so that a command, a page and a program show the same.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from crds.meta import ObjectRef
from dag import nodes

Topic = Literal["listener", "certificate", "request", "host", "route", "guard", "action"]
"""What a step looks at."""

Outcome = Literal["passed", "failed", "noted"]
"""A `failed` route does not match the request; any other `failed` step ends the request."""


class Step(NamedTuple):
    """One thing that was looked at."""

    topic: Topic
    outcome: Outcome
    text: str
    subject: ObjectRef | None = None
    """The object that says so."""


MARK = "x-envoy-upstream-service-time"
"""The header that Envoy adds to what a backend has answered, and to nothing else."""


class Forwarded(NamedTuple):
    """What one of a route's backends gets, and how often."""

    share: float
    """The share of all requests, from 0 to 1."""
    cluster: nodes.Cluster | None
    """None: this share is answered `status`."""
    host: str
    path: str
    headers: tuple[tuple[str, str | None], ...] = ()
    """Headers of the request as they are changed; None is removed."""
    response_headers: tuple[tuple[str, str | None], ...] = ()
    """Headers of its answer that change for this share; None is removed."""
    status: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of the request."""

    status: int | None = None
    """Of Envoy's own answer; None where backends answer, or the connection is closed."""
    cause: str = ""
    """Why Envoy answers by itself, in one sentence; empty where that is what was asked for."""
    location: str = ""
    """The `Location` of a redirect."""
    body: str = ""
    route: nodes.Route | None = None
    backends: tuple[Forwarded, ...] = ()
    streams: tuple[Forwarded, ...] = ()
    """The backends of a connection that Envoy does not read; then `status` is not set."""
    response_headers: tuple[tuple[str, str | None], ...] = ()
    """Headers of the answer that the route changes; None is removed."""
    may_be_refused: bool = False
    """A guard may answer instead, by a decision that is made elsewhere (by a server, a counter)."""
    hides_backends: bool = False
    """Answers of backends lack `MARK`, so nobody can tell them from those of Envoy."""


@dataclass(slots=True)
class Trace:
    """An evaluation."""

    steps: list[Step] = field(default_factory=list)
    answer: Answer = Answer()
    listener: nodes.ListenerKey | None = None
    """Where the connection arrives; None where nothing listens."""
    host: str | None = None
    """The virtual host that takes the request; None where none does."""

    def note(
        self, topic: Topic, outcome: Outcome, text: str, subject: ObjectRef | None = None
    ) -> None:
        """One more step."""
        self.steps.append(Step(topic, outcome, text, subject))
