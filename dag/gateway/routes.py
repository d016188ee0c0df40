"""The kinds of routes, and what a route of any kind asks for."""

from collections.abc import Callable, Hashable
from typing import Any

from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.view import Kept, Query, View, query
from dag.gateway import grpcroute, httproute, streams
from dag.gateway.rules import Rules

KINDS = ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")


@query
def is_accepted(view: View, ref: ObjectRef) -> bool:
    """Whether at least one rule of a route is served as it is written."""
    return rules(view, ref).is_accepted


def rules(view: View, ref: ObjectRef) -> Rules:
    """What the rules of a route ask for."""
    match ref.kind:
        case "HTTPRoute":
            return view.ask(httproute.rules, ref.key)
        case "GRPCRoute":
            return view.ask(grpcroute.rules, ref.key)
        case _:
            return view.ask(streams.rules, ref)


def kept(query_: Query[ObjectRef, Any]) -> tuple[Kept, ...]:
    """A query whose answers are kept for every route of every kind."""
    return tuple(Kept(query_, tables.BY_KIND[kind], ref_of(kind)) for kind in KINDS)


def ref_of(kind: str) -> Callable[[NamespacedName], Hashable]:
    return lambda key: ObjectRef(kind, *key)
