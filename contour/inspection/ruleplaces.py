"""Where the rule that takes a request is written, and which problems are about other rules.

A problem has the path of a field, and a route does not know its own. So the rule is looked for in
the object: by its identity in a route of the Gateway API, by its match in an Ingress or in the root
of an HTTPProxy. What a root includes is not looked at, since its matches depend on who includes it.
"""

import re
from collections.abc import Iterable, Iterator

from crds.httpproxy import HTTPProxy
from crds.ingress import Ingress
from crds.records import replace
from dag import nodes, tables
from dag.engine.incremental import Engine
from dag.gateway import grpcroute, httproute
from dag.httpproxy import conditions
from dag.ingress import paths
from dag.problems import Refused
from dag.problems.places import Place
from dag.values import hostnames

_RULES = re.compile(r"spec\.(?:routes|includes|rules)\[[0-9]+\](?:\.http\.paths\[[0-9]+\])?")


def place(engine: Engine, route: nodes.Route, host: str) -> str:
    """The path of the rule that made a route of a host, such as `spec.rules[1]`; empty if it is not
    known."""
    return next(iter(_places(engine, route, host)), "")


def is_about_others(text: str, rule: str) -> bool:
    """Whether a message names rules of an object, and this one is not among them."""
    named = frozenset(_RULES.findall(text))
    own = any(it == rule or rule.startswith(f"{it}.") for it in named)
    return bool(rule and named) and not own


def _places(engine: Engine, route: nodes.Route, host: str) -> Iterable[str]:
    own = Place(route.origin)
    if route.origin.kind in ("HTTPRoute", "GRPCRoute"):
        asked = httproute.rules if route.origin.kind == "HTTPRoute" else grpcroute.rules
        found = engine.answer(asked, route.origin.key)
        is_there = found is not None and route.rule in found.names
        return (found.place(route.origin, route).path,) if found is not None and is_there else ()
    written = engine.row(tables.BY_KIND[route.origin.kind], route.origin.key)
    match written:
        case HTTPProxy():
            return reversed([*_of_root(written, route, own)])  # the last one of a match is served
        case Ingress():
            return _of_ingress(written, route, own, host)
        case _:
            return ()


def _of_root(root: HTTPProxy, route: nodes.Route, own: Place) -> Iterator[str]:
    if root.spec.virtualhost is None:
        return
    for index, it in enumerate(root.spec.routes):
        at = own.at("routes", index)
        try:
            match = conditions.narrowed(at, nodes.Match(), it.conditions)
        except Refused:
            continue
        if match == _bare(route.match):
            yield at.path


def _of_ingress(found: Ingress, route: nodes.Route, own: Place, host: str) -> Iterator[str]:
    for index, rule in enumerate(found.spec.rules):
        if (rule.host.lower() or hostnames.EVERY) != host or rule.http is None:
            continue
        for number, it in enumerate(rule.http.paths):
            at = own.at("rules", index).at("http").at("paths", number)
            try:
                match = nodes.Match(paths.path(at, it))
            except Refused:
                continue
            if match == _bare(route.match):
                yield at.path


def _bare(match: nodes.Match) -> nodes.Match:
    """A match without what the host adds to it (`dag.classicclaims.for_one_label`)."""
    return replace(match, headers=tuple(it for it in match.headers if it.name != ":authority"))
