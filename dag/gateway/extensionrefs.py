"""Filters of a rule that are objects of their own (`extensionRef`), in the namespace of the route.

Gateway API, "HTTPRouteFilter" and "GRPCRouteFilter". A table has the module that resolves each
kind; other kinds are for extensions that have registered them. A rule whose filter is missing or
cannot be built is dropped and answers an error, because what the filter guards must not be open.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from crds.gateway.filters import HTTPRouteFilter
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName
from dag import foreignobjects, nodes
from dag.engine.view import View
from dag.gateway import authenticationfilters, ratelimitfilters, routefilters
from dag.gateway.resolving import Reference, Resolver
from dag.problems import Problem, Refused
from dag.problems import gateway as problems
from dag.problems.places import Findings, Place

Kind = tuple[str, str]
"""Group and kind."""

RESOLVERS: Mapping[Kind, Resolver] = {
    (ENVOY_GATEWAY, "AuthenticationFilter"): authenticationfilters.policies,
    (ENVOY_GATEWAY, "RateLimitFilter"): ratelimitfilters.policies,
    (ENVOY_GATEWAY, routefilters.KIND): routefilters.policies,
}


def policies(view: View, filters: Sequence[HTTPRouteFilter], at: Place) -> Findings[nodes.Policies]:
    """The policies that the filters of a rule ask for which are objects of their own."""
    found = nodes.Policies()
    for kind, references in _by_kind(filters, at).items():
        resolver = RESOLVERS.get(kind)
        if resolver is None:
            yield from _unresolved(view, kind, references)
            continue
        try:
            found = yield from resolver(view, references, found)
        except Refused as refused:
            yield refused.problem
            yield problems.dropped_by_filter(refused.problem)
    return found


def objects(
    view: View, filters: Iterable[HTTPRouteFilter], namespace: str
) -> tuple[nodes.ForeignKey, ...]:
    """The objects of extensions that a rule refers to, in its order, whether they exist or not."""
    wanted = (it.extension_ref for it in filters if it.extension_ref is not None)
    return tuple(
        nodes.ForeignKey(it.group, it.kind, namespace, it.name)
        for it in wanted
        if (it.group, it.kind) not in RESOLVERS
        and view.ask(foreignobjects.registered, (it.group, it.kind)) is not None
    )


def _unresolved(view: View, kind: Kind, references: Iterable[Reference]) -> Iterator[Problem]:
    """What is wrong with references to filters that no module here resolves."""
    registered = view.ask(foreignobjects.registered, kind)
    for target, at in references:
        key = nodes.ForeignKey(*kind, *target)
        if registered is None:
            yield problems.filter_kind_not_served(at, kind)
        elif not view.ask(foreignobjects.is_there, key):
            fault = view.read(foreignobjects.FAULTS, registered)
            problem = problems.extension_object_not_found(at, key.ref, fault)
            yield problem
            yield problems.dropped_by_filter(problem)


def _by_kind(filters: Iterable[HTTPRouteFilter], at: Place) -> Mapping[Kind, list[Reference]]:
    found: defaultdict[Kind, list[Reference]] = defaultdict(list)
    for index, it in enumerate(filters):
        if (wanted := it.extension_ref) is not None:
            target = NamespacedName(at.subject.namespace, wanted.name)
            place = at.at("filters", index).at("extensionRef")
            found[wanted.group, wanted.kind].append(Reference(target, place))
    return found
