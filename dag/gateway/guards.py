"""Guards of a rule by its filters: CORS policy and external authorization.

Gateway API, "HTTPCORSFilter" (GEP-1767) and "HTTPExternalAuthFilter" (GEP-1494, experimental). If
the reference to the authorization server leads nowhere, the rule is closed. Filters that are
objects of their own are resolved elsewhere (`extensionrefs`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from crds.gateway.filters import HTTPRouteFilter
from crds.gateway.guards import HTTPCORSFilter, HTTPExternalAuthFilter
from crds.gateway.httproute import HTTPRouteRule
from crds.records import replace
from dag import nodes
from dag.engine.view import View
from dag.gateway import backends, extensionrefs, filters, routefilters
from dag.problems import Problem, anywhere
from dag.problems import gateway as problems
from dag.problems.places import Findings, Place, gathered
from dag.values import headers, regexes


def policies(
    view: View, rule: HTTPRouteRule, at: Place
) -> tuple[nodes.Policies | None, list[Problem]]:
    """The policies of a rule, and what is wrong with them."""
    placed = list(filters.placed(rule, at))
    wanted = [it for _, it in placed]
    found: list[nodes.Authorization | Problem] = []
    for place, it in placed:
        if it.external_auth is not None:
            found.extend(_authorization(view, it.external_auth, place.at("externalAuth")))
    told = [it for it in found if isinstance(it, Problem)]
    servers = [it for it in found if isinstance(it, nodes.Authorization)]
    extended, more = gathered(extensionrefs.policies(view, rule.filters, at))
    told.extend(more)
    told.extend(routefilters.conflicts(view, rule, at))
    cors, remarks = gathered(_first_cors(placed))
    told.extend(remarks)
    if extended.limits is not None and _is_answered(view, rule, wanted, at):
        told.extend(_uncounted(rule, at))
    if cors is None and not servers and extended == nodes.Policies():
        return None, told
    return replace(extended, cors=cors, authorization=servers[0] if servers else None), told


def _is_answered(
    view: View, rule: HTTPRouteRule, wanted: Sequence[HTTPRouteFilter], at: Place
) -> bool:
    """Whether no request of a rule reaches a backend."""
    if filters.redirect(wanted) is not None:
        return True
    return routefilters.joined(view, rule.filters, at.subject.namespace).respond is not None


def _uncounted(rule: HTTPRouteRule, at: Place) -> Iterator[Problem]:
    """Redirects and direct responses with rate limits: Envoy asks no service about these."""
    for index, it in enumerate(rule.filters):
        if it.extension_ref is not None and it.extension_ref.kind == "RateLimitFilter":
            place = at.at("filters", index).at("extensionRef")
            problem = problems.filter_not_valid(
                place,
                "requests that are redirected, or answered without a backend, are not counted",
            )
            yield problem
            yield problems.dropped_by_filter(problem)


def _first_cors(placed: Iterable[tuple[Place, HTTPRouteFilter]]) -> Findings[nodes.Cors | None]:
    for at, it in placed:
        if it.cors is not None:
            found = _cors(it.cors)
            if found.exposed != found.expose:
                place = at.at("cors").at("exposeHeaders")
                yield problems.value_without_effect(place, anywhere.STANDS_FOR_NO_HEADER)
            return found
    return None


def _cors(wanted: HTTPCORSFilter) -> nodes.Cors:
    return nodes.Cors(
        origins=tuple(origin(it) for it in wanted.allow_origins),
        methods=wanted.allow_methods,
        headers=wanted.allow_headers,
        expose=wanted.expose_headers,
        max_age=wanted.max_age,
        credentials=bool(wanted.allow_credentials),
    )


def origin(text: str) -> nodes.ValueMatch:
    """The match of an origin as it is written.

    Browsers leave out the default port of the scheme; a wildcard stands for any number of labels.
    """
    if text == "*":
        return nodes.ValueMatch("present")
    return _meant("://".join(_parts(text)))


def origin_host(text: str) -> nodes.ValueMatch:
    """The match of an origin by host and port, whatever the scheme."""
    _, host = _parts(text)
    return nodes.ValueMatch("present") if host in {"", "*"} else _meant(host)


def _parts(origin: str) -> tuple[str, str]:
    """The scheme of an origin, and its host with its port."""
    scheme, _, rest = origin.lower().partition("://")
    usual = {"http": ":80", "https": ":443"}.get(scheme, "")
    return scheme, rest.removesuffix(usual)


def _meant(wanted: str) -> nodes.ValueMatch:
    if "*" not in wanted:
        return nodes.ValueMatch("exact", wanted, ignore_case=True)
    before, _, after = wanted.partition("*")
    labels = "[-a-z0-9_]+(\\.[-a-z0-9_]+)*"
    expression = f"(?i){regexes.quoted(before)}{labels}{regexes.quoted(after)}"
    return nodes.ValueMatch("regex", expression)


def _authorization(
    view: View, wanted: HTTPExternalAuthFilter, at: Place
) -> Iterator[nodes.Authorization | Problem]:
    cluster = backends.cluster(view, wanted.backend_ref, at.at("backendRef"))
    if isinstance(cluster, Problem):
        yield cluster
        yield problems.rule_dropped(at, "the server that decides cannot be reached")
    elif found := fault(wanted, at):
        yield problems.rule_dropped(*found)
    else:
        yield server(wanted, cluster)


def fault(wanted: HTTPExternalAuthFilter, at: Place) -> tuple[Place, str] | None:
    """The field of a filter with which its server cannot be asked, and why; None if it can."""
    if wanted.http is None:
        return None
    place = at.at("http")
    if wanted.http.path and (why := prefix_refusal(wanted.http.path)):
        return place.at("path"), why
    told = wanted.http.allowed_response_headers
    refusals = ((it, headers.request_refusal(it)) for it in told)
    text = next((f"{it!r} {why}" for it, why in refusals if why), None)
    return (place.at("allowedResponseHeaders"), text) if text else None


_PREFIX = re.compile(r"/[!-\"$->@-~]*")


def prefix_refusal(path: str) -> str | None:
    """Why a server cannot be asked with this before the path of a request; None if it can. Envoy
    refuses a whole host or listener where it does not begin with a slash."""
    if _PREFIX.fullmatch(path):
        return None
    return f"{path[:60]!r} is no path: / first, then visible characters without ? and #"


def server(wanted: HTTPExternalAuthFilter, cluster: nodes.Cluster) -> nodes.Authorization:
    """The authorization server of a filter, and what it receives."""
    if wanted.protocol == "GRPC":
        protocol: nodes.UpstreamProtocol = "h2c" if cluster.tls is None else "h2"
        told = wanted.grpc.allowed_headers if wanted.grpc is not None else ()
        called = replace(cluster, protocol=protocol)
        return nodes.Authorization(called, body=_body(wanted), request_headers=_names(told))
    http = wanted.http
    return nodes.Authorization(
        cluster,
        protocol="http",
        body=_body(wanted),
        path_prefix=(http.path or "") if http is not None else "",
        request_headers=_names(http.allowed_headers if http is not None else ()),
        upstream_headers=_names(http.allowed_response_headers if http is not None else ()),
    )


def _names(written: tuple[str, ...]) -> tuple[nodes.ValueMatch, ...]:
    return tuple(nodes.ValueMatch("exact", it.lower(), ignore_case=True) for it in written)


def _body(wanted: HTTPExternalAuthFilter) -> nodes.AuthorizationBody | None:
    size = wanted.forward_body.max_size if wanted.forward_body is not None else None
    return nodes.AuthorizationBody(size, allow_partial=True) if size else None
