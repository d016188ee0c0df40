"""EnvoyExtensionPolicies and HTTPRouteFilters: kinds that are not served, and close what they
guard."""

import pytest

from crds.meta import ObjectRef
from dag import nodes, tables
from dag.engine.incremental import Engine
from dag.gateway import hosts as gateway_hosts
from dag.gateway import streams
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.dag.gateway.manifests import route, service, stream_route, to
from tests.dag.gateway.test_securitypolicies import (
    GATEWAY,
    GIVEN,
    ROUTE,
    allowing,
    applied,
    part,
    served,
)
from tests.dag.gateway.test_securitypolicies import policy as guarding
from tests.dag.world import apply, delete, key, world

LUA = "lua: [{type: Inline, inline: x}]"


def policy(name: str, spec: str, *targets: str) -> str:
    """An EnvoyExtensionPolicy for the route `r` if no target is given."""
    return guarding(name, spec, *targets).replace("SecurityPolicy", "EnvoyExtensionPolicy")


def message(engine: Engine, name: str) -> str:
    found = engine.answer(STATUSES["EnvoyExtensionPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    (condition,) = found.ancestors[0].conditions
    return f"{condition.status}/{condition.reason}: {condition.message}"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (LUA, "spec.lua"),
        ("wasm: [{name: x}]", "spec.wasm"),
        ("extProc: [{backendRefs: [{name: s1, port: 80}]}]", "spec.extProc"),
        ("dynamicModule: [{name: x}]", "spec.dynamicModule"),
        ("mergeType: StrategicMerge", "spec.mergeType"),
    ],
)
def test_what_runs_beside_a_route_closes_it_and_is_told_by_its_field(spec: str, field: str) -> None:
    it = world(GIVEN + route("r") + policy("p", spec))
    assert applied(it) == ["p 500"]
    assert message(it, "p").startswith(f"False/Invalid: {field}: is not served yet")
    delete(it, "EnvoyExtensionPolicy", "p")
    assert applied(it) == [""]


def test_a_policy_without_anything_closes_nothing() -> None:
    it = world(GIVEN + route("r") + policy("p", "lua: []"))
    assert applied(it) == ["p"]
    assert message(it, "p").startswith("True/Accepted")


def test_the_nearest_policy_alone_closes() -> None:
    rules = (to("s1", "name: one"), to("s2", "matches: [{path: {value: /b}}], name: two"))
    it = world(GIVEN + route("r", *rules) + policy("rule", LUA, part(ROUTE, "two")))
    assert applied(it) == ["rule 500", ""]
    apply(it, policy("gw", LUA, GATEWAY))
    assert applied(it) == ["rule 500", "gw 500"]
    apply(it, policy("route", "lua: []"))
    assert applied(it) == ["rule 500", "route"]


def test_it_stands_beside_a_security_policy_whose_guards_stay() -> None:
    it = world(GIVEN + route("r") + guarding("s", allowing("s")) + policy("p", LUA, GATEWAY))
    (found,) = served(it)
    assert [each.kind for each in found.attached] == ["SecurityPolicy", "EnvoyExtensionPolicy"]
    assert found.action == nodes.Respond(500)
    assert found.policies is not None
    assert found.policies.access is not None


def test_a_policy_of_a_gateway_closes_grpc_with_503() -> None:
    grpc = route("r").replace("HTTPRoute", "GRPCRoute")
    assert applied(world(GIVEN + grpc + policy("p", LUA, GATEWAY))) == ["p 503"]


def test_a_policy_that_cannot_be_read_closes_its_targets() -> None:
    it = world(GIVEN + route("r"))
    apply(it, policy("p", "lua: 5"))
    assert applied(it) == ["p 500"]
    assert "cannot be read" in message(it, "p")


def test_a_field_of_a_later_release_closes() -> None:
    it = world(GIVEN + route("r") + policy("p", "lua: []"))
    it.write(tables.UNKNOWN_FIELDS, ObjectRef("EnvoyExtensionPolicy", *key("p")), ("spec.later",))
    it.settle()
    assert applied(it) == ["p 500"]


@pytest.mark.parametrize("kind", ["TCPRoute", "UDPRoute", "TLSRoute"])
def test_a_stream_with_a_policy_is_closed(kind: str) -> None:
    ref = ObjectRef(kind, *key("t"))
    hosts = "[a.com]" * (kind == "TLSRoute")
    target = f"{{group: gateway.networking.k8s.io, kind: {kind}, name: t}}"
    given = GIVEN + service("u1", port="port: 80, protocol: UDP")
    backend = "{name: u1, port: 80}" if kind == "UDPRoute" else "{name: s1, port: 80}"
    it = world(given + stream_route(kind, "t", backend, hosts))
    apply(it, policy("p", LUA, target))
    assert it.ask(streams.rules, ref).stream == gateway_hosts.CLOSED
    apply(it, policy("p", "lua: []", target))
    assert it.ask(streams.rules, ref).stream != gateway_hosts.CLOSED
    apply(it, stream_route(kind, "t", backend, hosts).replace("[{back", "[{name: x, back"))
    apply(it, policy("q", LUA, target.replace("}", ", sectionName: x}")))
    assert it.ask(streams.rules, ref).stream == gateway_hosts.CLOSED
