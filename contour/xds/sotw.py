"""The state-of-the-world variant of xDS: `DiscoveryRequest` and `DiscoveryResponse`.

Rules of the xDS protocol, "State of the World": every request lists all names; an empty list is a
wildcard only in the first request of a type with wildcards, later it means no resources at all; a
request with an old nonce is ignored, because the client will send another one. Responses for
clusters, listeners, scopes and rate limits list everything, and absence means removal; those of the
other types list what differs.
"""

from collections.abc import Iterable
from hashlib import blake2b

from envoy.service.discovery.v3.discovery_pb2 import DiscoveryRequest

from contour.xds import state, wire
from contour.xds.resources import ENDPOINTS, RATE_LIMITS, WHOLE, Resource
from contour.xds.responses import Responses
from contour.xds.stream import Stream, decoded
from contour.xds.subscription import Subscription


def receive(stream: Stream, request: bytes, now: float) -> None:
    """Processes one request; raises as `Stream.receive` does."""
    asked = decoded(DiscoveryRequest, request)
    by, is_first = stream.subscription(asked)
    names = stream.called(by, asked.resource_names)
    if is_first:
        if by.type_url in WHOLE and not names and by.viewer is None:
            names = {"*"}
        by.lists_all = by.type_url in WHOLE
        by.is_owed = by.lists_all
    elif asked.response_nonce != by.last_nonce:
        return
    else:
        refusal = asked.error_detail.message if asked.HasField("error_detail") else None
        stream.answer_all(by, refusal, now)
        if by.is_wildcard and not names:
            return
    stream.limit(by, len(names))
    # Envoys are trusted about what they have, which follows from the version of everything. A rate
    # limit service that reconnects claims what it received last, even if it has refused that.
    is_told = is_first and by.viewer is None and by.type_url != RATE_LIMITS
    _align(stream, by, names, asked.version_info if is_told else "", now)


def sendable(to: Subscription) -> list[str]:
    """The names that may go out now."""
    if to.lists_all and any(_is_there(to, it) for it in to.overrides):
        # Leaving out what is held back as a whole would remove it.
        return []
    return to.sendable()


def _is_there(to: Subscription, name: str) -> bool:
    """Whether the client has some of a resource that is held back."""
    return to.is_held_whole(name) or (to.is_incomplete(name) and not to.is_unsent(name))


def response(to: Subscription, names: list[str], made: Responses) -> tuple[bytes, str]:
    """The encoded response with these names, and its nonce."""
    listed = sorted(_everything(to)) if to.lists_all else names
    asked = None if to.lists_all and to.is_wildcard else frozenset(listed)
    if _has_newest_of_all(to) if asked is None else to.has_newest(asked):
        key = (response, to.asked_as, asked, to.viewer)
        shared, nonce = made.shared(to.type_url, key, lambda it: _encoded(to, listed, it))
        if nonce != to.last_nonce:
            return shared, nonce
    nonce = made.nonce()
    return _encoded(to, listed, nonce), nonce


def _has_newest_of_all(to: Subscription) -> bool:
    """Whether exactly the newest state of everything is sent."""
    return not (to.overrides or to.removing or any(map(to.differs, to.varied)))


def _align(stream: Stream, by: Subscription, names: set[str], version: str, now: float) -> None:
    """Updates the subscription to the names of a request."""

    asked = set(by.names)
    had = _had(by, (*names, *by.published), version) if version else {}
    if "*" in names:
        stream.subscribe_to_all(by, {it: had[it] for it in by.published} if had else {}, now)
    elif by.is_wildcard:
        stream.unsubscribe_from_all(by, now)
    for name in asked - names:
        stream.unsubscribe(by, name, now)
    new = names - asked - {"*"}
    if new:
        stream.subscribe(by, new, had, now)


def _had(by: Subscription, names: Iterable[str], version: str) -> dict[str, str]:
    """The versions of the resources of a client that reports this version of everything at its
    start."""
    is_newest = version == _version(by, sorted(by.published))
    found = ((it, by.resource(it) if is_newest else None) for it in names)
    return {
        name: resource.version(by.overridden_parts(name)) if resource else ""
        for name, resource in found
    }


def _everything(to: Subscription) -> list[str]:
    served = (*to.published, *to.removing) if to.is_wildcard else to.names
    return [it for it in dict.fromkeys(served) if to.served(it) is not None]


def _encoded(to: Subscription, names: list[str], nonce: str) -> bytes:
    found: list[bytes] = []
    for name in names:
        resource = to.served(name)
        if resource is None and to.type_url == ENDPOINTS:
            resource = state.empty_endpoints(name)
        if resource is not None:
            found.append(resource.rendered(wire.sotw_resource, to.overridden_parts(name)))
    return wire.sotw_response(to.asked_as, found, _version(to, names), nonce)


def _version(to: Subscription, names: list[str]) -> str:
    """The content hash of all that a response lists."""
    total = blake2b(digest_size=16)
    for name in names:
        resource: Resource | None = to.resource(name)
        version = resource.version(to.overridden_parts(name)) if resource else ""
        total.update(wire.field(1, name.encode()) + version.encode())
    return total.hexdigest()
