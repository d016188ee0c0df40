"""Policies of a route that are merged with those of its Gateway, with `contour run` and Envoy.

Of each kind the Gateway's policy says one thing and the route's another one; a route without a
policy of its own has what the Gateway's say alone.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.standalone import Standalone, standalone
from tests.e2e.test_traffic import GIVEN, ROUTE, backends
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_POLICY = """---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: KIND
metadata: {name: NAME}
spec: {targetRefs: [{group: gateway.networking.k8s.io, TARGET}], SPEC}
"""
_GATEWAY, _OWN = "kind: Gateway, name: web", "kind: HTTPRoute, name: merged"
_HEADER = "headers: [{name: x-team, values: [%s]}]"
_TEAM = f"authorization: {{rules: [{{action: Allow, principal: {{{_HEADER}}}}}]}}"


def _policy(kind: str, name: str, target: str, spec: str) -> str:
    text = _POLICY.replace("KIND", kind).replace("NAME", name)
    return text.replace("TARGET", target).replace("SPEC", spec)


def _of_gateway(spec: str) -> str:
    return _policy("SecurityPolicy", "whole", _GATEWAY, spec)


@pytest.fixture(name="merged")
def _merged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    traffic = "BackendTrafficPolicy"
    files = {
        "given.yaml": GIVEN,
        "routes.yaml": "".join(
            ROUTE.replace("NAME", it).replace("HOST", f"{it}.example.com")
            for it in ("merged", "bare")
        ),
        "own.yaml": _policy("SecurityPolicy", "own", _OWN, "mergeType: StrategicMerge, csrf: {}")
        + _policy(traffic, "retry", _OWN, "mergeType: JSONMerge, retry: {}"),
        "whole.yaml": _of_gateway(_TEAM % "one"),
        "timeout.yaml": _policy(
            traffic, "timeout", _GATEWAY, "timeout: {http: {requestTimeout: 200ms}}"
        ),
    }
    with (
        backends() as ports,
        standalone(tmp_path_factory.mktemp("merged"), files, ports) as found,
    ):
        found.until_status("http://bare.example.com/", 403)
        found.until_status("http://merged.example.com/", 403)
        yield found


def _status(
    instance: Standalone, path: str, team: str, host: str = "merged", method: str = "GET"
) -> int:
    headers = {"x-team": team, "origin": "http://elsewhere.example.org"}
    return instance.ask(f"http://{host}.example.com{path}", method, headers).status


def test_what_both_policies_say_holds_and_each_may_be_edited(merged: Standalone) -> None:
    for host, posted, flaky in (("merged", 403, 200), ("bare", 200, 503)):
        assert _status(merged, "/", "one", host) == 200
        assert _status(merged, "/", "two", host) == 403
        assert _status(merged, "/", "one", host, "POST") == posted
        assert _status(merged, "/flaky", "one", host) == flaky
        assert _status(merged, "/late", "one", host) == 504
    merged.write("whole.yaml", _of_gateway(_TEAM % "two"))
    wait(lambda: _status(merged, "/", "two") == 200, "the edit of the Gateway's policy")
    assert _status(merged, "/", "one") == 403
    assert _status(merged, "/", "two", method="POST") == 403
    merged.write(
        "whole.yaml", _of_gateway("authorization: {rules: [{action: Allow, cel: 'true'}]}")
    )
    merged.until_status("http://merged.example.com/", 500)
    merged.until_told(
        "SecurityPolicy default/own", "spec.authorization.rules[0].cel: is not served yet"
    )
    merged.remove("whole.yaml")
    merged.until_status("http://merged.example.com/", 200)
    assert _status(merged, "/", "two", method="POST") == 403
