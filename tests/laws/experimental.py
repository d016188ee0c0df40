"""Random objects of the experimental channel of the Gateway API, and references to them."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from crds.gateway.references import EXPERIMENTAL_GROUP, LocalObjectReference
from tests.laws.gateways import GROUP, NAMESPACES, Document
from tests.laws.histories import Step
from tests.testbed import pairs

_BUNDLE = LocalObjectReference(group="certificates.k8s.io", kind="ClusterTrustBundle", name="n1")


def _xbackend(chance: Random) -> Document:
    spec: Document = {"type": "ExternalHostname", "port": {"number": chance.choice((80, 443))}}
    host = chance.choice(("x.com", "y.com", "w.x.com", "localhost"))
    spec["externalHostname"] = {"hostname": host}
    if protocol := chance.choice(("", "", "", "HTTP11", "TCP", "MCP")):
        spec["protocol"] = protocol
    if chance.random() < 0.5:
        names = chance.sample(("n1", "n2"), chance.choice((1, 2)))
        refs = [{"group": _BUNDLE.group, "kind": _BUNDLE.kind, "name": it} for it in names]
        validation = {"hostname": host, "caCertificateRefs": refs}
        spec["tls"] = {"mode": "ServerOnly", "validation": validation}
        if chance.random() < 0.5:
            reference = {"name": chance.choice(("c1", "c2"))}
            spec["tls"] |= {"mode": "ClientAndServer", "clientCertificateRef": reference}
    return {"spec": spec}


def _telemetry_policy(chance: Random) -> Document:
    names = chance.sample(("g1", "g2"), chance.choice((1, 2)))
    targets = [{"group": GROUP, "kind": "Gateway", "name": it} for it in names]
    service = {"name": chance.choice(("s1", "s2")), "port": chance.choice((80, 99))}
    backend = {"group": EXPERIMENTAL_GROUP, "kind": "XBackend", "name": "e1"}
    tracing: Document = {"mode": chance.choice(("Enabled", "Enabled", "Disabled"))}
    if tracing["mode"] == "Enabled":
        tracing["provider"] = {"backendRef": chance.choice((service, backend))}
    return {"spec": {"targetRefs": targets, "tracing": tracing}}


def _backend_traffic_policy(chance: Random) -> Document:
    kinds = (("", "Service", "s1"), ("", "Service", "s2"), (EXPERIMENTAL_GROUP, "XBackend", "e1"))
    targets = [
        dict(zip(("group", "kind", "name"), it, strict=True))
        for it in chance.sample(kinds, chance.choice((1, 2)))
    ]
    spec: Document = {"targetRefs": targets}
    if chance.random() < 0.7:
        spec["retryConstraint"] = {"budget": {"percent": chance.choice((0, 50))}}
    if chance.random() < 0.5:
        path = chance.choice(("/", "/", ";"))
        spec["sessionPersistence"] = {"cookie": {"path": path}}
    return {"spec": spec}


def _trust_bundle(chance: Random) -> Document:
    chain = pairs.pair(chance.randrange(2))[0].decode()
    return {"spec": {"trustBundle": chain if chance.random() < 0.8 else "nothing"}}


_X = f"{EXPERIMENTAL_GROUP}/v1alpha1"
KINDS: tuple[tuple[str, str, tuple[str, ...], bool, Callable[[Random], Document]], ...] = (
    ("XBackend", _X, ("e1", "e2"), True, _xbackend),
    ("XTelemetryPolicy", _X, ("f1", "f2"), True, _telemetry_policy),
    ("XBackendTrafficPolicy", _X, ("b1", "b2"), True, _backend_traffic_policy),
    ("ClusterTrustBundle", "certificates.k8s.io/v1", ("n1", "n2"), False, _trust_bundle),
)


_CONTROLLER = "projectcontour.io/gateway-controller"
_HTTP: Document = {"name": "h1", "port": 80, "protocol": "HTTP"}
_LEADING: Document = {
    "parentRefs": [{"name": "g1"}],
    "rules": [{"backendRefs": [{"group": EXPERIMENTAL_GROUP, "kind": "XBackend", "name": "e1"}]}],
}
_GROUND: tuple[tuple[str, str, str, Document], ...] = (
    (f"{GROUP}/v1", "GatewayClass", "k1", {"controllerName": _CONTROLLER}),
    (f"{GROUP}/v1", "Gateway", "g1", {"gatewayClassName": "k1", "listeners": [_HTTP]}),
    (f"{GROUP}/v1", "HTTPRoute", "r1", _LEADING),
    (
        "projectcontour.io/v1alpha1",
        "ContourConfiguration",
        "contour",
        {"enableExternalNameService": True, "gateway": {"controllerName": _CONTROLLER}},
    ),
)


def ground() -> list[Document]:
    """What lets an XBackend be reached, older than everything else."""
    old = {"creationTimestamp": "2025-01-01T00:00:00Z"}
    return [
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": name}
            | old
            | ({} if kind == "GatewayClass" else {"namespace": "a"}),
            "spec": spec,
        }
        for version, kind, name, spec in _GROUND
    ]


def document(chance: Random) -> Document:
    """An object of one of the kinds."""
    kind, version, names, is_namespaced, made = chance.choice(KINDS)
    metadata: Document = {"name": chance.choice(names)}
    if is_namespaced:
        metadata["namespace"] = chance.choice(NAMESPACES)
    metadata["creationTimestamp"] = f"2026-01-01T00:00:0{chance.randrange(9)}Z"
    return {"apiVersion": version, "kind": kind, "metadata": metadata} | made(chance)


def referring(step: Step, chance: Random) -> Step:
    """The same, perhaps with references to such objects."""
    if step.object is None or chance.random() < 0.2:
        return step
    if step.kind.kind.endswith("Route"):
        spec: Any = step.object.spec
        rules = tuple(_leading(it, chance) for it in spec.rules)
        return _with(step, replace(spec, rules=rules))
    if step.kind.kind == "BackendTLSPolicy":
        spec = step.object.spec
        validation = spec.validation
        if validation.ca_certificate_refs:
            validation = replace(validation, ca_certificate_refs=(_BUNDLE,))
        return _with(step, replace(spec, validation=validation))
    return step


def _with(step: Step, spec: Any) -> Step:
    found: Any = step.object
    return step._replace(object=replace(found, spec=spec))


def _leading(rule: Any, chance: Random) -> Any:
    name = {"group": EXPERIMENTAL_GROUP, "kind": "XBackend", "name": chance.choice(("e1", "e2"))}
    port = {} if chance.random() < 0.9 else {"port": 80}
    found = tuple(
        replace(it, **({"port": None} | name | port)) if chance.random() < 0.7 else it
        for it in rule.backend_refs
    )
    return replace(rule, backend_refs=found)
