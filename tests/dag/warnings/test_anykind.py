"""What is told of objects of any kind: on each in the form that its status has."""

import pytest

from contour.status import rendering
from crds.kinds import KINDS
from crds.meta import ObjectRef
from dag import tables
from dag.plan import STATUSES
from dag.rawconfig import content
from dag.rawconfig.content import Content, Reading
from tests.dag import world
from tests.dag.gateway import manifests as gateways
from tests.dag.httpproxy import manifests as proxies
from tests.dag.ingress import manifests as ingresses
from tests.testbed import pairs

RAW = tuple(gateways.listener(it.lower(), port, it) for it, port in (("TCP", 91), ("UDP", 92)))
STREAMS = (*RAW, gateways.listener("tls", 443, "TLS", "tls: {mode: Passthrough}"))
ALLOWED = "allowedListeners: {namespaces: {from: Same}}"
TO = "{name: s1, port: 80}"
LIMITED = (
    f"{{backendRefs: [{TO}], filters: [{{type: ExtensionRef, extensionRef: "
    "{group: gateway.envoyproxy.io, kind: RateLimitFilter, name: it}}]}"
)
XBACKEND = "type: ExternalHostname, externalHostname: {hostname: a.com}, port: {number: 80}"
FARTHER = "{group: gateway.envoyproxy.io, kind: Backend, name: it}"
FAR = "{group: gateway.networking.x-k8s.io, kind: XBackend, name: it}"
ONE_OF_EACH = "".join(
    (
        gateways.service("s1"),
        pairs.secret("cert"),
        gateways.configuration("ingress: {}, enableBackend: true", "default/it"),
        gateways.with_field(
            gateways.gateway_class("it"),
            "parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: it, "
            "namespace: default}",
        ),
        gateways.gateway("it", gateways.http(), *STREAMS, rest=ALLOWED).replace(
            "gatewayClassName: contour", "gatewayClassName: it"
        ),
        gateways.listener_set("it", gateways.http("more", port=81), parent="{name: it}"),
        gateways.route("it", LIMITED, parents="{name: it}"),
        gateways.route("it", parents="{name: it}").replace("HTTPRoute", "GRPCRoute"),
        *(
            gateways.stream_route(f"{kind}Route", "it", TO, "[a.com]" * (kind == "TLS")).replace(
                "{name: gw}", "{name: it}"
            )
            for kind in ("TLS", "TCP", "UDP")
        ),
        gateways.route("far", gateways.to(FAR), parents="{name: it}"),
        gateways.route("farther", gateways.to(FARTHER), parents="{name: it}"),
        gateways.policy("it", "hostname: a.com, wellKnownCACertificates: System"),
        gateways.telemetry_policy("it", f"mode: Enabled, provider: {{backendRef: {TO}}}", ("it",)),
        gateways.xbackend("it", XBACKEND),
        gateways.xbackend_traffic_policy("it", "retryConstraint: {}"),
        proxies.root("it", f"routes: [{proxies.to('s1')}]"),
        ingresses.ingress("it", f"defaultBackend: {ingresses.backend('s1')}"),
        """
---
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: it, namespace: default}
spec: {delegations: [{secretName: cert, targetNamespaces: [a]}]}
---
apiVersion: projectcontour.io/v1alpha1
kind: ExtensionService
metadata: {name: it, namespace: default}
spec: {services: [{name: s1, port: 80}]}
---
apiVersion: marin3r.3scale.net/v1alpha1
kind: EnvoyConfig
metadata: {name: it, namespace: default}
spec: {nodeID: it, resources: []}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyProxy
metadata: {name: it, namespace: default}
spec: {}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: it, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: GRPCRoute, name: it}]
  cors: {allowOrigins: ["*"]}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: it, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: UDPRoute, name: it}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyExtensionPolicy
metadata: {name: it, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: TCPRoute, name: it}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: it, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: it}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: it, namespace: default}
spec: {endpoints: [{fqdn: {hostname: a.com, port: 80}}]}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyPatchPolicy
metadata: {name: it, namespace: default}
spec:
  type: JSONPatch
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: it}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: RateLimitFilter
metadata: {name: it, namespace: default}
spec: {type: Global, global: {rules: [{limit: {requests: 1, unit: Second}}]}}
""",
    )
)

TEXT = "spec.later: unknown field"


REVISION = "EnvoyConfigRevision"
"""Its status is written by whoever writes the object (`contour.discovery`)."""
TOLD = [it.kind for it in KINDS.values() if it.has_status and it.kind != REVISION]


@pytest.mark.parametrize("kind", TOLD)
def test_a_field_that_is_not_known_is_told_on_objects_of_every_kind(kind: str) -> None:
    engine = world.world(ONE_OF_EACH)
    key = world.key("/it" if kind == "GatewayClass" else "it")
    engine.write(content.READINGS, world.key("it"), Reading("it", "1", Content("it", "1", ())))
    engine.settle()
    before = engine.answer(STATUSES[kind], key)
    assert before is not None
    engine.write(tables.UNKNOWN_FIELDS, ObjectRef(kind, *key), (TEXT,))
    engine.settle()
    found = engine.answer(STATUSES[kind], key)
    assert found is not None
    told = str(found) if kind == "Ingress" else str(rendering.status(found))
    assert told.count(TEXT) == 1
    engine.write(tables.UNKNOWN_FIELDS, ObjectRef(kind, *key), None)
    engine.settle()
    assert engine.answer(STATUSES[kind], key) == before
