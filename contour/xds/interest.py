"""What a stream asks for: by name, everything, no longer. The same for both dialects.

A name is always answered, also if there is nothing of that name. What the client already has in
the newest version is not sent again. What vanished while the client was away may still be in use
there: it is told after the client has had the time to be told what replaces it.
"""

from collections.abc import Callable, Iterable

from contour.xds import subscription
from contour.xds.resources import CLUSTER, ENDPOINTS, SECRET, Name, Resource
from contour.xds.subscription import Subscription

# The version of a resource that the client says it has; empty if it has one it cannot tell.
Had = Callable[[str], str | None]


def subscribe(by: Subscription, name: str, had: Had, now: float) -> None:
    """The stream asks for a name."""
    if name in by.names:
        by.mark(name, subscription.same())
        return
    is_known = by.wants(name) and by.resource(name) is not None
    by.envoy.fleet.listen(name, by)
    if not is_known:
        _introduce(by, name, had(name), now)


def subscribe_to_all(by: Subscription, had: Had, known: Iterable[str], now: float) -> None:
    """The stream asks for everything of its type; `known` are names that it has already."""
    if by.is_wildcard:
        return
    by.envoy.fleet.listen_to_all(by)
    by.envoy.align()
    served = by.envoy.store.types[by.type_url]
    for name in (*served, *(it for it in known if it not in served)):
        if name not in by.names:
            _introduce(by, name, had(name), now)


def unsubscribe(by: Subscription, name: str) -> None:
    by.envoy.fleet.ignore(name, by)
    if not by.is_wildcard:
        by.forget(name)


def unsubscribe_from_all(by: Subscription) -> None:
    by.envoy.fleet.ignore_all(by)
    by.envoy.align()
    for name in [*by.envoy.store.types[by.type_url], *by.leaving]:
        if name not in by.names:
            by.forget(name)


def _introduce(by: Subscription, name: str, version: str | None, now: float) -> None:
    """The first word about a resource on this stream."""
    if version is None:
        by.envoy.arrival.expect(by, name)
    else:
        by.envoy.arrival.has(by)
    resource = by.resource(name)
    if resource is not None:
        by.envoy.introduce(by, resource, version, now)
    elif version is None:
        by.mark(name, subscription.absent())
    elif by.type_url in {CLUSTER, ENDPOINTS, SECRET}:
        by.leave(Resource(Name(by.type_url, name)))
        by.envoy.lose_later((by, by.leaving[name]))
    else:
        by.mark(name, subscription.unknown())
