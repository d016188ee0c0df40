"""One stream of discovery requests and responses, whichever dialect it speaks. No I/O.

Bytes of requests come in, bytes of responses are asked for one at a time: nothing is rendered
before it can be sent. One response per type may be unanswered, the next one waits and takes up
whatever happens in the meantime; only clusters do not wait, because Envoy withholds their
acknowledgement while any of them warms. Types do not wait for one another, so a client that
answers nothing holds up itself alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from contour.xds import narrowing, resources
from contour.xds.envoy import Envoy
from contour.xds.fleet import Fleet
from contour.xds.releases import Release
from contour.xds.resources import CLUSTER
from contour.xds.subscription import Flight, Subscription

MOST_TYPES = 16
MOST_NAMES = 1 << 17
MOST_FLIGHTS = 100


class Violation(Exception):  # noqa: N818
    """The client broke the protocol, or a limit; the stream ends with these words."""


@dataclass(frozen=True, slots=True)
class Node:
    """Who is at the other end, as it says."""

    id: str
    cluster: str
    release: Release | None = None
    """Of Envoy; None: it does not say."""

    @staticmethod
    def of(request: Any) -> "Node | None":
        """The node of a discovery request; a stream's later requests may leave it out."""
        if not request.HasField("node"):
            return None
        return Node(request.node.id, request.node.cluster, Release.of(request.node))


class Dialect(Protocol):
    """How requests are read and responses are written: `delta` and `sotw`."""

    def receive(self, stream: "Stream", request: bytes, now: float) -> None: ...

    def sendable(self, to: Subscription) -> list[str]: ...

    def response(self, to: Subscription, names: list[str]) -> tuple[bytes, str]: ...


Admission = Callable[[Node], Fleet]


class Stream:
    """One stream; `type_url` is empty if it is an aggregated one."""

    def __init__(
        self, dialect: Dialect, admission: Admission, wake: Callable[[], None], type_url: str = ""
    ) -> None:
        self.type_url = type_url
        self.subscriptions: dict[str, Subscription] = {}
        self.envoy: Envoy | None = None
        self._dialect = dialect
        self._admission = admission
        self._wake = wake
        self._node: Node | None = None

    def receive(self, request: bytes, now: float) -> None:
        """Takes in one request; raises `Violation`, or what the admission raises."""
        self._dialect.receive(self, request, now)

    def response(self, now: float) -> bytes | None:
        """The next response, if there is something to say."""
        if self.envoy is None:
            return None
        self.envoy.alarms.ring(now)
        for type_url in (*resources.ORDER, *self.subscriptions):
            to = self.subscriptions.get(type_url)
            names = self._names(to, now) if to else []
            if to and (names or (to.is_owed and not to.dirty and not to.overrides)):
                message, nonce = self._dialect.response(to, names)
                self.envoy.fleet.counts["sent", type_url] += 1
                self.envoy.sent(to, to.launch(names, nonce), now)
                return message
        return None

    def _names(self, to: Subscription, now: float) -> list[str]:
        """What may go out now of one type."""
        if to.envoy.arrival.holds(to):
            return []
        if to.flights and (to.type_url != CLUSTER or to.narrowing):
            return []
        if to.narrowing:
            trial = narrowing.next_trial(to, to.narrowing)
            if trial:
                return trial
            if not to.sendable():
                to.envoy.judge(to, to.narrowing, now)
        while len(to.flights) > MOST_FLIGHTS:
            _fold(to)
        return self._dialect.sendable(to) if to.dirty else []

    @property
    def alarm(self) -> float | None:
        """When a response may become due without anything coming in."""
        return self.envoy.alarms.next if self.envoy else None

    def close(self, now: float) -> None:
        if self.envoy is None:
            return
        for it in self.subscriptions.values():
            if it.is_wildcard:
                self.envoy.fleet.ignore_all(it)
            for name in list(it.names):
                self.envoy.fleet.ignore(name, it)
            self.envoy.closed(it, now)
        if not any(self.envoy.subscriptions.values()):
            self.envoy.fleet.leave(self.envoy)

    def identify(self, node: Node | None) -> Fleet:
        """The fleet this stream belongs to, settled by its first request."""
        if self.envoy is None:
            self._node = node or Node("", "")
            fleet = self._admission(self._node)
            self.envoy = fleet.envoy(
                self._node.id, is_aggregated=not self.type_url, release=self._node.release
            )
        elif node is not None and node != self._node:
            raise Violation(f"the node changed from {self._node} to {node} within a stream")
        return self.envoy.fleet

    def subscription(self, type_url: str) -> tuple[Subscription, bool]:
        """The subscription of a type, and whether it has just begun."""
        type_url = type_url or self.type_url
        if not type_url or (self.type_url and type_url != self.type_url) or len(type_url) > 256:
            raise Violation(f"type URL {type_url[:256]!r} is not served here")
        known = self.subscriptions.get(type_url)
        if known is not None:
            return known, False
        if len(self.subscriptions) >= MOST_TYPES:
            raise Violation(f"more than {MOST_TYPES} types on one stream")
        assert self.envoy is not None
        made = Subscription(self.envoy, type_url, self._wake)
        self.subscriptions[type_url] = made
        self.envoy.subscriptions[type_url].append(made)
        return made, True

    def answer(self, by: Subscription, flight: Flight, refusal: str | None, now: float) -> None:
        """A response was accepted, or refused with these words."""
        by.flights.remove(flight)
        answer = "acknowledged" if refusal is None else "refused"
        by.envoy.fleet.counts[answer, by.type_url] += 1
        if refusal is None:
            by.envoy.acknowledged(by, flight, now)
        else:
            by.envoy.refused(by, flight, refusal)
        self._wake()

    def answer_all(self, by: Subscription, refusal: str | None, now: float) -> None:
        """The newest response was answered, and with it all that it repeats."""
        while len(by.flights) > 1:
            _fold(by)
        for flight in list(by.flights):
            self.answer(by, flight, refusal, now)

    def limit(self, by: Subscription, more: int) -> None:
        """Refuses to take on more names than anybody needs."""
        if len(by.names) + more > MOST_NAMES:
            raise Violation(f"more than {MOST_NAMES} subscriptions")


def _fold(to: Subscription) -> None:
    """Forgets the nonce of the oldest response; what it brought counts as brought by the next."""
    oldest = to.flights.pop(0)
    following = to.flights[0].before
    for name, before in oldest.before.items():
        following[name] = before.then(following[name]) if name in following else before
