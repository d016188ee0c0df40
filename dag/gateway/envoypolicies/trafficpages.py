"""Response overrides of a BackendTrafficPolicy: what clients get instead of some answers.

An entry that cannot be built is left out, and told. Source: Envoy Gateway 1.9.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from crds.envoygateway import responseoverride as overrides
from dag import nodes
from dag.engine.view import View
from dag.gateway import answerbodies
from dag.problems import Refused, shared
from dag.problems.places import Findings, Place
from dag.values import headers, regexes, statuses


def pages(
    view: View, found: tuple[overrides.ResponseOverride, ...], own: Place
) -> Findings[tuple[nodes.ErrorPage, ...] | None]:
    """What clients get in place of some answers."""
    made: list[nodes.ErrorPage] = []
    for index, it in enumerate(found):
        try:
            page = yield from _page(view, it, own.at("responseOverride", index))
            made.append(page)
        except Refused as refused:
            yield refused.problem
    return tuple(made) or None


_FIRST_STATUS = 200
"""The first status with which Envoy can answer; it refuses a virtual host for a lower one."""


def _refused(at: Place, why: str) -> Refused:
    return Refused(shared.no_effect(at, why))


def _page(view: View, found: overrides.ResponseOverride, at: Place) -> Findings[nodes.ErrorPage]:
    ranges = tuple(_ranges(found.match.status_codes))
    conditions = tuple(_conditions(found.match.response_headers, at.at("match")))
    source = _SOURCES[found.source]
    if not ranges and not conditions:
        raise _refused(at.at("match"), "it names no status code and no header")
    if found.redirect is not None:
        location = _location(found.redirect, at.at("redirect"))
        status = found.redirect.status_code
        changes = nodes.HeaderPolicy(set=(("location", location),))
        return nodes.ErrorPage(ranges, "", "", status, conditions, source, changes)
    response = found.response
    if response is None:
        raise _refused(at, "it has neither a response nor a redirect")
    at = at.at("response")
    if response.status_code is not None and response.status_code < _FIRST_STATUS:
        raise _refused(at.at("statusCode"), f"{response.status_code} is not from 200 to 599")
    content_type = response.content_type or "text/plain"
    if why := headers.value_refusal(content_type):
        raise _refused(at.at("contentType"), why)
    body = answerbodies.body(view, response.body, at.at("body"), _refused)
    if body and (why := statuses.body_refusal(response.status_code)):
        yield shared.no_effect(at.at("body"), why)
        body = ""
    return nodes.ErrorPage(
        ranges,
        body,
        content_type,
        response.status_code,
        conditions,
        source,
        _changes(response, at.at("header")),
    )


_SOURCES: Mapping[str | None, Literal["any", "envoy", "backend"]] = {
    None: "any",
    "All": "any",
    "Local": "envoy",
    "Backend": "backend",
}


def _ranges(found: tuple[overrides.StatusMatch, ...]) -> Iterator[tuple[int, int]]:
    for it in found:
        if it.type == "Range" and it.range is not None:
            yield it.range.start, it.range.end + 1
        elif it.type == "Value" and it.value is not None:
            yield it.value, it.value + 1


_OPERATORS: Mapping[str, Literal["exact", "prefix", "suffix", "regex"]] = {
    "Exact": "exact",
    "Prefix": "prefix",
    "Suffix": "suffix",
    "RegularExpression": "regex",
}


def _conditions(
    found: tuple[overrides.AnswerHeader, ...], at: Place
) -> Iterator[nodes.HeaderMatch]:
    for index, it in enumerate(found):
        field = at.at("responseHeaders", index)
        if why := headers.name_refusal(it.name):
            raise _refused(field.at("name"), f"{it.name[:60]!r} {why}")
        operator = _OPERATORS.get(it.value.type)
        if operator is None:
            raise _refused(field.at("value").at("type"), f"{it.value.type[:60]!r} is not known")
        if operator == "regex" and (why := regexes.refusal(it.value.value)):
            raise _refused(field.at("value").at("value"), f"it {why}")
        yield nodes.HeaderMatch(it.name.lower(), nodes.ValueMatch(operator, it.value.value))


def _changes(found: overrides.OverrideResponse, at: Place) -> nodes.HeaderPolicy | None:
    if found.header is None:
        return None
    if found.header.remove:
        raise _refused(at.at("remove"), "headers of such an answer cannot be removed")
    given = {
        name: tuple(_values(((it.name, it.value) for it in values), at.at(name)))
        for name, values in (("set", found.header.set), ("add", found.header.add))
    }
    return nodes.HeaderPolicy(set=given["set"], add=given["add"])


def _values(found: Iterable[tuple[str, str]], at: Place) -> Iterator[tuple[str, nodes.Value]]:
    for index, (name, value) in enumerate(found):
        if why := headers.change_refusal(name) or headers.value_refusal(value):
            raise _refused(at.item(index), f"{name[:60]!r} {why}")
        yield name.lower(), value


def _location(found: overrides.OverrideRedirect, at: Place) -> nodes.Value:
    """The target of a redirect, as the value of `Location`; absent parts are the request's."""
    path: str | nodes.Operator = _PATH
    if found.path is not None:
        if found.path.replace_full_path is None:
            raise _refused(at.at("path").at("type"), "ReplaceFullPath alone is served")
        path = found.path.replace_full_path
        if not path.startswith("/") or any(it in path for it in "\r\n\0"):
            why = "must begin with / and hold no line break"
            raise _refused(at.at("path").at("replaceFullPath"), why)
    host: str | nodes.Operator = _HOST if _is_new_place(found) else _AUTHORITY
    port = "" if found.port in (None, _USUAL.get(found.scheme)) else f":{found.port}"
    scheme = found.scheme or _SCHEME
    pieces = (scheme, "://", found.hostname or host, port, path)
    return nodes.Format(tuple(it for it in pieces if it != ""))


def _is_new_place(found: overrides.OverrideRedirect) -> bool:
    """Whether a redirect sets scheme or port, so that the port of the request must not be kept."""
    return found.scheme is not None or found.port is not None


_USUAL: Mapping[str | None, int] = {"http": 80, "https": 443}
_SCHEME = nodes.Operator("REQ", "x-forwarded-proto")
_PATH = nodes.requested("path")
_AUTHORITY = nodes.requested("authority")
_HOST = nodes.requested("name")
