"""Error pages as Envoy's filter gets them."""

import pytest
from envoy.extensions.common.matching.v3 import extension_matcher_pb2 as matching_pb
from envoy.extensions.filters.http.composite.v3 import composite_pb2
from envoy.extensions.filters.http.custom_response.v3 import custom_response_pb2 as pb
from envoy.extensions.filters.http.header_to_metadata.v3 import header_to_metadata_pb2 as noting_pb
from envoy.extensions.http.custom_response.local_response_policy.v3 import (
    local_response_policy_pb2 as local_pb,
)

from contour.envoy.guards import errorpages
from dag import nodes

ERRORS = ((400, 600),)
OF_ORIGINS = {
    "access-control-allow-credentials",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "vary",
}
OF_LIMITS = {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}
OF_STATUSES = {"allow", "retry-after", "www-authenticate", *OF_LIMITS}


def _filters(*pages: nodes.ErrorPage) -> tuple[pb.CustomResponse, noting_pb.Config]:
    """The filter with the pages, and the one that records headers for them."""
    place, action = matching_pb.ExtensionWithMatcherPerRoute(), composite_pb2.ExecuteFilterAction()
    found, noting = pb.CustomResponse(), noting_pb.Config()
    place.MergeFromString(errorpages.policy(pages).SerializeToString())
    place.xds_matcher.on_no_match.action.typed_config.Unpack(action)
    chain = [it.typed_config for it in action.filter_chain.typed_config]
    assert [it.Unpack(to) for it, to in zip(chain, (found, noting), strict=True)] == [True, True]
    return found, noting


def _answer(page: nodes.ErrorPage) -> local_pb.LocalResponsePolicy:
    (found,) = _filters(page)[0].custom_response_matcher.matcher_list.matchers
    result = local_pb.LocalResponsePolicy()
    found.on_match.action.typed_config.Unpack(result)
    return result


@pytest.mark.parametrize(
    ("replaced", "status", "expected"),
    [
        (ERRORS, None, OF_ORIGINS | OF_STATUSES),
        ((), None, OF_ORIGINS | OF_STATUSES),
        (((401, 402),), None, {*OF_ORIGINS, "www-authenticate"}),
        (((404, 405), (500, 503)), None, OF_ORIGINS),
        (ERRORS, 401, {*OF_ORIGINS, "www-authenticate"}),
        (ERRORS, 405, {*OF_ORIGINS, "allow"}),
        (ERRORS, 429, {*OF_ORIGINS, *OF_LIMITS, "retry-after"}),
        (ERRORS, 503, {*OF_ORIGINS, "retry-after"}),
        (ERRORS, 404, OF_ORIGINS),
        (ERRORS, 302, OF_ORIGINS),
    ],
)
def test_a_page_keeps_what_belongs_to_its_status(
    replaced: tuple[tuple[int, int], ...], status: int | None, expected: set[str]
) -> None:
    page = nodes.ErrorPage(replaced, status=status)
    added = _answer(page).response_headers_to_add
    kept = [it.header.key for it in added if not it.keep_empty_value]
    assert (len(kept), set(kept)) == (len(expected), expected)
    assert [it.header for it in _filters(page)[1].response_rules] == kept


def test_the_headers_of_a_page_come_after_those_that_it_keeps() -> None:
    own = nodes.HeaderPolicy(set=(("vary", "a"),))
    added = _answer(nodes.ErrorPage(ERRORS, changes=own)).response_headers_to_add
    assert [it.header.value for it in added if it.header.key == "vary"] == [
        "%DYNAMIC_METADATA(contour.error_pages:vary)%",
        "a",
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (nodes.Format((nodes.requested("path"),)), [":authority", ":authority", ":path"]),
        ("/", []),
    ],
)
def test_requests_are_recorded_for_pages_that_repeat_them(
    value: nodes.Value, expected: list[str]
) -> None:
    page = nodes.ErrorPage(ERRORS, changes=nodes.HeaderPolicy(set=(("location", value),)))
    noting = _filters(page, nodes.ErrorPage(ERRORS))[1]
    assert [it.header for it in noting.request_rules] == expected
