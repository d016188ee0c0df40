"""Requests that are sent elsewhere; what Envoy makes of it is in `test_with_envoy`."""

import pytest
from envoy.config.route.v3 import route_components_pb2 as pb
from google.protobuf import text_format

from dag import nodes
from tests.contour.envoy import encoded, world


@pytest.mark.parametrize(
    ("redirect", "host", "expected"),
    [
        (
            nodes.Redirect(301, scheme="https"),
            "a.test",
            'scheme_redirect: "https" host_redirect: "a.test"',
        ),
        (nodes.Redirect(301, scheme="https"), "*.a.test", 'scheme_redirect: "https"'),
        (nodes.Redirect(301, scheme="https"), "*", 'scheme_redirect: "https"'),
        (
            nodes.Redirect(301, scheme="https", port=8443),
            "a.test",
            'scheme_redirect: "https" port_redirect: 8443',
        ),
        (
            nodes.Redirect(302, host="b.test"),
            "a.test",
            'host_redirect: "b.test" response_code: FOUND',
        ),
        (
            nodes.Redirect(308, full_path="/new"),
            "a.test",
            'path_redirect: "/new" response_code: PERMANENT_REDIRECT',
        ),
        (
            nodes.Redirect(303, prefix="/new"),
            "a.test",
            'prefix_rewrite: "/new" response_code: SEE_OTHER',
        ),
        (nodes.Redirect(307), "a.test", "response_code: TEMPORARY_REDIRECT"),
    ],
)
def test_a_redirect_says_what_changes(redirect: nodes.Redirect, host: str, expected: str) -> None:
    (found,) = encoded.routes(world.route(redirect, nodes.Segments("/old")), host=host)
    assert found.redirect == text_format.Parse(expected, pb.RedirectAction())
