"""Which headers Envoy's own answer has to a request without a login."""

import pytest

from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from tests.dag.gateway.manifests import gateway, gateway_class, route, service
from tests.dag.gateway.test_securitylogin import login, secret
from tests.dag.gateway.test_securitypolicies import policy
from tests.dag.world import FLEET, world

SEEN = (
    "{filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: "
    "[{name: x-seen, value: '1'}]}}], backendRefs: [{name: s1, port: 80}]}"
)


@pytest.mark.parametrize(
    ("sent", "status", "changed"),
    [((), 302, ()), ((("x-api", "1"),), 401, (("x-seen", "1"),))],
)
def test_a_route_changes_no_header_of_the_way_to_a_login(
    sent: tuple[tuple[str, str], ...], status: int, changed: tuple[tuple[str, str], ...]
) -> None:
    given = gateway_class() + gateway("gw") + service("s1") + route("r", SEEN, hosts=("a.com",))
    given += secret() + policy(
        "p", login(denyRedirect={"headers": [{"name": "x-api", "value": "1"}]})
    )
    found = evaluator.evaluate(world(given), FLEET, Request("a.com", headers=sent)).answer
    assert (found.status, found.response_headers) == (status, changed)
