"""Filters of a Gateway's listener, which requests pass before they are routed (v1.7, GEP-5224).

A server decides over each request (`ExternalAuth`), with the fields of the filter of HTTPRoutes
(`guards`). A filter that cannot be served closes the listener: without it, the listener would be
open. Elsewhere: their place in Envoy (`filteredlisteners`).
"""

from collections.abc import Iterable, Iterator

from crds.gateway import gateway as crd
from crds.gateway.known import unknown_values
from crds.gateway.references import BackendObjectReference
from dag import nodes
from dag.engine.view import View
from dag.gateway import backends, guards
from dag.problems import Problem, unguarded
from dag.problems.places import Place


def resolved(
    view: View, listener: crd.Listener, at: Place
) -> Iterator[nodes.Authorization | Problem]:
    """For each filter the server that decides, or why the listener is closed; in their order."""
    if listener.filters is None:
        return
    if listener.protocol not in {"HTTP", "HTTPS"}:
        yield unguarded.listener_filters_on_stream(at.at("filters"), listener.protocol)
        return
    for index, it in enumerate(listener.filters.requests):
        yield _resolved(view, it, at.at("filters").at("requests", index))


def references(listeners: Iterable[crd.Listener]) -> Iterator[BackendObjectReference]:
    """What the filters of listeners refer to."""
    for listener in listeners:
        for it in listener.filters.requests if listener.filters is not None else ():
            if it.external_auth is not None:
                yield it.external_auth.backend_ref


def _resolved(view: View, wanted: crd.ListenerFilter, at: Place) -> nodes.Authorization | Problem:
    asked = wanted.external_auth
    if asked is None:
        words = f"the type {wanted.type} is not supported; use ExternalAuth"
        return unguarded.listener_filter_not_served(at.at("type"), words)
    place = at.at("externalAuth")
    for strange in unknown_values(asked):
        field = Place(at.subject, f"{place.path}.{strange.path}")
        return unguarded.listener_filter_not_served(field, strange.message)
    found = guards.fault(asked, place)
    if found is not None:
        return unguarded.listener_filter_not_valid(*found)
    cluster = backends.cluster(view, asked.backend_ref, place.at("backendRef"))
    if isinstance(cluster, Problem):
        return unguarded.listener_filter_not_resolved(cluster)
    return guards.server(asked, cluster)
