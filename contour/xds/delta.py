"""The incremental dialect of xDS: `DeltaDiscoveryRequest` and `DeltaDiscoveryResponse`.

Rules of the xDS protocol, "Incremental xDS": the first request of a type without names is a
wildcard for the types that know one, `*` is one by name; a request may acknowledge and subscribe
at once; an unsubscription carries no nonce; what is subscribed again is sent again; a resource
that does not exist is told in `removed_resources`; after a reconnect the client says which
versions it has.
"""

from collections.abc import Mapping

from envoy.service.discovery.v3.discovery_pb2 import DeltaDiscoveryRequest  # type: ignore[attr-defined]
from google.protobuf.message import DecodeError

from contour.xds import resources, subscription, wire
from contour.xds.resources import ENDPOINTS, WHOLE, Name, Resource
from contour.xds.stream import Node, Stream, Violation
from contour.xds.subscription import Subscription


def receive(stream: Stream, request: bytes, now: float) -> None:
    """Takes in one request."""
    try:
        asked = DeltaDiscoveryRequest.FromString(request)
    except DecodeError as error:
        raise Violation("not a DeltaDiscoveryRequest") from error
    node = Node(asked.node.id, asked.node.cluster) if asked.HasField("node") else None
    stream.identify(node)
    by, is_first = stream.subscription(asked.type_url)
    if asked.response_nonce:
        _answer(stream, by, asked, now)
    for name in asked.resource_names_unsubscribe:
        _unsubscribe(by, name)
    names = list(asked.resource_names_subscribe)
    if is_first and not names and by.type_url in WHOLE:
        names = ["*"]
    for name in names:
        _subscribe(by, name, asked.initial_resource_versions, now)
    stream.limit(by)


def response(to: Subscription, names: list[str]) -> tuple[bytes, str]:
    """The encoded response that brings these names, and its nonce."""
    is_plain = all(it not in to.overrides and it not in to.leaving for it in names)
    if is_plain:
        fleet = to.envoy.fleet
        made, nonce = fleet.shared(
            to.type_url, (response, frozenset(names)), lambda nonce: _encoded(to, names, nonce)
        )
        if nonce != to.last_nonce:
            return made, nonce
    nonce = to.envoy.fleet.nonce()
    return _encoded(to, names, nonce), nonce


def _encoded(to: Subscription, names: list[str], nonce: str) -> bytes:
    found: list[bytes] = []
    removed: list[str] = []
    for name in names:
        resource = to.resource(name)
        if resource is None and to.type_url == ENDPOINTS and not to.is_unsent(name):
            # Envoy goes on using endpoints that are merely removed.
            resource = empty_endpoints(name)
        if resource is None:
            removed.append(name)
        else:
            found.append(resource.rendered(wire.delta_resource, to.instead(name)))
    return wire.delta_response(to.type_url, found, removed, nonce)


def empty_endpoints(name: str) -> Resource:
    """A ClusterLoadAssignment without endpoints."""
    resource = Resource(Name(ENDPOINTS, name))
    resource.put("", resources.part(wire.field(1, name.encode())))
    return resource


def _answer(stream: Stream, by: Subscription, asked: DeltaDiscoveryRequest, now: float) -> None:
    flight = by.flight(asked.response_nonce)
    if flight is not None:
        stream.land(by, flight, now)


def _subscribe(by: Subscription, name: str, versions: Mapping[str, str], now: float) -> None:
    envoy = by.envoy
    if name == "*":
        _subscribe_all(by, versions, now)
        return
    if by.wants(name) and name in by.names:
        by.mark(name, subscription.same())
        return
    envoy.fleet.listen(name, by)
    if not by.is_wildcard:
        _introduce(by, name, versions.get(name), now)
    elif by.resource(name) is None:
        by.mark(name, subscription.absent())


def _subscribe_all(by: Subscription, versions: Mapping[str, str], now: float) -> None:
    if by.is_wildcard:
        return
    by.envoy.fleet.listen_to_all(by)
    known = by.envoy.store.types[by.type_url]
    for name in (*known, *(it for it in versions if it not in known)):
        if name not in by.names:
            _introduce(by, name, versions.get(name), now)


def _introduce(by: Subscription, name: str, version: str | None, now: float) -> None:
    """The first word about a resource on this stream; `version` is what the client has of it."""
    resource = by.resource(name)
    if resource is None:
        by.mark(name, subscription.absent() if version is None else subscription.unknown())
    else:
        by.envoy.introduce(by, resource, version, now)


def _unsubscribe(by: Subscription, name: str) -> None:
    fleet = by.envoy.fleet
    if name == "*":
        fleet.ignore_all(by)
        for known in [*by.envoy.store.types[by.type_url], *by.leaving]:
            if known not in by.names:
                by.forget(known)
        return
    fleet.ignore(name, by)
    if not by.is_wildcard:
        by.forget(name)
