"""Conversations with the xDS machine that read like a transcript: no sockets, a clock by hand.

`>>` is what happens: a request of the client, a publication, time that passes. `<<` is the
response that must come next, or that there is none. The client decodes with protobuf what the
machine joined from bytes, and keeps what a client would have: `has`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from envoy.config.route.v3 import route_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf import descriptor_pool, message_factory

from contour.xds import delta, sotw
from contour.xds.fleet import Fleet
from contour.xds.observer import AckObserver, RefusedPart
from contour.xds.resources import RATE_LIMITS, ROUTE, WHOLE, Change
from contour.xds.stream import Stream

# The generated modules make their messages when they are imported: there is nothing to check.
pb: Any = discovery_pb2
routes_pb: Any = route_pb2


class Client(Protocol):
    """One stream as the other side sees it."""

    stream: Stream
    has: dict[str, dict[str, Any]]  # type, name to version or bytes
    nonces: dict[str, str]
    versions: dict[str, str]

    def subscribe(self, type_url: str, names: Iterable[str], **versions: str) -> bytes: ...
    def unsubscribe(self, type_url: str, names: Iterable[str]) -> bytes: ...
    def answer(self, type_url: str, words: str) -> bytes: ...
    def take(self, response: bytes) -> "Push": ...


@dataclass(frozen=True)
class Push:
    """A response: what it brings, and what it removes. Routes print as `host>cluster`."""

    type_url: str
    names: frozenset[str]
    removed: frozenset[str] = frozenset()
    routes: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        kind = self.type_url.rpartition(".")[2]
        gone = f" -{sorted(self.removed)}" if self.removed else ""
        return f"{kind} {sorted(self.names)}{gone} {' '.join(sorted(self.routes))}".rstrip()


def push(type_url: str, *names: str, removed: Iterable[str] = (), routes: str = "") -> Push:
    return Push(type_url, frozenset(names), frozenset(removed), frozenset(routes.split()))


nothing = None
Event = Callable[["Conversation"], None]


@dataclass
class Hearsay(AckObserver):
    """What an observer was told."""

    heard: list[tuple[str, str, str]] = field(default_factory=list)

    def refused(self, refused: RefusedPart) -> None:
        self.heard.append(("refused", refused.part or refused.name.name, refused.words))

    def recovered(self, name: Any, part: str) -> None:
        self.heard.append(("recovered", part or name.name, ""))


class Conversation:
    """One client and one fleet."""

    def __init__(self, *published: Iterable[Change], fleet: Fleet | None = None) -> None:
        self.now = 0.0
        self.fleet = fleet or Fleet("web", clock=lambda: self.now)
        self.observer = Hearsay()
        self.fleet.observer = self.observer
        for changes in published:
            self.fleet.publish(changes)
        self.client: Client = DeltaClient(self.fleet)

    def speaking(self, dialect: Callable[[Fleet], Client]) -> "Conversation":
        self.client = dialect(self.fleet)
        return self

    def __rshift__(self, event: Event) -> "Conversation":
        event(self)
        return self

    def __lshift__(self, expected: Push | None) -> "Conversation":
        response = self.client.stream.response(self.now)
        said = self.client.take(response) if response is not None else None
        assert said == expected
        return self

    def request(self, message: bytes) -> None:
        self.client.stream.receive(message, self.now)


def subscribe(type_url: str, *names: str) -> Event:
    return lambda talk: talk.request(talk.client.subscribe(type_url, names))


def unsubscribe(type_url: str, *names: str) -> Event:
    return lambda talk: talk.request(talk.client.unsubscribe(type_url, names))


def ack(type_url: str) -> Event:
    return lambda talk: talk.request(talk.client.answer(type_url, ""))


def nack(type_url: str, words: str) -> Event:
    return lambda talk: talk.request(talk.client.answer(type_url, words))


def request(message: Any) -> Event:
    return lambda talk: talk.request(message.SerializeToString())


def publish(*changes: Change | Iterable[Change]) -> Event:
    """A publication; a change is a tuple, so several come as lists."""
    flat = [it for group in changes for it in ([group] if isinstance(group, Change) else group)]
    return lambda talk: talk.fleet.publish(flat)


def wait(seconds: float) -> Event:
    def pass_time(talk: Conversation) -> None:
        talk.now += seconds

    return pass_time


def reconnect(dialect: Callable[[Fleet], Client]) -> Event:
    """The stream breaks; another client comes."""

    def change(talk: Conversation) -> None:
        talk.client.stream.close(talk.now)
        talk.client = dialect(talk.fleet)

    return change


def opened(talk: Conversation) -> Conversation:
    """An Envoy that has taken clusters, endpoints, listeners and routes."""
    types = talk.fleet.store.types
    for type_url in WHOLE - {RATE_LIMITS}:  # which no Envoy asks for
        talk.request(talk.client.subscribe(type_url, ()))
    settle(talk)
    for type_url, known in list(types.items()):
        if type_url not in WHOLE and known:
            talk.request(talk.client.subscribe(type_url, sorted(known)))
    settle(talk)
    talk.now += 10  # it is long ago that the stream began
    return talk


def settle(talk: Conversation) -> list[Push]:
    """Acknowledges whatever comes, until nothing does."""
    said: list[Push] = []
    while (response := talk.client.stream.response(talk.now)) is not None:
        said.append(talk.client.take(response))
        talk.request(talk.client.answer(said[-1].type_url, ""))
    return said


class DeltaClient:
    """A client of the incremental dialect."""

    def __init__(self, fleet: Fleet, type_url: str = "") -> None:
        self.stream = Stream(delta, lambda _: fleet, lambda: None, type_url)
        self.has: dict[str, dict[str, Any]] = {}
        self.had: dict[str, dict[str, Any]] = {}  # before the newest response: what a refusal keeps
        self.nonces: dict[str, str] = {}
        self.versions: dict[str, str] = {}

    def subscribe(self, type_url: str, names: Iterable[str], **versions: str) -> bytes:
        made = self._request(type_url)
        made.resource_names_subscribe.extend(names)
        made.initial_resource_versions.update(versions)
        return bytes(made.SerializeToString())

    def unsubscribe(self, type_url: str, names: Iterable[str]) -> bytes:
        made = self._request(type_url)
        made.resource_names_unsubscribe.extend(names)
        for name in names:
            self.has.get(type_url, {}).pop(name, None)
        return bytes(made.SerializeToString())

    def answer(self, type_url: str, words: str) -> bytes:
        made = self._request(type_url)
        made.response_nonce = self.nonces[type_url]
        if words:
            self.has[type_url] = self.had[type_url]
            made.error_detail.message = words
        return bytes(made.SerializeToString())

    def take(self, response: bytes) -> Push:
        said = pb.DeltaDiscoveryResponse.FromString(response)
        self.nonces[said.type_url] = said.nonce
        has = self.has.setdefault(said.type_url, {})
        self.had[said.type_url] = dict(has)
        has.update({it.name: it.version for it in said.resources})
        for name in said.removed_resources:
            has.pop(name, None)
        return Push(
            said.type_url,
            frozenset(it.name for it in said.resources),
            frozenset(said.removed_resources),
            frozenset(_routes(said.type_url, (it.resource for it in said.resources))),
        )

    def _request(self, type_url: str) -> Any:
        made = pb.DeltaDiscoveryRequest(type_url=type_url)
        if self.stream.envoy is None:
            made.node.id, made.node.cluster = "one", "web"
        return made


class SotwClient:
    """A client of the state-of-the-world dialect."""

    def __init__(self, fleet: Fleet, type_url: str = "", cluster: str = "web") -> None:
        self.cluster = cluster
        self.stream = Stream(sotw, lambda _: fleet, lambda: None, type_url)
        self.names: dict[str, set[str]] = {}
        self.has: dict[str, dict[str, Any]] = {}
        self.had: dict[str, dict[str, Any]] = {}  # before the newest response: what a refusal keeps
        self.nonces: dict[str, str] = {}
        self.versions: dict[str, str] = {}

    def subscribe(self, type_url: str, names: Iterable[str], **versions: str) -> bytes:
        self.versions |= versions
        self.names.setdefault(type_url, set()).update(names)
        return bytes(self._request(type_url).SerializeToString())

    def unsubscribe(self, type_url: str, names: Iterable[str]) -> bytes:
        self.names[type_url] -= set(names)
        return bytes(self._request(type_url).SerializeToString())

    def answer(self, type_url: str, words: str) -> bytes:
        made = self._request(type_url)
        if words:
            self.has[type_url] = self.had[type_url]
            made.error_detail.message = words
        return bytes(made.SerializeToString())

    def take(self, response: bytes) -> Push:
        said = pb.DiscoveryResponse.FromString(response)
        self.nonces[said.type_url] = said.nonce
        self.versions[said.type_url] = said.version_info
        found = {_name(it): it.value for it in said.resources}
        names = frozenset(found)
        has = self.has.setdefault(said.type_url, {})
        self.had[said.type_url] = dict(has)
        if said.type_url in WHOLE:
            has.clear()
        has.update(found)
        return Push(said.type_url, names, routes=frozenset(_routes(said.type_url, said.resources)))

    def _request(self, type_url: str) -> Any:
        made = pb.DiscoveryRequest(
            type_url=type_url,
            resource_names=sorted(self.names.get(type_url, ())),
            response_nonce=self.nonces.get(type_url, ""),
            version_info=self.versions.get(type_url, ""),
        )
        if self.stream.envoy is None:
            made.node.id, made.node.cluster = "one", self.cluster
        return made


def _name(resource: Any) -> str:
    """Every type has its name in field 1, but some call it otherwise."""
    descriptor = descriptor_pool.Default().FindMessageTypeByName(resource.TypeName())
    message = message_factory.GetMessageClass(descriptor).FromString(resource.value)
    return str(getattr(message, descriptor.fields_by_number[1].name))


def _routes(type_url: str, resources: Iterable[Any]) -> Iterable[str]:
    if type_url != ROUTE:
        return
    for resource in resources:
        made = routes_pb.RouteConfiguration.FromString(resource.value)
        for host in made.virtual_hosts:
            yield f"{host.name}>{host.routes[0].route.cluster}"
