"""What clients see in place of an error answer. Bodies are literal, never a format.

Each page is an entry of a list of matchers over the status code; the first that matches counts.
"""

import re
from collections.abc import Iterable

from envoy.extensions.filters.http.custom_response.v3 import custom_response_pb2 as pb
from envoy.extensions.http.custom_response.local_response_policy.v3 import (
    local_response_policy_pb2 as local_pb,
)
from envoy.type.matcher.v3 import status_code_input_pb2
from google.protobuf.message import Message
from xds.type.matcher.v3 import matcher_pb2, regex_pb2

from contour.envoy import encoding, headers
from contour.envoy.guards import places
from dag import nodes

NAME = "contour.error_pages"
"""The place of the filter. Envoy calls the filter unfinished, so it runs only where it is used."""

_FILTER = "envoy.filters.http.custom_response"
_INPUT = "envoy.matching.inputs.response_status_code"
_POLICY = "envoy.extensions.http.custom_response.local_response_policy"


def policy(pages: Iterable[nodes.ErrorPage]) -> Message:
    """The pages, in their order."""
    result = pb.CustomResponse()
    found = result.custom_response_matcher.matcher_list.matchers
    for page in pages:
        _write_page(found.add(), page)
    return places.filled(_FILTER, result)


def _write_page(
    target: matcher_pb2.Matcher.MatcherList.FieldMatcher, page: nodes.ErrorPage
) -> None:
    wanted = target.predicate.single_predicate
    wanted.input.name = _INPUT
    wanted.input.typed_config.Pack(status_code_input_pb2.HttpResponseStatusCodeMatchInput())
    wanted.value_match.safe_regex.CopyFrom(
        regex_pb2.RegexMatcher(google_re2=regex_pb2.RegexMatcher.GoogleRE2(), regex=_codes(page))
    )
    target.on_match.action.name = _POLICY
    target.on_match.action.typed_config.CopyFrom(encoding.packed(_response(page)))


def _response(page: nodes.ErrorPage) -> local_pb.LocalResponsePolicy:
    result = local_pb.LocalResponsePolicy()
    result.body.inline_string = page.body
    if page.status is not None:
        result.status_code.value = page.status
    result.response_headers_to_add.append(headers.overwriting("content-type", page.content_type))
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
