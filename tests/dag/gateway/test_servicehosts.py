"""GRPCRoutes at Services: which of their rules gRPC clients follow, and what their owners read."""

import pytest

from dag import nodes
from dag.engine.incremental import Engine
from dag.exports import ExportedPort
from dag.gateway import servicehosts
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import configuration, gateway, gateway_class, service
from tests.dag.world import apply, delete, key, world

GATEWAY = gateway_class() + gateway("gw")
EXPORTS = "xdsServer: {grpcClients: {exports: [{namespaces: [default]}]}}"
MIRROR = "{type: RequestMirror, requestMirror: {backendRef: {name: s1, port: 80}}}"


def route(*rules: str, gateway: str = ", {name: gw}") -> str:
    return f"""
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {{name: r, namespace: default}}
spec:
  parentRefs: [{{group: "", kind: Service, name: s1}}{gateway}]
  rules: [{", ".join(f"{{{it}}}" for it in rules)}]
"""


def policy(kind: str, spec: str) -> str:
    return f"""
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: {kind}
metadata: {{name: p, namespace: default}}
spec:
  targetRefs: [{{group: gateway.networking.k8s.io, kind: GRPCRoute, name: r}}]
  {spec}
"""


def exported(text: str) -> Engine:
    return world(configuration(EXPORTS) + GATEWAY + service("s1") + text)


def fails(engine: Engine) -> list[bool]:
    """Whether calls fail, for each route of the Service."""
    found = engine.ask(servicehosts.service_host, ExportedPort(key("s1"), 80))
    assert found is not None
    return [not isinstance(it.action, nodes.Forward) for it in found.routes]


def accepted(engine: Engine) -> str:
    """The message of the route's `Accepted` at the Service."""
    return status_text.route_messages(engine, "r", parent=1, kind="GRPCRoute")[0]


PLAIN = "backendRefs: [{name: s1, port: 80}]"
DENY = "authorization: {defaultAction: Deny}"
LIMIT = "rateLimit: {type: Local, local: {rules: [{limit: {requests: 1, unit: Hour}}]}}"


@pytest.mark.parametrize(
    ("kind", "spec", "is_failing"),
    [
        ("SecurityPolicy", DENY, True),
        ("SecurityPolicy", f"{DENY}\n  mergeType: StrategicMerge", True),
        ("BackendTrafficPolicy", LIMIT, True),
        ("BackendTrafficPolicy", f"{LIMIT}\n  mergeType: JSONMerge", True),
        ("BackendTrafficPolicy", "timeout: {http: {requestTimeout: 1s}}", False),
    ],
)
def test_a_guard_fails_calls_and_no_policy_is_left_out_in_silence(
    kind: str, spec: str, is_failing: bool
) -> None:
    it = exported(route(PLAIN) + policy(kind, spec))
    assert fails(it) == [is_failing]
    then = "fails their calls" if is_failing else "is served to them without it"
    assert f"do not do what {kind} default/p asks for, so the rule {then}" in accepted(it)
    delete(it, kind, "p")
    assert fails(it) == [False]
    assert "asks for" not in accepted(it)


@pytest.mark.parametrize(
    ("kind", "spec"), [("SecurityPolicy", DENY), ("BackendTrafficPolicy", LIMIT)]
)
def test_a_policy_tells_that_grpc_clients_do_not_keep_it(kind: str, spec: str) -> None:
    it = exported(route(PLAIN, gateway="") + policy(kind, spec))
    assert status_text.ancestors(it, "p", kind) == ["s1"]
    assert status_text.policy(it, "p", kind) == ["Accepted=False/Invalid"]
    assert fails(it) == [True]
    apply(it, route(PLAIN))
    assert status_text.ancestors(it, "p", kind) == ["gw", "s1"]
    assert status_text.policy(it, "p", kind)[0] == "Accepted"
    delete(it, "GRPCRoute", "r")
    assert status_text.ancestors(it, "p", kind) == ["r"]
    assert status_text.policy(it, "p", kind) == ["Accepted=False/TargetNotFound"]


def of_backends(kind: str, group: str, spec: str) -> str:
    return f"""
---
apiVersion: {group}
kind: {kind}
metadata: {{name: p, namespace: default}}
spec: {{targetRefs: [{{group: "", kind: Service, name: s1}}], {spec}}}
"""


@pytest.mark.parametrize(
    ("kind", "group", "spec"),
    [
        (
            "BackendTLSPolicy",
            "gateway.networking.k8s.io/v1",
            "validation: {hostname: a.com, wellKnownCACertificates: System}",
        ),
        (
            "XBackendTrafficPolicy",
            "gateway.networking.x-k8s.io/v1alpha1",
            "retryConstraint: {budget: {percent: 10, interval: 10s}}",
        ),
    ],
)
def test_a_policy_of_backends_tells_that_grpc_clients_do_not_keep_it(
    kind: str, group: str, spec: str
) -> None:
    it = exported(route(PLAIN, gateway="") + of_backends(kind, group, spec))
    assert status_text.ancestors(it, "p", kind) == ["s1"]
    assert status_text.policy(it, "p", kind) == ["Accepted=False/Invalid"]
    apply(it, route(PLAIN))
    assert status_text.ancestors(it, "p", kind) == ["gw", "s1"]
    assert status_text.policy(it, "p", kind)[0] == "Accepted"
    delete(it, "GRPCRoute", "r")
    assert status_text.ancestors(it, "p", kind) == []


def test_a_filter_of_one_backend_fails_all_calls_of_the_rule() -> None:
    other = f"{{name: s1, port: 80, filters: [{MIRROR}]}}"
    assert fails(exported(route(f"backendRefs: [{{name: s1, port: 80}}, {other}]"))) == [True, True]


CHANGING = "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}]}}"
FILTERED = f"{PLAIN}, filters: [{CHANGING}]"
STICKY = f"{PLAIN}, sessionPersistence: {{}}"
TYPO = f"{PLAIN}, matches: [{{headers: [{{type: RegularExpression, name: a, value: '('}}]}}]"


@pytest.mark.parametrize(
    ("rules", "conditions"),
    [
        ([PLAIN], ["Accepted", "ResolvedRefs"]),
        ([FILTERED], ["Accepted=False/UnsupportedValue", "ResolvedRefs"]),
        ([FILTERED, STICKY], ["Accepted=False/UnsupportedValue", "ResolvedRefs"]),
        ([FILTERED, TYPO], ["Accepted=False/UnsupportedValue", "ResolvedRefs"]),
        (
            [FILTERED, PLAIN],
            ["Accepted", "ResolvedRefs", "PartiallyInvalid=True/UnsupportedValue"],
        ),
    ],
)
def test_a_route_is_accepted_while_clients_can_follow_a_rule(
    rules: list[str], conditions: list[str]
) -> None:
    parents = status_text.parents_of(exported(route(*rules)), "r", "GRPCRoute")
    assert status_text.short(parents[1].conditions) == conditions
