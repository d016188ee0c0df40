"""Error pages that clients get instead of error responses.

Each page is an entry in a list of matchers for the status code, the headers and who answered; the
first match is used. Bodies are literal, except for operators that the rules have parsed.

Envoy makes a new answer, without the headers of the replaced one, and no filter sees it. So a
second filter records those that a page must keep; responses pass filters backwards, so it comes
after the pages in the place.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from envoy.config.core.v3 import base_pb2
from envoy.extensions.filters.http.custom_response.v3 import custom_response_pb2 as pb
from envoy.extensions.filters.http.header_to_metadata.v3 import header_to_metadata_pb2 as noting_pb
from envoy.extensions.http.custom_response.local_response_policy.v3 import (
    local_response_policy_pb2 as local_pb,
)
from envoy.type.matcher.v3 import http_inputs_pb2, status_code_input_pb2
from google.protobuf.message import Message
from xds.type.matcher.v3 import matcher_pb2, regex_pb2

from contour.envoy import encoding, headers
from contour.envoy.guards import attributes, places, recording, replacing
from contour.envoy.guards.attributes import Predicate
from dag import nodes

NAME = "contour.error_pages"
"""The place of the filter. Envoy calls the filter unfinished, so it runs only where it is used."""

KEPT: Mapping[str, frozenset[int]] = {
    "access-control-allow-credentials": frozenset(),
    "access-control-allow-origin": frozenset(),
    "access-control-expose-headers": frozenset(),
    "allow": frozenset({405}),
    "retry-after": frozenset({413, 429, 503}),
    "vary": frozenset(),
    "www-authenticate": frozenset({401}),
    "x-ratelimit-limit": frozenset({429}),
    "x-ratelimit-remaining": frozenset({429}),
    "x-ratelimit-reset": frozenset({429}),
}
"""The headers of a replaced answer that its page keeps, each with the statuses to which it belongs;
none if it belongs to any. A page of another status hides them, as it hides the status."""

_REQUESTED = {
    "authority": (":authority", ""),
    "name": (":authority", ":[0-9]+$"),
    "path": (":path", ""),
}
"""What of a request is recorded: the header, and an expression for what is taken from its end."""

_POLICY = "envoy.extensions.http.custom_response.local_response_policy"


def policy(pages: Sequence[nodes.ErrorPage]) -> Message:
    """The pages, in their order."""
    result = pb.CustomResponse()
    found = result.custom_response_matcher.matcher_list.matchers
    for page in pages:
        _write_page(found.add(), page)
    return places.filled_with([(replacing.FILTER, result), (recording.FILTER, _noting(pages))])


def _repeats(page: nodes.ErrorPage) -> bool:
    """Whether a header of the page is not literal."""
    return page.changes is not None and any(
        isinstance(value, nodes.Format) for _, value in (*page.changes.set, *page.changes.add)
    )


def _write_page(
    target: matcher_pb2.Matcher.MatcherList.FieldMatcher, page: nodes.ErrorPage
) -> None:
    conditions = list(_conditions(page))
    if len(conditions) == 1:
        target.predicate.CopyFrom(conditions[0])
    else:
        target.predicate.and_matcher.predicate.extend(conditions)
    target.on_match.action.name = _POLICY
    target.on_match.action.typed_config.CopyFrom(encoding.packed(_response(page)))


def _conditions(page: nodes.ErrorPage) -> Iterator[Predicate]:
    if page.statuses or not page.headers:
        result = _of(
            "response_status_code", status_code_input_pb2.HttpResponseStatusCodeMatchInput()
        )
        _write_expression(result, _codes(page))
        yield result
    for it in page.headers:
        result = _of(
            "response_headers", http_inputs_pb2.HttpResponseHeaderMatchInput(header_name=it.name)
        )
        _write_value(result, it.value)
        yield result
    if page.source != "any":
        yield _answered_by(is_backend=page.source == "backend")


def _of(name: str, given: Message) -> Predicate:
    result = Predicate()
    result.single_predicate.input.name = f"envoy.matching.inputs.{name}"
    result.single_predicate.input.typed_config.CopyFrom(encoding.packed(given))
    return result


def _write_value(target: Predicate, wanted: nodes.ValueMatch) -> None:
    if wanted.operator == "regex":
        _write_expression(target, wanted.value)
    else:
        setattr(target.single_predicate.value_match, wanted.operator, wanted.value)


def _write_expression(target: Predicate, expression: str) -> None:
    target.single_predicate.value_match.safe_regex.CopyFrom(
        regex_pb2.RegexMatcher(google_re2=regex_pb2.RegexMatcher.GoogleRE2(), regex=expression)
    )


def _answered_by(*, is_backend: bool) -> Predicate:
    """`response.code_details == "via_upstream"`, or its contrary."""
    details, wanted = attributes.field("response", "code_details"), attributes.text("via_upstream")
    compared = attributes.equals if is_backend else attributes.differs
    return attributes.condition(compared(details, wanted))


def _response(page: nodes.ErrorPage) -> local_pb.LocalResponsePolicy:
    result = local_pb.LocalResponsePolicy()
    if isinstance(page.body, str):
        result.body.inline_string = page.body
    else:
        text = headers.formatted(page.body)
        result.body_format.text_format_source.inline_string = text
    if page.status is not None:
        result.status_code.value = page.status
    added = result.response_headers_to_add
    added.extend(map(_repeated, _kept(page)))
    if page.content_type:
        added.append(headers.overwriting("content-type", page.content_type))
    if page.changes is not None:
        added.extend(headers.options(page.changes))
    return result


def _noting(pages: Sequence[nodes.ErrorPage]) -> noting_pb.Config:
    """Records the headers of answers that pages may keep, and what of requests they repeat."""
    result = noting_pb.Config()
    for part, (header, end) in _REQUESTED.items() if any(map(_repeats, pages)) else ():
        result.request_rules.append(recording.rule(header, nodes.REQUESTED, part, end))
    for name in dict.fromkeys(name for it in pages for name in _kept(it)):
        result.response_rules.append(recording.rule(name, nodes.REQUESTED, name))
    return result


def _kept(page: nodes.ErrorPage) -> Iterator[str]:
    """The headers of the replaced answer that a page may have."""
    ranges = page.statuses if page.status is None else ((page.status, page.status + 1),)
    for name, statuses in KEPT.items():
        belongs = any(start <= it < end for start, end in ranges for it in statuses)
        if belongs or not statuses or not ranges:
            yield name


def _repeated(name: str) -> base_pb2.HeaderValueOption:
    """A header as it was recorded; none if it was not there."""
    recorded = nodes.Operator("DYNAMIC_METADATA", f"{nodes.REQUESTED}:{name}")
    result = headers.overwriting(name, nodes.Format((recorded,)))
    result.keep_empty_value = False
    return result


def _codes(page: nodes.ErrorPage) -> str:
    """The ranges as a regex of digits; whole hundreds are one term."""
    codes = {code for start, end in page.statuses for code in range(start, end)}
    hundreds = [it for it in range(1, 10) if codes.issuperset(range(it * 100, it * 100 + 100))]
    codes.difference_update(code for it in hundreds for code in range(it * 100, it * 100 + 100))
    terms = [*(f"{it}.." for it in hundreds), *map(str, sorted(codes))]
    expression = "|".join(terms) or "none"
    assert re.fullmatch(r"[0-9.|]+|none", expression)
    return expression
