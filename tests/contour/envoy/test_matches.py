"""Each condition of a node becomes the one condition of Envoy that means the same."""

import pytest
from envoy.config.route.v3 import route_components_pb2
from google.protobuf import text_format

from contour.envoy import matches
from dag import nodes

EXACT = nodes.ValueMatch("exact", "v")
NO_TRACE = 'headers { name: ":method" string_match { exact: "TRACE" } invert_match: true }'
"""Of every match that asks for no method."""


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        (nodes.Match(), 'prefix: "/"'),
        (nodes.Match(nodes.Exact("/a")), 'path: "/a"'),
        (
            nodes.Match(drawn=250_000),
            'prefix: "/" runtime_fraction { default_value '
            "{ numerator: 250000 denominator: MILLION } }",
        ),
        (nodes.Match(nodes.Segments("/a")), 'path_separated_prefix: "/a"'),
        (nodes.Match(nodes.Regex("/a.*")), 'safe_regex { regex: "/a.*" }'),
        (
            nodes.Match(method="GET"),
            'prefix: "/" headers { name: ":method" string_match { exact: "GET" } }',
        ),
        (
            nodes.Match(headers=(nodes.HeaderMatch("x", EXACT, inverted=True),)),
            'prefix: "/" headers { name: "x" string_match { exact: "v" } invert_match: true }',
        ),
        (
            nodes.Match(
                headers=(
                    nodes.HeaderMatch(
                        "x", nodes.ValueMatch("contains", "V", ignore_case=True), False, True
                    ),
                )
            ),
            'prefix: "/" headers { name: "x" string_match { contains: "V" ignore_case: true }'
            " treat_missing_header_as_empty: true }",
        ),
        (
            nodes.Match(headers=(nodes.HeaderMatch("x", nodes.ValueMatch("present")),)),
            'prefix: "/" headers { name: "x" present_match: true }',
        ),
        (
            nodes.Match(queries=(nodes.QueryMatch("q", nodes.ValueMatch("regex", "a+")),)),
            'prefix: "/" query_parameters'
            ' { name: "q" string_match { safe_regex { regex: "a+" } } }',
        ),
        (
            nodes.Match(queries=(nodes.QueryMatch("q", nodes.ValueMatch("present")),)),
            'prefix: "/" query_parameters { name: "q" present_match: true }',
        ),
    ],
)
def test_a_condition_means_the_same_to_envoy(match: nodes.Match, expected: str) -> None:
    target = route_components_pb2.RouteMatch()
    matches.write_match(target, match)
    wanted = route_components_pb2.RouteMatch()
    if not match.method:
        text_format.Parse(NO_TRACE, wanted)
    assert target == text_format.Merge(expected, wanted)
