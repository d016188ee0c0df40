"""The tracked queries for patches: their outcome, and the clusters that they add.

Elsewhere: patched hosts and clusters (`routing`), listeners (`listening`).
"""

from collections.abc import Iterator

from contour.envoy import listening, routing
from contour.envoy.credentials import Pieces
from contour.envoy.hooks import lists
from contour.envoy.hooks.questions import TemplateKey
from contour.envoy.patches import applying, layers, places
from contour.envoy.patches.applying import Patched
from contour.xds import resources
from dag import hosts, listeners, nodes
from dag.engine.view import Kept, View, query
from dag.patches import policies, status
from dag.patches.naming import PatchPlace
from dag.patches.status import Failure, Outcome


@status.outcome.answer
def outcome(view: View, place: PatchPlace) -> Outcome:
    """The outcome of the patches of a place."""
    match place.kind:
        case "listener":
            return _of_listener(view, place)
        case "host":
            return _of_host(view, place)
        case "cluster":
            return _of_cluster(view, place)


def _of_listener(view: View, place: PatchPlace) -> Outcome:
    key = TemplateKey(place.fleet, place.name, is_quic=place.is_quic)
    if view.ask(listeners.listener, nodes.ListenerKey(place.fleet, place.name)) is None:
        return Outcome(missing=f"there is no listener {place.name!r}")
    return Outcome(view.ask(listening.patched_listener, key).failures)


def _of_host(view: View, place: PatchPlace) -> Outcome:
    key = nodes.HostKey(place.fleet, place.name, place.host)
    if view.ask(hosts.virtual_host, key) is None:
        why = f"the listener {place.name!r} has no virtual host {place.host!r}"
        return Outcome(missing=why)
    return Outcome(view.ask(routing.patched_host, key).failures)


def _of_cluster(view: View, place: PatchPlace) -> Outcome:
    keys = view.bucket(routing.CLUSTERS, place)
    if keys:
        each = (view.ask(routing.patched_cluster, it).failures for it in keys)
        return Outcome(tuple(dict.fromkeys(it for failures in each for it in failures)))
    if view.count(policies.ADDED, place):
        return Outcome(view.ask(_added, place).failures)
    why = f"there is no cluster {place.name!r}; clusters are named NAMESPACE/SERVICE/PORT"
    return Outcome(missing=why)


@query
def _added(view: View, place: PatchPlace) -> Patched:
    """A cluster that patches make from nothing."""
    patches = policies.at(view, place)
    if view.count(routing.CLUSTERS, place):
        return Patched()
    found = applying.applied(places.CLUSTER, b"", patches)
    misnamed = tuple(_misnamed(place, found, patches))
    return Patched((), (*found.failures, *misnamed)) if misnamed else found


def _misnamed(
    place: PatchPlace, found: Patched, patches: tuple[policies.Patch, ...]
) -> Iterator[Failure]:
    """The error if an added cluster does not have the name under which it is added."""
    for it in found.layers:
        if places.cluster_name(it.body) != place.name:
            first = next(at for at in patches if at.policy == it.policy).operations[0]
            why = f"the cluster that is added has to have the name {place.name!r}"
            yield Failure(it.policy, first.number, "operation.value", why)


@query
def added_cluster(view: View, place: PatchPlace) -> Pieces | None:
    """A cluster that patches add, unless another one has its name."""
    found = view.ask(_added, place)
    if not found.layers:
        return None
    part: resources.Part | None = None
    for it in found.layers:
        part = layers.layered(lists.part(it.body, None), it.policy, part)
    return (resources.Change(resources.Name(resources.CLUSTER, place.name), "", part),)


KEPT = (Kept(added_cluster, policies.ADDED),)
PUBLISHED = (added_cluster,)
