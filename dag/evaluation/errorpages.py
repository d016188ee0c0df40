"""What clients get in place of Envoy's own answer (Envoy, "Custom response").

Those of backends are not known here. Of the headers of an answer only those are known that its
route or a redirect gives it.
"""

from collections.abc import Iterable

from crds.records import replace
from dag import nodes
from dag.evaluation import actions, matching
from dag.evaluation.requests import Request, has_port
from dag.evaluation.trace import Answer, Forwarded
from dag.values import statuses

_LOCATION = "location"


def shown(found: Answer, pages: tuple[nodes.ErrorPage, ...], request: Request) -> Answer:
    """The answer to a request that a route takes, with the first page that replaces it.

    It may be another one where headers that are not known decide over a page before that.
    """
    shares = tuple(_share(it, pages, request) for it in found.backends)
    found = replace(found, backends=shares)
    if found.status is None:
        return found
    headers = dict(found.response_headers)
    if found.location:
        headers[_LOCATION] = found.location
    page, is_sure = _first(pages, _seen(found.status, request), headers)
    found = replace(found, may_be_refused=found.may_be_refused or not is_sure)
    if page is None:
        return found
    changes = _changes(page, request)
    status = page.status or found.status
    return replace(
        found,
        status=status,
        location=dict(changes).get(_LOCATION) or "",
        body="" if statuses.body_refusal(status) else actions.as_text(page.body),
        response_headers=_merged(found.response_headers, changes),
    )


def _share(share: Forwarded, pages: Iterable[nodes.ErrorPage], request: Request) -> Forwarded:
    """A share of the requests, of which Envoy may answer each by itself."""
    if not share.status:
        return share
    page, _ = _first(pages, _seen(share.status, request), dict(share.response_headers))
    if page is None:
        return share
    changes = _merged(share.response_headers, _changes(page, request))
    return share._replace(status=page.status or share.status, response_headers=changes)


def _seen(status: int, request: Request) -> int:
    """What Envoy's own answer says to gRPC clients is in other headers than the status."""
    return 200 if request.is_call else status


def _first(
    pages: Iterable[nodes.ErrorPage], status: int, headers: dict[str, str | None]
) -> tuple[nodes.ErrorPage | None, bool]:
    """The first page that certainly replaces the answer, and whether none before it may."""
    is_sure = True
    for it in pages:
        if it.source == "backend" or not _has_status(it, status):
            continue
        known = [_is_header(match, headers) for match in it.headers]
        if all(known):
            return it, is_sure
        is_sure = is_sure and False in known
    return None, is_sure


def _has_status(page: nodes.ErrorPage, status: int) -> bool:
    if not page.statuses:
        return bool(page.headers)
    return any(start <= status < end for start, end in page.statuses)


def _is_header(wanted: nodes.HeaderMatch, headers: dict[str, str | None]) -> bool | None:
    """Whether a header is as wanted; None if it is not known."""
    if wanted.name not in headers:
        return None
    value = headers[wanted.name]
    return matching.is_header(wanted, () if value is None else (value,))


def _changes(page: nodes.ErrorPage, request: Request) -> actions.Changes:
    """The headers of a page, each as it is in the end."""
    made = page.changes or nodes.HeaderPolicy()
    return tuple((name, _filled(value, request)) for name, value in (*made.set, *made.add))


def _merged(before: actions.Changes, after: actions.Changes) -> actions.Changes:
    return tuple({**dict(before), **dict(after)}.items())


def _filled(value: nodes.Value, request: Request) -> str:
    """A value with what Envoy puts in of the request."""
    if isinstance(value, str):
        return value
    return "".join(it if isinstance(it, str) else _of(it, request) for it in value.pieces)


def _of(operator: nodes.Operator, request: Request) -> str:
    """What of a request the redirects of policies repeat; else the name of the operator."""
    if operator == nodes.requested("authority"):
        return request.host
    if operator == nodes.requested("name"):
        return request.host.rpartition(":")[0] if has_port(request.host) else request.host
    if operator == nodes.requested("path"):
        return request.path
    if operator.name == "REQ":
        return request.header(operator.argument) or ""
    return f"%{operator.name}%"
