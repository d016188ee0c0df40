"""The tracked queries for patches: their outcome, and the clusters that they or extensions add.

Elsewhere: patched hosts and clusters of the objects (`routing`), listeners (`listening`).
"""

from contour.envoy import listening, routing
from contour.envoy.credentials import Pieces
from contour.envoy.hooks import lists, passed
from contour.envoy.hooks.passed import Item
from contour.envoy.hooks.questions import TemplateKey
from contour.envoy.patches import applying, layers, places
from contour.envoy.patches.applying import Patched
from contour.xds import resources
from crds.records import replace
from dag import hosts, listeners, nodes
from dag.engine.view import Kept, View, query
from dag.patches import policies, status
from dag.patches.naming import PatchPlace
from dag.patches.status import Outcome


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
    found = [view.ask(routing.patched_cluster, it) for it in view.bucket(routing.CLUSTERS, place)]
    if _is_added(view, place):
        found.append(view.ask(patched_added, place))
    if not found:
        why = f"there is no cluster {place.name!r}; clusters are named NAMESPACE/SERVICE/PORT"
        return Outcome(missing=why)
    return Outcome(tuple(dict.fromkeys(it for each in found for it in each.failures)))


def _is_added(view: View, place: PatchPlace) -> bool:
    """Whether extensions add a cluster, or patches do and no other has its name."""
    if _of_extensions(view, place) is not None:
        return True
    return bool(view.count(policies.ADDED, place)) and not view.count(routing.CLUSTERS, place)


def _of_extensions(view: View, place: PatchPlace) -> bytes | None:
    """The cluster that extensions add."""
    return view.read(passed.ADDED_CLUSTERS, Item(place.fleet, place.name))


@query
def patched_added(view: View, place: PatchPlace) -> Patched:
    """An added cluster with its patches; asked for only if it has any."""
    if not _is_added(view, place):
        return Patched()
    body, kind = _of_extensions(view, place), places.added(place.name)
    return applying.applied(kind, body or b"", policies.at(view, place))


@query
def added_cluster(view: View, place: PatchPlace) -> Pieces | None:
    """A cluster that extensions or patches add. One answer, since both may add the same name."""
    body, part = _of_extensions(view, place), None
    if body is not None:
        part = replace(lists.part(body, None), origins=passed.authors(view))
    if policies.at(view, place):
        for it in view.ask(patched_added, place).layers:
            part = layers.layered(lists.part(it.body, part), it.policy, part)
    if part is None:
        return None
    return (resources.Change(resources.Name(resources.CLUSTER, place.name), "", part),)


def _place(item: Item) -> PatchPlace:
    return PatchPlace(item.fleet, "cluster", item.name)


KEPT = (Kept(added_cluster, policies.ADDED), Kept(added_cluster, passed.ADDED_CLUSTERS, _place))
PUBLISHED = (added_cluster,)
