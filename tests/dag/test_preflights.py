"""Which preflights Envoy answers, and where in the order of routes they are."""

import pytest

from crds.meta import ObjectRef
from dag import nodes, preflights

CORS = nodes.Policies(cors=nodes.Cors((nodes.ValueMatch("present"),)))
OFF = nodes.Policies(cors=nodes.OFF)
FORWARD = nodes.Forward((nodes.Backend(None, 1),))


def route(
    text: str, policies: nodes.Policies | None = CORS, action: nodes.Action = FORWARD
) -> nodes.Route:
    """Of a method, perhaps empty, and a path."""
    method, _, path = text.partition(" ")
    origin = ObjectRef("HTTPRoute", "default", "r")
    return nodes.Route(nodes.Match(nodes.Segments(path), method), action, origin, policies=policies)


def shown(it: nodes.Route) -> str:
    asked = [header.value.value for header in it.match.headers][1:]
    answer = f" {it.action.status}" if isinstance(it.action, nodes.Respond) else ""
    path = it.match.path
    assert isinstance(path, nodes.Segments)
    return " ".join([f"{it.match.method} {path.path}", *asked]) + answer


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ([route("GET /a")], ["GET /a", "OPTIONS /a GET"]),
        ([route(" /a")], [" /a"]),
        ([route("OPTIONS /a")], ["OPTIONS /a"]),
        ([route("GET /a", None)], ["GET /a"]),
        ([route("GET /a", OFF)], ["GET /a"]),
        ([route("GET /a", CORS, nodes.Respond(410))], ["GET /a 410"]),
        (
            [route("GET /a"), route("PUT /b"), route("OPTIONS /a"), route(" /a")],
            ["GET /a", "PUT /b", "OPTIONS /a", "OPTIONS /a GET", "OPTIONS /b PUT", " /a"],
        ),
        # What a route without a policy takes is not opened by the policy of a wider one.
        (
            [route("PUT /a/b", None), route("GET /a/c", None), route("PUT /a")],
            ["PUT /a/b", "GET /a/c", "OPTIONS /a/b PUT 404", "PUT /a", "OPTIONS /a PUT"],
        ),
        ([route("PUT /a/b"), route("PUT /a", None)],
         ["PUT /a/b", "OPTIONS /a/b PUT", "PUT /a"]),
    ],
)  # fmt: skip
def test_preflights_come_behind_what_is_as_specific(
    routes: list[nodes.Route], expected: list[str]
) -> None:
    assert [shown(it) for it in preflights.added(routes, None)] == expected


def test_the_policy_of_a_host_holds_where_a_route_has_none() -> None:
    routes = [route("GET /a", None), route("PUT /a", OFF)]
    found = preflights.added(routes, CORS.cors)
    assert [shown(it) for it in found] == ["GET /a", "PUT /a", "OPTIONS /a GET"]


def test_requests_that_are_as_they_were_are_no_preflights() -> None:
    *_, found = preflights.added([route("GET /a")], None)
    assert preflights.takes_only(found.match)
    assert not preflights.takes_only(nodes.Match(method="OPTIONS"))
