"""HTTPRouteFilters: they rewrite URLs, inject credentials, answer directly, or add conditions.

Source: the HTTPRouteFilter of Envoy Gateway 1.9. A filter is read once, however many rules name it
(`meaning`), and an edit that does not change what it does affects no rule. One that cannot be
served as a whole closes the rules that name it; so do two filters that set the same part of a rule.
Elsewhere: credentials (`injections`), the filters of the Gateway API (`filters`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from crds.envoygateway import httproutefilter as crd
from crds.gateway.filters import HTTPHeader, HTTPHeaderFilter, HTTPRouteFilter
from crds.gateway.httproute import HTTPRouteRule
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from crds.unserved import unserved
from dag import nodes, tables
from dag.engine.view import Index, Kept, View, query
from dag.gateway import answerbodies, filteruses, injections
from dag.gateway.resolving import Reference
from dag.problems import Problem, Refused
from dag.problems import gateway as problems
from dag.problems.places import Findings, Place
from dag.values import cookies, headers, statuses, substitutions

KIND = injections.KIND
OK = 200
"""The status of an answer if none is given."""
STATUSES = range(200, 600)
"""The statuses that Envoy can answer with."""
FIRST_FAILURE = 300
"""The first status that gRPC clients do not take for success."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What filters do to the requests of a rule; a part that they do not set is None."""

    respond: nodes.Respond | None = None
    host: nodes.Rewrite | None = None
    """The rewrite of the host alone."""
    path: nodes.Substitution | None = None
    injection: nodes.Injection | None = None
    matches: tuple[tuple[nodes.CookieMatch, ...], ...] | None = None
    """Further conditions on requests: all conditions of one of these groups must hold."""
    told: tuple[str, ...] = ()
    """Remarks for the owners of routes."""


_CONTENT_TYPE = "content-type"
_PARTS: Mapping[str, str] = {
    "respond": "directResponse",
    "host": "urlRewrite.hostname",
    "path": "urlRewrite.path",
    "injection": "credentialInjection",
    "matches": "matches",
}
"""The parts, each of which a rule may have once, and their fields in a filter's specification."""


@query
def meaning(view: View, key: NamespacedName) -> Meaning | Problem | None:
    """What a filter does, or why it cannot be served; None if there is no such filter."""
    written = view.read(tables.HTTP_ROUTE_FILTERS, key)
    if written is None:
        return None
    place = Place(ObjectRef(KIND, *key))
    try:
        return _meaning(view, written, place)
    except Refused as refused:
        return refused.problem


def policies(
    view: View, references: Sequence[Reference], made: nodes.Policies
) -> Findings[nodes.Policies]:
    """Returns the policies unchanged; Refused if the filters cannot be served together."""
    claimed: dict[str, NamespacedName] = {}
    for target, at in references:
        found = _of(view, target)
        if found is None:
            raise Refused(problems.filter_not_found(at, f"{KIND} {target} not found"))
        if isinstance(found, Problem):
            raise _refused(at, f"{KIND} {target}: {found.message}")
        if at.subject.kind == "GRPCRoute" and (why := _grpc_refusal(found)):
            raise _refused(at, f"{KIND} {target}: {why}")
        for part in _parts(found):
            if claimed.setdefault(part, target) != target:
                text = f"{KIND} {claimed[part]} has {_PARTS[part]}, too, which a rule may have once"
                raise _refused(at, text)
        for text in (*found.told, *_grpc_remarks(found, at)):
            yield problems.filter_remark(at, f"{KIND} {target}: {text}")
    if "respond" in claimed and len(claimed.keys() - {"matches"}) > 1:
        text = "a rule that is answered by directResponse sends no requests on to be changed"
        raise _refused(references[-1].at, text)
    return made


def conflicts(view: View, rule: HTTPRouteRule, at: Place) -> Iterator[Problem]:
    """Problems with filters that set the same part of a rule as filters of the Gateway API."""
    every = (*rule.filters, *(it for ref in rule.backend_refs for it in ref.filters))
    taken = frozenset(_taken(every))
    if not taken:
        return
    for index, it in enumerate(rule.filters):
        if not _is_ours(it):
            continue
        for part in _parts(joined(view, (it,), at.subject.namespace)):
            if part in taken:
                place = at.at("filters", index).at("extensionRef")
                text = f"its {_PARTS[part]} cannot stand beside a RequestRedirect or URLRewrite"
                problem = problems.filter_not_valid(place, f"{text} that says the same of a rule")
                yield problem
                yield problems.dropped_by_filter(problem)


def joined(view: View, filters: Iterable[HTTPRouteFilter], namespace: str) -> Meaning:
    """What the valid filters of a rule do together."""
    named = (it.extension_ref for it in filters if _is_ours(it))
    found = (_of(view, NamespacedName(namespace, it.name)) for it in named if it)
    result = Meaning()
    for one in found:
        if isinstance(one, Meaning):
            result = replace(result, **{it: getattr(one, it) for it in _parts(one)})
    return result


def narrowed(
    view: View, filters: Iterable[HTTPRouteFilter], route: ObjectRef, taken: Iterable[nodes.Match]
) -> list[nodes.Match]:
    """The matches of a rule, narrowed by the conditions of its filter.

    If several filters have conditions, or the rule is of a GRPCRoute, they are not narrowed: then
    the rule is closed for all requests that it may be meant for.
    """
    named = {it.extension_ref for it in filters if _is_ours(it) and it.extension_ref}
    found = (_of(view, NamespacedName(route.namespace, it.name)) for it in named)
    asked = [it.matches for it in found if isinstance(it, Meaning) and it.matches is not None]
    if len(asked) != 1 or route.kind == "GRPCRoute":
        return list(taken)
    made = (replace(it, cookies=each) for it in taken for each in asked[0])
    return list(dict.fromkeys(made))


def answer(found: nodes.Respond, kind: str) -> nodes.Respond:
    """The answer of a filter in a route of this kind; without its content type for gRPC clients,
    which need their own."""
    if kind != "GRPCRoute" or found.headers is None:
        return found
    kept = tuple(it for it in found.headers.set if it[0] != _CONTENT_TYPE)
    return replace(found, headers=replace(found.headers, set=kept))


def rewritten(core: nodes.Rewrite | None, own: Meaning) -> nodes.Rewrite | None:
    """The rewrite by a URLRewrite of the Gateway API (`core`) and by HTTPRouteFilters (`own`)."""
    if own.host is None and own.path is None:
        return core
    result = core or nodes.Rewrite()
    if own.host is not None:
        result = replace(own.host, full_path=result.full_path, prefix=result.prefix)
    return replace(result, path=own.path)


def _of(view: View, key: NamespacedName) -> Meaning | Problem | None:
    return next(iter(view.bucket(MEANINGS, key)), None)


def _is_ours(it: HTTPRouteFilter) -> bool:
    named = it.extension_ref
    return named is not None and (named.group, named.kind) == (ENVOY_GATEWAY, KIND)


def _parts(found: Meaning) -> Iterator[str]:
    return (it for it in _PARTS if getattr(found, it) is not None)


def _taken(filters: Iterable[HTTPRouteFilter]) -> Iterator[str]:
    """The parts that filters of the Gateway API set."""
    for it in filters:
        if it.request_redirect is not None:
            yield from (part for part in _PARTS if part != "matches")
        if it.url_rewrite is not None:
            yield "respond"
            if it.url_rewrite.hostname is not None:
                yield "host"
            if it.url_rewrite.path is not None:
                yield "path"


def _grpc_refusal(found: Meaning) -> str | None:
    """Why a rule of a GRPCRoute cannot have a filter; None if it can."""
    if found.respond is None or found.matches is not None:
        return "a GRPCRoute may have a directResponse, and nothing else"
    if found.respond.status < FIRST_FAILURE:
        text = f"answers {found.respond.status}, which gRPC clients take for a success"
        return f"directResponse.statusCode: {text}"
    return None


def _grpc_remarks(found: Meaning, at: Place) -> Iterator[str]:
    if at.subject.kind == "GRPCRoute" and found.respond is not None:
        changed = found.respond.headers
        if changed is not None and any(name == _CONTENT_TYPE for name, _ in changed.set):
            yield "the content type is left out, because gRPC clients need that of their protocol"


def _refused(at: Place, why: str) -> Refused:
    return Refused(problems.filter_not_valid(at, why))


def _meaning(view: View, written: crd.HTTPRouteFilter, place: Place) -> Meaning:
    spec = written.spec
    for it in unserved(written):
        raise _refused(Place(place.subject, it.path), "is not served")
    made = Meaning()
    if spec.url_rewrite is not None:
        made = _urls(spec.url_rewrite, place.at("urlRewrite"))
    if spec.direct_response is not None:
        at = place.at("directResponse")
        answered = _answer(view, spec.direct_response, at)
        made = replace(made, respond=answered, told=(*made.told, *_idle(spec, at)))
    if spec.credential_injection is not None:
        at = place.at("credentialInjection")
        made = replace(made, injection=injections.injection(view, spec.credential_injection, at))
    if spec.matches:
        made = replace(made, matches=tuple(_matches(spec.matches, place)))
    if made == Meaning():
        raise _refused(place, "says nothing that a rule could do")
    return made


def _matches(
    written: Sequence[crd.RouteMatch], place: Place
) -> Iterator[tuple[nodes.CookieMatch, ...]]:
    for index, it in enumerate(written):
        at = place.at("matches", index)
        if not it.cookies:
            raise _refused(at, "has no condition")
        made = {_cookie(each, at.at("cookies", n)) for n, each in enumerate(it.cookies)}
        yield tuple(sorted(made))


def _cookie(written: crd.CookieMatch, at: Place) -> nodes.CookieMatch:
    if why := cookies.name_refusal(written.name):
        raise _refused(at.at("name"), f"{written.name[:60]!r} {why}")
    is_exact = written.type == "Exact"
    try:
        made = (cookies.exact if is_exact else cookies.matching)(written.name, written.value)
    except ValueError as error:
        raise _refused(at.at("value"), f"{written.value[:60]!r} {error}") from None
    operator: Literal["exact", "regex"] = "exact" if is_exact else "regex"
    return nodes.CookieMatch(written.name, operator, written.value, made)


def _urls(written: crd.URLRewrite, at: Place) -> Meaning:
    path = written.path.replace_regex_match if written.path is not None else None
    told: tuple[str, ...] = ()
    if written.hostname is None and not written.append_x_forwarded_host:
        field = at.at("appendXForwardedHost")
        told = (f"{field.path}: has no effect without hostname",)
    return Meaning(
        host=_host(written, at.at("hostname")),
        path=_substitution(path, at.at("path").at("replaceRegexMatch")) if path else None,
        told=told,
    )


def _host(written: crd.URLRewrite, at: Place) -> nodes.Rewrite | None:
    wanted = written.hostname
    if wanted is None:
        return None
    made = nodes.Rewrite(tells_host=written.append_x_forwarded_host)
    if wanted.header is not None:
        if why := headers.name_refusal(wanted.header):
            raise _refused(at.at("header"), f"{wanted.header[:60]!r} {why}")
        return replace(made, host_header=wanted.header.lower())
    if wanted.path_regex is not None:
        found = _substitution(wanted.path_regex, at.at("pathRegex"))
        return replace(made, host_from_path=found)
    return replace(made, host_of_endpoint=True)


def _substitution(written: crd.RegexSubstitution, at: Place) -> nodes.Substitution:
    if found := substitutions.refusal(written.pattern, written.substitution):
        field, why = found
        raise _refused(at.at(field), why)
    return nodes.Substitution(written.pattern, written.substitution)


def _answer(view: View, written: crd.DirectResponse, at: Place) -> nodes.Respond:
    status = OK if written.status_code is None else written.status_code
    if status not in STATUSES:
        raise _refused(at.at("statusCode"), f"{status} is not from 200 to 599")
    body = answerbodies.body(view, written.body, at.at("body"), _refused)
    if statuses.body_refusal(status):
        body = ""
    return nodes.Respond(status, body, _changes(written, at))


def _idle(spec: crd.HTTPRouteFilterSpec, at: Place) -> Iterator[str]:
    """Remarks on what of an answer has no effect. Headers cannot be removed, since Envoy adds its
    own to an answer only after that."""
    written = spec.direct_response
    if written is None:
        return
    if written.body is not None and (why := statuses.body_refusal(written.status_code)):
        yield f"{at.at('body').path}: has no effect: {why}"
    if written.header is not None and written.header.remove:
        yield f"{at.at('header').at('remove').path}: has no effect: no backend has set a header"


def _changes(written: crd.DirectResponse, at: Place) -> nodes.HeaderPolicy | None:
    typed: tuple[tuple[str, nodes.Value], ...] = ()
    if written.content_type is not None:
        if why := headers.value_refusal(written.content_type):
            raise _refused(at.at("contentType"), why)
        typed = ((_CONTENT_TYPE, written.content_type),)
    given = written.header or HTTPHeaderFilter()
    place = at.at("header")
    made = nodes.HeaderPolicy(
        set=(*typed, *_values(given.set, place, "set")),
        add=_values(given.add, place, "add"),
    )
    return made if made != nodes.HeaderPolicy() else None


def _values(
    written: Sequence[HTTPHeader], at: Place, field: str
) -> tuple[tuple[str, nodes.Value], ...]:
    return tuple(
        (_checked(it.name, it.value, at.at(field, index)), it.value)
        for index, it in enumerate(written)
    )


def _checked(name: str, value: str, at: Place) -> str:
    """The name of a header of an answer in lower case; Refused if it cannot be changed so."""
    if why := headers.change_refusal(name) or headers.value_refusal(value):
        raise _refused(at, f"{name[:60]!r} {why}")
    return name.lower()


def _entries(
    key: NamespacedName, found: Meaning | Problem
) -> Iterator[tuple[NamespacedName, Meaning | Problem]]:
    yield key, found


MEANINGS: Index[NamespacedName, Meaning | Problem] = Index(
    "what HTTPRouteFilters do", meaning, _entries
)
"""By filter: one member, its meaning, if the filter exists and a route names it."""

INDEXES = (MEANINGS,)
KEPT = (Kept(meaning, filteruses.REWRITING),)
"""Settled before the routes that read `MEANINGS`."""
