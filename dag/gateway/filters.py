"""What the filters of a rule do to requests and answers (Gateway API, "HTTPRouteFilter").

A filter that cannot be served is never skipped: the rule answers 500 instead. One that merely
adds something, and is not served yet, is told and left out (`crds.unserved` knows them).
"""

from collections.abc import Iterable, Iterator, Sequence

from crds.gateway import filters as crd
from dag import headers, nodes
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place


def refusals(filters: Sequence[crd.HTTPRouteFilter], holder: Place) -> Iterator[Problem]:
    """What of the filters of a rule or backend cannot be served."""
    for index, found in enumerate(filters):
        at = holder.at("filters", index)
        for changes in (found.request_header_modifier, found.response_header_modifier):
            why = changes and next(_header_refusals(changes), None)
            if why:
                yield problems.rule_dropped(at, why)
        target = found.request_redirect or found.url_rewrite
        if target and target.path and (why := headers.value_refusal(_text(target.path))):
            yield problems.rule_dropped(at, f"the new path {why}")


def request_headers(filters: Iterable[crd.HTTPRouteFilter]) -> nodes.HeaderPolicy | None:
    """The changes to the headers of requests."""
    return _policy(it.request_header_modifier for it in filters)


def response_headers(filters: Iterable[crd.HTTPRouteFilter]) -> nodes.HeaderPolicy | None:
    """The changes to the headers of answers."""
    return _policy(it.response_header_modifier for it in filters)


def redirect(filters: Iterable[crd.HTTPRouteFilter]) -> nodes.Redirect | None:
    """The redirect, its port as it was given."""
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
    """The changes to the request line."""
    found = next(filter(None, (it.url_rewrite for it in filters)), None)
    if found is None:
        return None
    return nodes.Rewrite(found.hostname or "", _full_path(found.path), _prefix(found.path))


def _header_refusals(changes: crd.HTTPHeaderFilter) -> Iterator[str]:
    values = [*changes.set, *changes.add]
    for name in (*(it.name for it in values), *changes.remove):
        if why := headers.change_refusal(name):
            yield f"header {name!r} {why}"
    for header in values:
        if why := headers.value_refusal(header.value):
            yield f"the value of header {header.name!r} {why}"


def _policy(modifiers: Iterable[crd.HTTPHeaderFilter | None]) -> nodes.HeaderPolicy | None:
    """Names are compared without case, and of each the first counts."""
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
