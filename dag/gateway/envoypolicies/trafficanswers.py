"""What a BackendTrafficPolicy says of answers: how many, how large, and what replaces some.

A limit that cannot be kept closes the routes; an override that cannot be built is left out, and
told. Source: Envoy Gateway 1.9.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from crds.envoygateway import backendlimits as limits
from crds.envoygateway import responseoverride as overrides
from dag import nodes
from dag.problems import Problem, Refused
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place
from dag.values import headers, quantities

MOST_BODY = 4096
"""Bytes of a body that replaces another; Envoy refuses a longer one."""
MOST_BUFFERED = 2**32 - 1
"""Bytes, as Envoy counts them."""


def local(found: limits.PolicyRateLimit | None, own: Place) -> nodes.LocalRateLimit | None:
    """How many requests each Envoy lets pass; Refused if that cannot be kept."""
    if found is None or found.local is None or not found.local.rules:
        return None
    at = own.at("rateLimit").at("local")
    first, *others = found.local.rules
    if others:
        why = "has several rules, of which one alone is served"
        raise Refused(complaints.policy_closes(at.at("rules"), why))
    limit = first.limit
    unit = _UNITS.get(limit.unit)
    if not limit.requests or unit is None:
        field = at.at("rules", 0).at("limit").at("unit" if unit is None else "requests")
        why = f"{limit.unit} is not served" if unit is None else "must be at least 1"
        raise Refused(complaints.policy_closes(field, why))
    return nodes.LocalRateLimit(limit.requests, unit)


_UNITS: Mapping[str, Literal["second", "minute", "hour"]] = {
    "Second": "second",
    "Minute": "minute",
    "Hour": "hour",
}


def body_limit(found: limits.RequestBuffer | None, own: Place) -> int | None:
    """How many bytes a body of a request may have; Refused if that is no number of bytes."""
    if found is None:
        return None
    if why := quantities.refusal(found.limit, 1, MOST_BUFFERED):
        raise Refused(complaints.policy_closes(own.at("requestBuffer").at("limit"), why))
    return quantities.whole(found.limit)


def pages(
    found: tuple[overrides.ResponseOverride, ...], own: Place
) -> Findings[tuple[nodes.ErrorPage, ...] | None]:
    """What clients get in place of some answers."""
    made: list[nodes.ErrorPage] = []
    for index, it in enumerate(found):
        page = _page(it, own.at("responseOverride", index))
        if isinstance(page, Problem):
            yield page
        else:
            made.append(page)
    return tuple(made) or None


def _page(found: overrides.ResponseOverride, at: Place) -> nodes.ErrorPage | Problem:
    response = found.response
    is_marked = found.redirect is not None or found.source not in (None, "All")
    if is_marked or found.match.response_headers or response is None:
        return complaints.policy_field_not_served(at, "left out, as it is not served whole")
    body = response.body
    if body is not None and body.type != "Inline":
        return complaints.policy_field_not_served(at.at("response").at("body"), "not served yet")
    text = (body.inline or "") if body is not None else ""
    if len(text.encode()) > MOST_BODY:
        why = f"has more than {MOST_BODY} bytes"
        return complaints.policy_field_not_served(at.at("response").at("body"), why)
    content_type = response.content_type or "text/plain"
    if why_not := headers.value_refusal(content_type):
        return complaints.policy_field_not_served(at.at("response").at("contentType"), why_not)
    ranges = tuple(_ranges(found.match.status_codes))
    if not ranges:
        return complaints.policy_field_not_served(at.at("match"), "it names no status code")
    return nodes.ErrorPage(ranges, text, content_type, response.status_code)


def _ranges(found: tuple[overrides.StatusMatch, ...]) -> Iterator[tuple[int, int]]:
    for it in found:
        if it.type == "Range" and it.range is not None:
            yield it.range.start, it.range.end + 1
        elif it.type == "Value" and it.value is not None:
            yield it.value, it.value + 1
