"""XTelemetryPolicies: which one holds for a Gateway, what it makes, and what its owner is told."""

from dataclasses import replace

import pytest

from crds.meta import ObjectRef
from dag import nodes
from dag.engine.incremental import Engine
from dag.gateway import statusoverflow, telemetry
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    grant,
    http,
    https,
    listener_set,
    policy,
    service,
    telemetry_policy,
)
from tests.dag.world import FLEET, apply, delete, key, world
from tests.testbed import pairs

TO = "provider: {backendRef: {name: s1, port: 80}}"
ON = f"mode: Enabled, {TO}"
GIVEN = gateway_class() + gateway("gw") + service("s1")
FINE = ["Accepted", "ResolvedRefs"]
TRACING = nodes.Tracing(
    nodes.Cluster(nodes.ServicePort(key("s1"), 80), protocol="h2c"), sampling=nodes.Sampling()
)


def traced(it: Engine, listener: str = "ingress_http") -> nodes.Tracing | None:
    """What is traced on a listener by a policy."""
    found = it.ask(telemetry.of_listener, nodes.ListenerKey(FLEET, listener))
    assert found is not None
    assert not found.is_default
    return found.tracing


def is_default(it: Engine, listener: str = "ingress_http") -> bool:
    """Whether no policy says what is traced on a listener."""
    return it.ask(telemetry.of_listener, nodes.ListenerKey(FLEET, listener)) is None


def told(it: Engine, name: str = "p") -> list[str]:
    return status_text.policy(it, name, "XTelemetryPolicy")


def test_a_policy_says_where_the_spans_of_a_gateway_go() -> None:
    it = world(GIVEN + telemetry_policy("p", ON))
    assert traced(it) == TRACING
    assert told(it) == FINE
    assert is_default(it, "ingress_https")


def test_it_holds_on_every_listener_for_requests_those_of_listener_sets_too() -> None:
    own = gateway("gw", http(), rest="allowedListeners: {namespaces: {from: Same}}")
    more = listener_set("more", https()) + pairs.secret("cert")
    it = world(gateway_class() + own + more + service("s1") + telemetry_policy("p", ON))
    assert traced(it, "ingress_https") == traced(it) == TRACING


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("samplingRate: {numerator: 1, denominator: 8}", {"sampling": nodes.Sampling((1, 8))}),
        ("samplingRate: {numerator: 25}", {"sampling": nodes.Sampling((25, 100))}),
        (
            "parentBasedSampling: {mode: Disabled}",
            {"sampling": nodes.Sampling(follows_parent=False)},
        ),
        ("parentBasedSampling: {mode: Enabled}", {}),
        ("parentBasedSampling: {mode: ImplementationDefault}", {}),
        ("parentBasedSampling: {mode: Enabled, samplingRate: {numerator: 100}}", {}),
        ("serviceName: edge", {"service_name": "edge"}),
        ("spanName: a b", {"span_name": "a b"}),
        (
            "attributes: [{name: a, sourceType: Header, headerName: X-A},"
            " {name: b, sourceType: Literal, literalValue: '1%'},"
            " {name: c, sourceType: Attribute, attributeKey: url.path}]",
            {
                "tags": (
                    nodes.CustomTag("a", header="X-A"),
                    nodes.CustomTag("b", "1%"),
                    nodes.CustomTag("c", request_property="url.path"),
                )
            },
        ),
    ],
)
def test_a_field_becomes_what_envoy_is_told(fields: str, expected: dict[str, object]) -> None:
    it = world(GIVEN + telemetry_policy("p", f"{ON}, {fields}"))
    assert traced(it) == replace(TRACING, **expected)  # type: ignore[arg-type]
    assert told(it) == FINE


def test_of_headers_with_equal_names_the_first_one_counts() -> None:
    headers = "headers: [{name: X-Key, value: a}, {name: x-key, value: b}]"
    given = ON.replace("port: 80}", f"port: 80}}, {headers}")
    it = world(GIVEN + telemetry_policy("p", given))
    assert traced(it) == replace(TRACING, headers=(("x-key", "a"),))


@pytest.mark.parametrize(
    ("mode", "is_usual"), [("Disabled", False), ("ImplementationDefault", True)]
)
def test_without_a_provider_nothing_is_traced_or_all_is_as_without_a_policy(
    mode: str, *, is_usual: bool
) -> None:
    it = world(GIVEN + telemetry_policy("p", f"mode: {mode}"))
    assert is_default(it) == is_usual
    assert is_usual or traced(it) is None
    assert told(it) == FINE


@pytest.mark.parametrize(
    ("tracing", "conditions"),
    [
        (ON.replace("s1", "gone"), ["Accepted", "ResolvedRefs=False/BackendNotFound"]),
        (
            ON.replace("name: s1", "kind: Other, name: s1"),
            ["Accepted", "ResolvedRefs=False/InvalidKind"],
        ),
        (
            ON.replace("name: s1", "name: s1, namespace: far"),
            ["Accepted", "ResolvedRefs=False/RefNotPermitted"],
        ),
        (
            ON.replace("port: 80}", "port: 80}, headers: [{name: X-Key, value: 100%}]"),
            ["Accepted=False/UnsupportedValue", "ResolvedRefs"],
        ),
        ("mode: Later", ["Accepted=False/Invalid", "ResolvedRefs"]),
        (
            f"{ON}, parentBasedSampling: {{mode: Enabled, samplingRate: {{numerator: 50}}}}",
            ["Accepted=False/UnsupportedValue", "ResolvedRefs"],
        ),
    ],
)
def test_a_policy_that_cannot_be_met_traces_nothing(tracing: str, conditions: list[str]) -> None:
    it = world(GIVEN + telemetry_policy("p", tracing))
    assert traced(it) is None
    assert told(it) == conditions


def test_a_collector_elsewhere_needs_a_grant_to_the_kind_of_the_policy() -> None:
    far = ON.replace("name: s1", "name: s1, namespace: far")
    it = world(GIVEN + service("s1", "far") + telemetry_policy("p", far))
    assert told(it)[1] == "ResolvedRefs=False/RefNotPermitted"
    from_ = "group: gateway.networking.{}, kind: XTelemetryPolicy, namespace: default"
    apply(it, grant("g", "far", from_.format("k8s.io")))
    assert told(it)[1] == "ResolvedRefs=False/RefNotPermitted"
    apply(it, grant("g", "far", from_.format("x-k8s.io")))
    assert told(it) == FINE
    found = traced(it)
    assert found is not None
    assert isinstance(found.cluster, nodes.Cluster)
    assert found.cluster.port.service == key("far/s1")


def test_how_tls_is_spoken_to_the_collector_is_said_by_its_backend_tls_policy() -> None:
    tls = policy("tls", "hostname: a.com, wellKnownCACertificates: System")
    it = world(GIVEN + telemetry_policy("p", ON) + tls)
    found = traced(it)
    assert found is not None
    assert isinstance(found.cluster, nodes.Cluster)
    assert found.cluster.protocol == "h2"
    assert found.cluster.tls is not None
    assert status_text.policy(it, "tls") == FINE
    absent = "caCertificateRefs: [{group: '', kind: Secret, name: absent}]"
    apply(it, policy("tls", f"hostname: a.com, {absent}"))
    assert traced(it) is None
    assert told(it)[1] == "ResolvedRefs=False/BackendNotFound"


def test_an_attribute_that_is_not_known_is_left_out_and_told() -> None:
    attributes = "attributes: [{name: a, sourceType: Attribute, attributeKey: db.name}]"
    it = world(GIVEN + telemetry_policy("p", f"{ON}, {attributes}"))
    assert traced(it) == TRACING
    assert told(it) == FINE
    (accepted, _) = status_text.policy_messages(it, "p", "XTelemetryPolicy")
    assert "spec.tracing.attributes[0].attributeKey: db.name is not known here" in accepted


def test_of_two_policies_the_older_holds_and_the_other_is_told() -> None:
    two = (telemetry_policy(f"p{n}", f"{ON}, serviceName: s{n}", created=f"0{n}") for n in (1, 2))
    it = world(GIVEN + "".join(two))
    assert traced(it) == replace(TRACING, service_name="s1")
    assert told(it, "p1") == FINE
    assert told(it, "p2") == ["Accepted=False/Conflicted", "ResolvedRefs"]
    delete(it, "XTelemetryPolicy", "p1")
    assert traced(it) == replace(TRACING, service_name="s2")
    assert told(it, "p2") == FINE


def test_of_equal_age_the_first_by_name_holds() -> None:
    it = world(GIVEN + telemetry_policy("b", ON) + telemetry_policy("a", "mode: Disabled"))
    assert traced(it) is None
    assert told(it, "b")[0] == "Accepted=False/Conflicted"


def test_a_target_that_is_not_there_is_told_until_it_comes() -> None:
    it = world(GIVEN + telemetry_policy("p", ON, ("later",)))
    assert told(it) == ["Accepted=False/TargetNotFound", "ResolvedRefs"]
    assert is_default(it)
    apply(it, telemetry_policy("p", ON))
    assert told(it) == FINE
    assert traced(it) == TRACING


def test_of_a_gateway_of_another_class_nothing_is_said() -> None:
    other = gateway("other").replace("gatewayClassName: contour", "gatewayClassName: other")
    it = world(GIVEN + other + telemetry_policy("p", ON, ("other",)))
    assert told(it) == []


def test_a_policy_whose_status_has_no_room_is_not_in_force_and_the_gateway_says_so() -> None:
    it = world(GIVEN + telemetry_policy("p", ON))
    it.write(statusoverflow.UNTOLD, ObjectRef("XTelemetryPolicy", "default", "p"), (key("gw"),))
    it.settle()
    assert is_default(it)
    said = status_text.gateway_messages(it)[0]
    assert "status of XTelemetryPolicy default/p is full" in said
    assert "is not in force for the Gateway" in said
