"""One stream of discovery requests and responses, in either variant. No I/O.

It takes the bytes of requests, and makes responses on demand, one at a time: nothing is rendered
before it can be sent. One response per type may be unanswered; the next one waits, and includes
whatever changes in the meantime. Only clusters do not wait, because Envoy withholds their
acknowledgement while any of them warms. Types do not wait for one another, and a client that
answers nothing delays only itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from envoy.service.discovery.v3.discovery_pb2 import DeltaDiscoveryRequest, DiscoveryRequest
from google.protobuf.message import DecodeError

from contour.xds import byname, resources
from contour.xds.envoy import Envoy
from contour.xds.events import (
    Answered,
    Closed,
    Event,
    Repeated,
    Sent,
    Subscribed,
    TrialDue,
    Unsubscribed,
    Woken,
)
from contour.xds.fleet import Fleet
from contour.xds.releases import Release
from contour.xds.resources import CLUSTER
from contour.xds.responses import Responses
from contour.xds.state import InFlightResponse
from contour.xds.subscription import Subscription

MOST_TYPES = 16
MOST_NAMES = 1 << 17
MOST_IN_FLIGHT = 100
LONGEST_NODE = 1024  # characters of its ID, cluster or zone, which logs and answers show
MOST_WORDS = 1 << 16  # characters of a refusal that are looked at; names are searched in it

Request = DeltaDiscoveryRequest | DiscoveryRequest
_AnyRequest = TypeVar("_AnyRequest", DeltaDiscoveryRequest, DiscoveryRequest)


def _rank(of: Subscription) -> int:
    """The rank of a type in the order of sending; unknown types come last."""
    return resources.RANK.get(of.type_url, len(resources.RANK))


class Violation(Exception):  # noqa: N818
    """The client violated the protocol or a limit; the stream ends with this message."""


@dataclass(frozen=True, slots=True)
class Node:
    """The client, as it describes itself."""

    id: str
    cluster: str
    release: Release | None = None
    """The release of Envoy; None: it does not say."""
    zone: str = ""
    """Its zone; empty: it does not say."""

    @property
    def viewer(self) -> byname.Viewer:
        """Its identity where clients are served by name (`byname`)."""
        return byname.Viewer(self.cluster.partition("/")[2], self.zone)

    @staticmethod
    def of(request: Request) -> "Node | None":
        """The node of a discovery request; a stream's later requests may leave it out. Raises
        `Violation` if it describes itself at length."""
        if not request.HasField("node"):
            return None
        node = request.node
        zone = node.locality.zone
        if max(map(len, (node.id, node.cluster, zone))) > LONGEST_NODE:
            raise Violation(
                f"the ID, cluster or zone of the node has more than {LONGEST_NODE} characters"
            )
        return Node(node.id, node.cluster, Release.of(node), zone)


class Dialect(Protocol):
    """A variant of the protocol, which reads requests and writes responses: `delta` and `sotw`."""

    def receive(self, stream: "Stream", request: bytes, now: float) -> None:
        """Processes one request; raises as `Stream.receive` does."""

    def sendable(self, to: Subscription) -> list[str]: ...

    def response(
        self, to: Subscription, names: list[str], made: Responses
    ) -> tuple[bytes, str]: ...


def decoded(kind: type[_AnyRequest], request: bytes) -> _AnyRequest:
    """Reads a request; raises `Violation`."""
    try:
        return kind.FromString(request)
    except DecodeError as error:
        raise Violation(f"not a {kind.__name__}") from error


Admission = Callable[[Node], Fleet]

Had = Mapping[str, str]
"""The versions of the resources that the client says it has; empty: an unknown version."""


class Stream:
    """One stream; `type_url` is empty if it is an aggregated one."""

    def __init__(
        self, dialect: Dialect, admission: Admission, wake: Callable[[], None], type_url: str = ""
    ) -> None:
        self.type_url = type_url
        self.subscriptions: dict[str, Subscription] = {}
        self._in_order: list[Subscription] = []  # in the order of sending
        self.fleet: Fleet | None = None
        self.envoy: Envoy | None = None
        self._dialect = dialect
        self._admission = admission
        self._wake = wake
        self._node: Node | None = None

    def receive(self, request: bytes, now: float) -> None:
        """Processes one request; raises `Violation`, or what the admission raises."""
        self._dialect.receive(self, request, now)

    def response(self, now: float) -> bytes | None:
        """The next response, if there is something to send."""
        if self.fleet is None:
            return None
        if (due := self.alarm) is not None and due <= now:
            self.fleet.alarms.ring(now)
            self._step(Woken(), now)
        # Twice, because a search that ends may leave something to send of an earlier type.
        for to in (*self._in_order, *self._in_order):
            if not (to.dirty or to.search or to.is_owed):  # which is true for nearly all
                continue
            names = self._names(to, now)
            if names or (to.is_owed and not to.dirty and not to.overrides):
                message, nonce = self._dialect.response(to, names, self.fleet.responses)
                self.fleet.counts["sent", to.type_url] += 1
                self._step(Sent(to, names, nonce), now)
                return message
        return None

    def _joined(self) -> tuple[Fleet, Envoy]:
        assert self.fleet is not None
        assert self.envoy is not None
        return self.fleet, self.envoy

    def _step(self, event: Event, now: float) -> None:
        fleet, envoy = self._joined()
        fleet.step(envoy, event, now)

    def _names(self, to: Subscription, now: float) -> list[str]:
        """The names of one type that may be sent now."""
        if self.envoy is None or self.envoy.holds(to):
            return []
        if to.in_flight and (to.type_url != CLUSTER or to.search):
            return []
        if to.search:
            self._step(TrialDue(to), now)
            if to.search and to.search.trial:
                return to.search.trial
        while len(to.in_flight) > MOST_IN_FLIGHT:
            to.merge_oldest()
        return self._dialect.sendable(to) if to.dirty else []

    @property
    def alarm(self) -> float | None:
        """When a response may become due without a request."""
        known = (it.alarms.next for it in (self.fleet, self.envoy) if it is not None)
        return min((it for it in known if it is not None), default=None)

    def close(self, now: float) -> None:
        if self.fleet is None or self.envoy is None:
            return
        for it in self.subscriptions.values():
            if it.is_wildcard:
                self.fleet.ignore_all(self.envoy, it)
            self.fleet.interest.forget(it)
            self._step(Closed(it), now)
        if not any(self.envoy.subscriptions.values()):
            self.fleet.leave(self.envoy)

    def identify(self, node: Node | None) -> Fleet:
        """The fleet of this stream, which its first request determines."""
        if self.fleet is None:
            self._node = node or Node("", "")
            self.fleet = self._admission(self._node)
            viewer = self._node.viewer if self.fleet.is_by_name else None
            self.envoy = self.fleet.envoy(
                *(self._node.id,),
                is_aggregated=not self.type_url,
                release=self._node.release,
                viewer=viewer,
            )
        elif node is not None and node != self._node:
            raise Violation(f"the node changed from {self._node} to {node} within a stream")
        return self.fleet

    def subscription(self, request: Request) -> tuple[Subscription, bool]:
        """The subscription of a request, and whether it is new."""
        self.identify(Node.of(request))
        type_url = request.type_url or self.type_url
        if not type_url or (self.type_url and type_url != self.type_url) or len(type_url) > 256:
            raise Violation(f"type URL {type_url[:256]!r} is not served here")
        known = self.subscriptions.get(type_url)
        if known is not None:
            return known, False
        if len(self.subscriptions) >= MOST_TYPES:
            raise Violation(f"more than {MOST_TYPES} types on one stream")
        assert self.envoy is not None
        made = self.subscriptions[type_url] = self.envoy.open(type_url, self._wake)
        self._in_order = sorted(self.subscriptions.values(), key=_rank)
        return made, True

    def subscribe(self, by: Subscription, names: Iterable[str], had: Had, now: float) -> None:
        """The client asks for names. A name is always answered, even if the resource does not
        exist, or was already sent for a wildcard; resources that the client says it has in the
        newest version are not sent again."""
        asked = dict.fromkeys(names)
        repeated = [it for it in asked if it in by.names] if by.names else []
        for name in repeated:
            del asked[name]
        unknown = new = list(asked)
        if by.is_wildcard:
            unknown = [it for it in new if by.resource(it) is None]
            repeated += [it for it in new if it not in had and by.resource(it) is not None]
        fleet, envoy = self._joined()
        fleet.interest.add(envoy, by, new)
        if repeated:
            self._step(Repeated(by, repeated), now)
        if unknown:
            self._step(Subscribed(by, unknown, had), now)

    def subscribe_to_all(self, by: Subscription, had: Had, now: float) -> None:
        """The client asks for everything of a type. It may have some of it, and resources that are
        gone. Those that vanished while it was disconnected are removed after it has had time to get
        what replaces them."""
        if by.is_wildcard:
            return
        fleet, envoy = self._joined()
        fleet.listen_to_all(envoy, by)
        names = list(by.published)
        if not had.keys() <= by.published.keys():
            names += [it for it in had if it not in by.published]
        if by.names:
            names = [it for it in names if it not in by.names]
        if names:
            self._step(Subscribed(by, names, had), now)

    def unsubscribe(self, by: Subscription, name: str, now: float) -> None:
        fleet, envoy = self._joined()
        fleet.interest.remove(envoy, by, name)
        if not by.is_wildcard:
            self._step(Unsubscribed(by, name), now)

    def unsubscribe_from_all(self, by: Subscription, now: float) -> None:
        if not by.is_wildcard:
            return
        fleet, envoy = self._joined()
        fleet.ignore_all(envoy, by)
        for name in dict.fromkeys((*by.published, *by.removing, *by.dirty)):
            if name not in by.names:
                self._step(Unsubscribed(by, name), now)

    def answer(
        self, by: Subscription, response: InFlightResponse, refusal: str | None, now: float
    ) -> None:
        """A response was accepted, or refused with this message."""
        fleet, _ = self._joined()
        fleet.counts["acknowledged" if refusal is None else "refused", by.type_url] += 1
        words = None if refusal is None else refusal[:MOST_WORDS]
        self._step(Answered(by, response, words), now)
        self._wake()

    def answer_all(self, by: Subscription, refusal: str | None, now: float) -> None:
        """The newest response was answered, and with it all earlier ones, which it repeats."""
        while len(by.in_flight) > 1:
            by.merge_oldest()
        for response in list(by.in_flight):
            self.answer(by, response, refusal, now)

    def limit(self, by: Subscription, names: int) -> None:
        """Raises `Violation` if a client asks for more than the maximum number of names in all, or
        has as many that it no longer asks for, or that are not published."""
        most = MOST_NAMES if by.viewer is None else byname.MOST_NAMES
        if names > most:
            raise Violation(f"more than {most} subscriptions")

    def called(self, by: Subscription, names: Sequence[str]) -> set[str]:
        """The names as they are served; for clients that are served by name, in canonical form
        without `*`. Raises `Violation` if there are too many."""
        if by.viewer is None:
            return set(names)
        if len(names) > byname.MOST_NAMES:
            raise Violation(f"more than {byname.MOST_NAMES} subscriptions")
        found, by.malformed = byname.called(names)
        return found - {"*"}
