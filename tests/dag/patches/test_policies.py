"""Whose Envoys an EnvoyPatchPolicy is for, where its names lead, and what its author is told."""

import pytest

from crds.envoygateway import patchpolicy as crd
from dag.engine.incremental import Engine
from dag.patches.naming import PatchPlace
from dag.patches.policies import patching
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.dag.gateway.manifests import gateway, gateway_class, route, service, to
from tests.dag.world import apply, delete, key, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + route("r", to("s1"))
ALLOWED = "{namespaces: [default]}"


def configuration(patches: str = ALLOWED, mode: str = "Single") -> str:
    allowed = f", envoyPatchPolicies: {patches}" if patches else ""
    return (
        "---\n{apiVersion: projectcontour.io/v1alpha1, kind: ContourConfiguration, "
        f"metadata: {{name: contour}}, spec: {{gateway: {{mode: {mode}{allowed}}}}}}}\n"
    )


def policy(
    *patches: str,
    target: str = "kind: Gateway, name: gw",
    name: str = "p",
    namespace: str = "default",
    more: str = "",
) -> str:
    ref = f"targetRef: {{group: gateway.networking.k8s.io, {target}}}"
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: EnvoyPatchPolicy, "
        f"metadata: {{name: {name}, namespace: {namespace}}}, "
        f"spec: {{type: JSONPatch, {ref}{more}, jsonPatches: [{', '.join(patches)}]}}}}\n"
    )


def patch(type_: str, name: str, path: str = "/metadata", jsonpath: str = "") -> str:
    at = f"jsonPath: '{jsonpath}'" if jsonpath else f"path: '{path}'"
    return f"{{type: {type_}, name: '{name}', operation: {{op: add, {at}, value: {{}}}}}}"


def places(engine: Engine, name: str = "p") -> list[PatchPlace]:
    found = engine.answer(patching, key(name))
    return [place for place, _ in found.patches] if found is not None else []


def told(engine: Engine, name: str = "p") -> str:
    found = engine.answer(STATUSES["EnvoyPatchPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    (ancestor,) = found.ancestors
    return "\n".join(
        f"{it.type}={it.status}/{it.reason}: {it.message}" for it in ancestor.conditions
    )


def listener(name: str, *, is_quic: bool = False) -> PatchPlace:
    return PatchPlace("contour", "listener", name, is_quic=is_quic)


def host(listener: str, name: str) -> PatchPlace:
    return PatchPlace("contour", "host", listener, name)


def cluster(name: str) -> PatchPlace:
    return PatchPlace("contour", "cluster", name)


@pytest.mark.parametrize(
    ("type_", "name", "place"),
    [
        (crd.LISTENER, "default/gw/http", listener("ingress_http")),
        (crd.LISTENER, "ingress_http", listener("ingress_http")),
        (crd.ROUTES, "default/gw/http/www_example_com", host("ingress_http", "www.example.com")),
        (crd.ROUTES, "default/gw/http/www.example.com", host("ingress_http", "www.example.com")),
        (crd.ROUTES, "ingress_http/*.example.com", host("ingress_http", "*.example.com")),
        (crd.ROUTES, "default/gw/http/*", host("ingress_http", "*")),
        (crd.CLUSTER, "httproute/default/r/rule/0", cluster("default/s1/80")),
        (crd.CLUSTER, "default/s1/80", cluster("default/s1/80")),
        (crd.CLUSTER, "elsewhere", cluster("elsewhere")),
    ],
)
def test_names_of_both_lead_to_a_place(type_: str, name: str, place: PatchPlace) -> None:
    it = world(configuration() + GIVEN + policy(patch(type_, name)))
    assert places(it) == [place]
    assert told(it).startswith("Accepted=True/Accepted")


_SECRET = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
_NUMBERED = "/virtual_hosts/0/routes"
_REMEDY = "name one virtual host, as LISTENER/HOST such as default/gw/http/www.example.com"


@pytest.mark.parametrize(
    ("written", "reason", "text"),
    [
        (patch(crd.LISTENER, "default/gw/other"), "ResourceNotFound", "there are ingress_http"),
        (patch(crd.LISTENER, "other/gw/http"), "ResourceNotFound", "there is no listener"),
        (patch(crd.ROUTES, "default/gw/http", _NUMBERED), "Invalid", _REMEDY),
        (patch(crd.ROUTES, "default/gw/http"), "Invalid", _REMEDY),
        (
            patch(crd.ROUTES, "ingress_http/a.com", _NUMBERED),
            "Invalid",
            "virtual hosts have no numbers here",
        ),
        (
            patch(crd.ROUTES, "ingress_http/a.com", jsonpath="$.virtual_hosts[0]"),
            "Invalid",
            "virtual hosts have no numbers here",
        ),
        (patch(crd.ROUTES, "x/a.com"), "ResourceNotFound", "there is no listener of the virtual"),
        (
            patch(crd.CLUSTER, "httproute/default/r/rule/7"),
            "ResourceNotFound",
            "there is no rule of the cluster",
        ),
        (patch(_SECRET, "default/s"), "Invalid", "a Secret cannot be patched"),
    ],
)
def test_a_name_that_leads_nowhere_is_told_with_what_there_is(
    written: str, reason: str, text: str
) -> None:
    it = world(configuration() + GIVEN + policy(written))
    assert places(it) == []
    assert f"Programmed=False/{reason}: spec.jsonPatches[0].name: " in told(it)
    assert text in told(it)


def test_a_listener_that_shares_its_port_is_named_as_the_port() -> None:
    shared = gateway(
        "gw",
        "{name: a, protocol: HTTP, port: 80, hostname: a.com}",
        *(("{name: b, protocol: HTTP, port: 80, hostname: b.com}",)),
    )
    it = world(
        configuration()
        + gateway_class()
        + shared
        + policy(patch(crd.LISTENER, "default/gw/a"), patch(crd.ROUTES, "default/gw/a/a.com"))
    )
    assert places(it) == [host("ingress_http", "a.com")]
    assert "a patch for all of them names ingress_http" in told(it)


def test_a_rule_of_several_backends_has_no_cluster_of_its_own() -> None:
    rule = "backendRefs: [{name: s1, port: 80}, {name: s2, port: 80}]"
    made = patch(crd.CLUSTER, "httproute/default/two/rule/0")
    it = world(
        configuration() + GIVEN + service("s2") + route("two", "{" + rule + "}") + policy(made)
    )
    assert places(it) == []
    assert "has not one Service" in told(it)


@pytest.mark.parametrize(
    ("configured", "namespace", "reason"),
    [
        ("", "default", "Disabled"),
        ("{}", "default", "NotAllowed"),
        ("{namespaces: [other]}", "default", "NotAllowed"),
    ],
)
def test_the_shared_envoys_are_for_namespaces_that_the_configuration_names(
    configured: str, namespace: str, reason: str
) -> None:
    written = policy(patch(crd.LISTENER, "ingress_http"), namespace=namespace)
    it = world(configuration(configured) + GIVEN + written)
    assert places(it) == []
    assert told(it).startswith(f"Accepted=False/{reason}: ")
    apply(it, configuration())
    assert places(it) == [listener("ingress_http")]
    delete(it, "ContourConfiguration", "contour")
    assert places(it) == []


def test_a_gateway_with_envoys_of_its_own_takes_the_policies_of_its_namespace() -> None:
    made = policy(patch(crd.LISTENER, "default/gw/http"))
    it = world(configuration("{}", "PerGateway") + GIVEN + made)
    assert places(it) == [PatchPlace("default/gw", "listener", "ingress_http")]
    apply(it, configuration("", "PerGateway"))
    assert told(it).startswith("Accepted=False/Disabled")


def test_a_class_is_a_target_where_its_gateways_share_their_envoys() -> None:
    target = "kind: GatewayClass, name: contour"
    written = policy(patch(crd.LISTENER, "ingress_http"), target=target, namespace="default")
    it = world(configuration() + GIVEN + written)
    assert places(it) == [listener("ingress_http")]
    apply(it, configuration("{}", "PerGateway"))
    assert places(it) == []
    assert "a Gateway has to be the target" in told(it)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("kind: Gateway, name: nobody", "Gateway default/nobody not found"),
        ("kind: HTTPRoute, name: r", "is no kind that policies are for"),
    ],
)
def test_a_target_that_is_none_is_told(target: str, text: str) -> None:
    it = world(configuration() + GIVEN + policy(patch(crd.LISTENER, "x"), target=target))
    assert told(it).startswith("Accepted=False/TargetNotFound: spec.targetRef: ")
    assert text in told(it)


def test_nothing_is_said_of_a_policy_for_the_gateway_of_somebody_else() -> None:
    gateway_of_theirs = gateway("other").replace("Name: contour", "Name: theirs")
    other = gateway_class("theirs", controller="example.com/other") + gateway_of_theirs
    written = policy(patch(crd.LISTENER, "x"), target="kind: Gateway, name: other")
    it = world(configuration() + GIVEN + other + written)
    assert it.answer(STATUSES["EnvoyPatchPolicy"], key("p")) is None
