"""The incremental variant of xDS: `DeltaDiscoveryRequest` and `DeltaDiscoveryResponse`.

Rules of the xDS protocol, "Incremental xDS": the first request of a type without names is a
wildcard for the types that know one, `*` is one by name; a request may acknowledge and subscribe at
once; an unsubscription has no nonce; what is subscribed again is sent again; a resource that does
not exist is listed in `removed_resources`; after a reconnect the client says which versions it has.
"""

from envoy.service.discovery.v3.discovery_pb2 import DeltaDiscoveryRequest

from contour.xds import state, wire
from contour.xds.resources import ENDPOINTS, WHOLE
from contour.xds.responses import Responses
from contour.xds.stream import Stream, Violation, decoded
from contour.xds.subscription import Subscription


def receive(stream: Stream, request: bytes, now: float) -> None:
    """Processes one request; raises as `Stream.receive` does."""
    asked = decoded(DeltaDiscoveryRequest, request)
    by, is_first = stream.subscription(asked)
    if by.viewer is not None:
        raise Violation("this fleet is served in the state-of-the-world variant of xDS only")
    if asked.response_nonce:
        _answer(stream, by, asked, now)
    stream.limit(by, len(asked.resource_names_unsubscribe))
    stream.limit(by, len(asked.initial_resource_versions) - len(by.published))
    for name in dict.fromkeys(asked.resource_names_unsubscribe):
        _unsubscribe(stream, by, name, now)
    names = list(asked.resource_names_subscribe)
    if is_first and not names and by.type_url in WHOLE:
        names = ["*"]
    # It is copied, because reading a missing key of a protobuf map adds an entry.
    versions = dict(asked.initial_resource_versions)
    by.is_owed |= is_first and "*" in names and not versions
    stream.limit(by, len(by.names) + sum(it not in by.names for it in names))
    if "*" in names:
        stream.subscribe_to_all(by, versions, now)
        names = [it for it in names if it != "*"]
    if names:
        stream.subscribe(by, names, versions, now)


def sendable(to: Subscription) -> list[str]:
    """The names that may go out now."""
    return to.sendable()


def response(to: Subscription, names: list[str], made: Responses) -> tuple[bytes, str]:
    """The encoded response with these names, and its nonce."""
    asked = frozenset(names)
    if to.has_newest(asked):
        key = (response, to.asked_as, asked)
        shared, nonce = made.shared(to.type_url, key, lambda nonce: _encoded(to, names, nonce))
        if nonce != to.last_nonce:
            return shared, nonce
    nonce = made.nonce()
    return _encoded(to, names, nonce), nonce


def _encoded(to: Subscription, names: list[str], nonce: str) -> bytes:
    found: list[bytes] = []
    removed: list[str] = []
    for name in names:
        resource = to.served(name)
        if resource is None and to.type_url == ENDPOINTS and not to.is_unsent(name):
            # Envoy goes on using endpoints that are only removed.
            resource = state.empty_endpoints(name)
        if resource is None:
            removed.append(name)
        else:
            found.append(resource.rendered(wire.delta_resource, to.overridden_parts(name)))
    return wire.delta_response(to.asked_as, found, removed, nonce)


def _answer(stream: Stream, by: Subscription, asked: DeltaDiscoveryRequest, now: float) -> None:
    answered = by.response(asked.response_nonce)
    if answered is not None:
        refusal = asked.error_detail.message if asked.HasField("error_detail") else None
        stream.answer(by, answered, refusal, now)


def _unsubscribe(stream: Stream, by: Subscription, name: str, now: float) -> None:
    if name == "*":
        stream.unsubscribe_from_all(by, now)
    else:
        stream.unsubscribe(by, name, now)
