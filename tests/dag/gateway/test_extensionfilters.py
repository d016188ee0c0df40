"""Filters of kinds that extensions bring: resolved in the namespace of the route, or closed."""

import pytest

from crds.meta import NamespacedName
from dag import foreignobjects, hosts, nodes, statuses, tables
from dag.engine.incremental import Engine
from dag.gateway import actions
from dag.plan import STATUSES
from tests.dag.gateway.manifests import gateway, gateway_class, service
from tests.dag.world import FLEET, apply, routes, world

KIND = nodes.ForeignKind("example.com", "v1", "Guard")
CONFIGURATION = """---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
  extensions:
  - name: guards
    hooks: {post: [Route]}
    resources: [{group: example.com, version: v1, kind: Guard}]
    service: {unix: /run/guards.sock}
"""
ROUTE = """---
apiVersion: gateway.networking.k8s.io/v1
kind: %s
metadata: {name: r, namespace: default}
spec:
  parentRefs: [{name: gw}]
  rules:
  - filters:
    - {type: ExtensionRef, extensionRef: {group: example.com, kind: %s, name: one}}
    - {type: ExtensionRef, extensionRef: {group: example.com, kind: %s, name: two}}
    backendRefs: [{name: s1, port: 80}]
"""
GIVEN = gateway_class() + gateway("gw") + service("s1")
NAMES = ("one", "two")
KINDS = ["HTTPRoute", "GRPCRoute"]


def key(name: str, namespace: str = "default") -> nodes.ForeignKey:
    return nodes.ForeignKey(KIND.group, KIND.kind, namespace, name)


def given(kind: str, of: str = "Guard", more: str = CONFIGURATION) -> Engine:
    return world(GIVEN + more + ROUTE % (kind, of, of))


def put(engine: Engine, *objects: nodes.ForeignKey, content: bytes | None = b"{}") -> None:
    for it in objects:
        engine.write(foreignobjects.OBJECTS, it, content)
    engine.settle()
    assert not engine.failures, engine.failures


def host(engine: Engine) -> nodes.VirtualHost:
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "*"))
    assert found is not None
    return found


def referred(engine: Engine) -> list[tuple[nodes.ForeignKey, ...]]:
    return [it.extensions for it in host(engine).routes]


def conditions(engine: Engine, kind: str) -> dict[str, str]:
    """Status and message of each condition of the route."""
    found = engine.answer(STATUSES[kind], NamespacedName("default", "r"))
    assert isinstance(found, statuses.RouteStatus)
    return {it.type: f"{it.status}/{it.reason}: {it.message}" for it in found.parents[0].conditions}


@pytest.mark.parametrize("kind", KINDS)
def test_a_route_refers_to_the_objects_of_its_rule_in_their_order(kind: str) -> None:
    it = given(kind)
    put(it, *map(key, reversed(NAMES)))
    assert referred(it) == [tuple(map(key, NAMES))]
    told = conditions(it, kind)
    assert all(told[name].startswith("True/") for name in ("Accepted", "ResolvedRefs")), told


@pytest.mark.parametrize("kind", KINDS)
def test_without_one_of_them_the_rule_answers_an_error(kind: str) -> None:
    it = given(kind)
    put(it, key("one"), key("two", "other"))
    assert [route.action for route in host(it).routes] == [actions.nowhere(kind)]
    assert referred(it) == [()]
    told = conditions(it, kind)["ResolvedRefs"]
    assert told.startswith("False/BackendNotFound")
    where = "spec.rules[0].filters[1].extensionRef"
    assert told.endswith(f"{where}: Guard.example.com default/two not found")


def test_why_a_kind_cannot_be_read_is_told_with_it() -> None:
    it = given("HTTPRoute")
    it.write(foreignobjects.FAULTS, KIND, "the right to list it is missing")
    put(it, key("one"))
    told = conditions(it, "HTTPRoute")["ResolvedRefs"]
    assert "default/two not found: the right to list it is missing" in told


def test_they_may_come_and_go() -> None:
    it = given("HTTPRoute")
    for _ in range(2):
        put(it, *map(key, NAMES))
        assert referred(it) == [tuple(map(key, NAMES))]
        put(it, key("one"), content=None)
        assert referred(it) == [()]


def test_another_content_is_no_other_route() -> None:
    it = given("HTTPRoute")
    put(it, *map(key, NAMES))
    it.write(foreignobjects.OBJECTS, key("one"), b'{"spec": 1}')
    assert not [change for change in it.settle() if change.query is hosts.virtual_host]


@pytest.mark.parametrize(
    ("of", "more"),
    [("Other", CONFIGURATION), ("Guard", CONFIGURATION.split("  extensions", maxsplit=1)[0])],
    ids=["another kind", "no extension"],
)
def test_a_kind_that_nobody_registers_is_not_served(of: str, more: str) -> None:
    it = given("HTTPRoute", of, more)
    put(it, *map(key, NAMES))
    assert routes(it, "*") == ["/ -> 500"]
    assert conditions(it, "HTTPRoute")["Accepted"].startswith("False/UnsupportedValue")


def test_a_kind_may_be_registered_later() -> None:
    it = given("HTTPRoute", more="")
    put(it, *map(key, NAMES))
    apply(it, CONFIGURATION)
    assert referred(it) == [tuple(map(key, NAMES))]
    it.write(tables.CONFIGURATIONS, NamespacedName("projectcontour", "contour"), None)
    it.settle()
    assert routes(it, "*") == ["/ -> 500"]
