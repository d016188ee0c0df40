"""What a backend sees of a request whose URL a route rewrites, as `contour explain` says."""

import pytest

from dag import nodes
from dag.evaluation import actions
from dag.evaluation.requests import Request
from tests.contour.envoy import world

TENANT = nodes.Substitution("^/tenant/([a-z]+)/.*", "\\1.test")


@pytest.mark.parametrize(
    ("rewrite", "host", "path", "told"),
    [
        (nodes.Rewrite(path=nodes.Substitution("a", "b")), "old.test", "/tenbnt/one/x?a", None),
        (nodes.Rewrite(host_from_path=TENANT), "one.test", "/tenant/one/x?a", None),
        (nodes.Rewrite("new.test", tells_host=True), "new.test", "/tenant/one/x?a", "old.test"),
        (nodes.Rewrite(host_header="x-a", tells_host=True), "old.test", "/tenant/one/x?a", None),
    ],
)
def test_a_rewrite_is_told_as_envoy_does_it(
    rewrite: nodes.Rewrite, host: str, path: str, told: str | None
) -> None:
    forward = nodes.Forward((nodes.Backend(world.cluster("one")),), rewrite=rewrite)
    request = Request("old.test", path="/tenant/one/x?a")
    (share,) = actions.answer("old.test", world.route(forward), request).backends
    assert (share.host, share.path) == (host, path)
    assert dict(share.headers).get("x-forwarded-host") == told


def test_an_answer_shows_its_operators_and_its_headers() -> None:
    body = nodes.Format(("of ", nodes.Operator("REQ", "x-a")))
    respond = nodes.Respond(404, body, nodes.HeaderPolicy(set=(("x-b", "c"),)))
    found = actions.answer("old.test", world.route(respond), Request("old.test"))
    assert (found.status, found.body) == (404, "of %REQ%")
    assert found.response_headers == (("x-b", "c"),)


@pytest.mark.parametrize(
    ("redirect", "request_", "is_loop"),
    [
        (nodes.Redirect(301, host="OLD.test"), Request("old.test", path="/a?b"), True),
        (nodes.Redirect(301, scheme="https"), Request("old.test", port=443, is_secure=True), True),
        (nodes.Redirect(301, scheme="https"), Request("old.test"), False),
        (
            nodes.Redirect(301, scheme="https", port=443),
            Request("old.test", port=443, is_secure=True),
            True,
        ),
        (nodes.Redirect(301, full_path="/b"), Request("old.test", path="/a"), False),
        (nodes.Redirect(301, host="new.test"), Request("old.test"), False),
    ],
)
def test_a_redirect_to_what_was_asked_for_is_told(
    redirect: nodes.Redirect, request_: Request, is_loop: bool
) -> None:
    found = actions.answer("old.test", world.route(redirect), request_)
    assert ("clients ask again and again" in found.cause) == is_loop
