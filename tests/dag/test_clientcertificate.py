"""The client certificate of the configuration: who is told while Envoy cannot show it."""

from tests.dag.httpproxy.manifests import configuration, extension, root, services
from tests.dag.world import apply, messages, problems, world
from tests.testbed import pairs

CONFIGURED = configuration("envoy: {clientCertificate: {name: own, namespace: default}}")
SECURE = """
---
apiVersion: v1
kind: Service
metadata: {name: tls, annotations: {projectcontour.io/upstream-protocol.tls: "443"}}
spec: {ports: [{port: 443}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i}
spec: {defaultBackend: {service: {name: tls, port: {number: 443}}}}
"""
TLS = "{services: [{name: tls, port: 443}, {name: s1, port: 80, weight: 1}]}"
TOLD = [
    ("HTTPProxy", "web", "spec.routes[0].services[0]"),
    ("Ingress", "i", "spec.defaultBackend.service"),
    ("ExtensionService", "auth", "spec.services"),
]


def test_services_over_tls_are_not_reached_and_their_owners_are_told() -> None:
    written = root("web", f"routes: [{TLS}]") + extension("auth", "")
    it = world(services("s1", "s3") + CONFIGURED + SECURE + written)
    for kind, name, path in TOLD:
        assert messages(it, kind, name) == [
            f"TLSError/SecretNotValid: {path}: no connection is opened: the client certificate of "
            "the configuration cannot be used (Secret default/own not found)"
        ]
    apply(it, pairs.secret("own"))
    assert [problems(it, kind, name) for kind, name, _ in TOLD] == [[], [], []]
