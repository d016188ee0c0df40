"""What the filters of a rule do to requests and answers (Gateway API, "HTTPRouteFilter").

A filter that cannot be served is never skipped: the rule answers 500 instead. Some filters of
backends exist in Envoy for whole routes only: they become filters of the route, and if they differ
between backends, the rule becomes several routes (`backendfilters`). Elsewhere: mirrors
(`mirrors`), guards (`guards`), and filters that are objects of their own (`extensionrefs`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from crds.gateway import filters as crd
from crds.gateway.httproute import HTTPBackendRef, HTTPRouteRule
from dag import nodes
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.values import headers


def refusals(rule: HTTPRouteRule, at: Place) -> Iterator[Problem]:
    """Why filters of a rule or of its backends cannot be served."""
    yield from _refusals(rule.filters, at)
    for index, reference in enumerate(rule.backend_refs):
        backend = at.at("backendRefs", index)
        yield from _refusals(reference.filters, backend)
        yield from _extensions(reference.filters, backend)
    yield from _differing(rule, at)
    yield from _twice(rule, at)


def placed(rule: HTTPRouteRule, at: Place) -> Iterator[tuple[Place, crd.HTTPRouteFilter]]:
    """The filters of a rule, then those that are served per route and equal for all of its
    backends; each with its field."""
    for index, found in enumerate(rule.filters):
        yield at.at("filters", index), found
    live = _live(rule)
    first = next((n for n, it in enumerate(rule.backend_refs) if it.weight > 0), 0)
    for index, found in enumerate(live[0].filters if live else ()):
        kind = _kind(found)
        if kind and all(_of(kind, other) == _of(kind, live[0]) for other in live):
            yield at.at("backendRefs", first).at("filters", index), found


def differing_hosts(rule: HTTPRouteRule) -> bool:
    """Whether backends of a rule get different host names."""
    return len({_of("url_rewrite", it) for it in _live(rule)}) > 1


def _differing(rule: HTTPRouteRule, at: Place) -> Iterator[Problem]:
    """Refuses different filters with session persistence: each request chooses a route anew."""
    if rule.session_persistence is not None and len({whole(rule, it) for it in _live(rule)}) > 1:
        why = "filters must be the same for every backend of a rule with session persistence"
        yield problems.rule_dropped(at.at("backendRefs"), why)


def _twice(rule: HTTPRouteRule, at: Place) -> Iterator[Problem]:
    """Refuses filters of backends that would replace a filter of their rule."""
    for index, reference in enumerate(rule.backend_refs):
        for number, found in enumerate(reference.filters if reference.weight > 0 else ()):
            why = next((_CLASHES[it] for it in _clashing(rule, found)), None)
            if why is not None:
                place = at.at("backendRefs", index).at("filters", number)
                yield problems.rule_dropped(place, f"cannot stand beside {why} of its rule")


def _clashing(rule: HTTPRouteRule, found: crd.HTTPRouteFilter) -> Iterator[str]:
    """The kinds of filters of a rule with which a filter of a backend conflicts. Equal ones do
    not."""
    for it in rule.filters:
        for kind in ("cors", "external_auth"):
            own, wanted = getattr(it, kind), getattr(found, kind)
            if own is not None and wanted is not None and own != wanted:
                yield kind
        if it.url_rewrite is not None and found.request_redirect is not None:
            yield "url_rewrite"


_CLASHES = {
    "cors": "another CORS filter",
    "external_auth": "another ExternalAuth filter",
    "url_rewrite": "the URLRewrite filter",
}


Whole = tuple[tuple[Any, ...], ...]
"""The filters of a backend that Envoy has for whole routes only, by kind."""


def whole(rule: HTTPRouteRule, reference: HTTPBackendRef) -> Whole:
    """The filters that must be equal for all backends of a route; new host names may differ."""
    kinds = (it for it in _WHOLE if it != "url_rewrite" or _has_new_paths(rule))
    return tuple(_of(kind, reference) for kind in kinds)


def _has_new_paths(rule: HTTPRouteRule) -> bool:
    return any(it.path for each in _live(rule) for it in _of("url_rewrite", each))


_WHOLE = ("request_redirect", "url_rewrite", "request_mirror", "cors", "external_auth")


def _live(rule: HTTPRouteRule) -> list[HTTPBackendRef]:
    return [it for it in rule.backend_refs if it.weight > 0]


def _kind(found: crd.HTTPRouteFilter) -> str | None:
    return next((it for it in _WHOLE if getattr(found, it) is not None), None)


def _of(kind: str, reference: HTTPBackendRef) -> tuple[Any, ...]:
    wanted = (getattr(it, kind) for it in reference.filters)
    return tuple(it for it in wanted if it is not None)


def _refusals(filters: Sequence[crd.HTTPRouteFilter], holder: Place) -> Iterator[Problem]:
    for index, found in enumerate(filters):
        at = holder.at("filters", index)
        for changes, refusal in (
            (found.request_header_modifier, headers.request_refusal),
            (found.response_header_modifier, headers.change_refusal),
        ):
            why = changes and next(_header_refusals(changes, refusal), None)
            if why:
                yield problems.rule_dropped(at, why)
        target = found.request_redirect or found.url_rewrite
        if target and target.path and (why := headers.value_refusal(_text(target.path))):
            yield problems.rule_dropped(at, f"the new path {why}")


def _extensions(filters: Sequence[crd.HTTPRouteFilter], backend: Place) -> Iterator[Problem]:
    for index, found in enumerate(filters):
        if found.extension_ref is not None:
            why = "is served for whole rules only, not for one of their backends"
            yield problems.rule_dropped(backend.at("filters", index).at("extensionRef"), why)


def request_headers(rule: HTTPRouteRule) -> nodes.HeaderPolicy | None:
    """The changes to the headers of all requests of a rule; None if its backends have their own:
    Envoy makes those of a backend first, and then undoes them by those of the rule."""
    return None if _have_own_headers(rule) else _of_requests(rule.filters)


def request_headers_for(
    rule: HTTPRouteRule, reference: HTTPBackendRef
) -> nodes.HeaderPolicy | None:
    """The changes for a backend, if backends have their own: those of the rule, then its own."""
    if not _have_own_headers(rule):
        return None
    return _in_turn(_of_requests(rule.filters), _of_requests(reference.filters))


def _have_own_headers(rule: HTTPRouteRule) -> bool:
    return any(_of_requests(it.filters) is not None for it in _live(rule))


def _of_requests(filters: Iterable[crd.HTTPRouteFilter]) -> nodes.HeaderPolicy | None:
    return _policy(it.request_header_modifier for it in filters)


def _in_turn(
    first: nodes.HeaderPolicy | None, then: nodes.HeaderPolicy | None
) -> nodes.HeaderPolicy | None:
    """Two changes as one."""
    if first is None or then is None:
        return first or then
    decided = {it.lower() for it in (*then.remove, *(name for name, _ in then.set))}
    return nodes.HeaderPolicy(
        set=(*(it for it in first.set if it[0].lower() not in decided), *then.set),
        add=(*(it for it in first.add if it[0].lower() not in decided), *then.add),
        remove=(*(it for it in first.remove if it.lower() not in decided), *then.remove),
    )


def response_headers(filters: Iterable[crd.HTTPRouteFilter]) -> nodes.HeaderPolicy | None:
    """The changes to the headers of answers."""
    return _policy(it.response_header_modifier for it in filters)


def redirect(filters: Iterable[crd.HTTPRouteFilter]) -> nodes.Redirect | None:
    """The redirect, with its port as it was given."""
    found = next(filter(None, (it.request_redirect for it in filters)), None)
    if found is None:
        return None
    return nodes.Redirect(
        status=found.status_code,
        scheme=found.scheme,
        host=found.hostname,
        port=found.port,
        full_path=_full_path(found.path),
        prefix=_prefix(found.path),
    )


def rewrite(filters: Iterable[crd.HTTPRouteFilter]) -> nodes.Rewrite | None:
    """The changes to the request line; of several hosts or paths the last one counts."""
    found = [it.url_rewrite for it in filters if it.url_rewrite is not None]
    if not found:
        return None
    host = next((it.hostname for it in reversed(found) if it.hostname), "")
    path = next((it.path for it in reversed(found) if it.path is not None), None)
    return nodes.Rewrite(host, _full_path(path), _prefix(path))


def _header_refusals(
    changes: crd.HTTPHeaderFilter, refusal: Callable[[str], str | None]
) -> Iterator[str]:
    values = [*changes.set, *changes.add]
    for name in (*(it.name for it in values), *changes.remove):
        if why := refusal(name):
            yield f"header {name!r} {why}"
    for header in values:
        if why := headers.value_refusal(header.value):
            yield f"the value of header {header.name!r} {why}"


def _policy(modifiers: Iterable[crd.HTTPHeaderFilter | None]) -> nodes.HeaderPolicy | None:
    """Header changes; names are case-insensitive, and of equal ones the first counts."""
    changes = next(filter(None, modifiers), None)
    if changes is None:
        return None
    return nodes.HeaderPolicy(
        set=_first(changes.set),
        add=_first(changes.add),
        remove=tuple(dict.fromkeys(changes.remove)),
    )


def _first(values: Iterable[crd.HTTPHeader]) -> tuple[tuple[str, str], ...]:
    found: dict[str, tuple[str, str]] = {}
    for header in values:
        found.setdefault(header.name.lower(), (header.name, header.value))
    return tuple(found.values())


def _text(path: crd.HTTPPathModifier) -> str:
    return (path.replace_full_path or "") + (path.replace_prefix_match or "")


def _full_path(path: crd.HTTPPathModifier | None) -> str | None:
    return _rooted(path.replace_full_path if path else None)


def _prefix(path: crd.HTTPPathModifier | None) -> str | None:
    return _rooted(path.replace_prefix_match if path else None)


def _rooted(path: str | None) -> str | None:
    """Without the slash, a redirect would glue the path to the host name."""
    return path if path is None or path.startswith("/") else f"/{path}"
