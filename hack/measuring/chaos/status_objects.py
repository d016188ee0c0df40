"""Objects whose statuses a leader writes: one of each kind, and the objects that they refer to."""

from collections.abc import Mapping

ADDRESS = "192.0.2.7"
"""The address that statuses report for Envoys."""

_GATEWAY_API = "gateway.networking.k8s.io"
_EXPERIMENTAL = "gateway.networking.x-k8s.io/v1alpha1"
_ENVOY_GATEWAY = "gateway.envoyproxy.io/v1alpha1"

EXTENSION_POLICIES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "envoyextensionpolicies.gateway.envoyproxy.io"},
    "spec": {
        "group": "gateway.envoyproxy.io",
        "scope": "Namespaced",
        "names": {"kind": "EnvoyExtensionPolicy", "plural": "envoyextensionpolicies"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
"""A CRD, without a real schema, of the Envoy Gateway kind that we read but have no CRD of."""

BASE = f"""
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour}}
spec:
  gateway:
    controllerName: projectcontour.io/gateway-controller
    envoyPatchPolicies: {{namespaces: [projectcontour]}}
  ingress: {{statusAddress: {ADDRESS}}}
  enableBackend: true
  discovery: {{}}
---
apiVersion: {_GATEWAY_API}/v1
kind: GatewayClass
metadata: {{name: base}}
spec:
  controllerName: projectcontour.io/gateway-controller
  parametersRef:
    {{group: gateway.envoyproxy.io, kind: EnvoyProxy, namespace: projectcontour, name: it}}
---
apiVersion: {_GATEWAY_API}/v1
kind: Gateway
metadata: {{name: base}}
spec:
  gatewayClassName: base
  allowedListeners: {{namespaces: {{from: All}}}}
  listeners:
    - {{name: http, port: 80, protocol: HTTP}}
    - {{name: tls, port: 8443, protocol: TLS, tls: {{mode: Passthrough}}}}
    - {{name: tcp, port: 9000, protocol: TCP}}
    - {{name: udp, port: 9001, protocol: UDP}}
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec: {{ports: [{{name: http, port: 80}}]}}
---
apiVersion: {_GATEWAY_API}/v1
kind: HTTPRoute
metadata: {{name: base}}
spec:
  parentRefs: [{{name: base}}]
  rules:
    - backendRefs: [{{name: web, port: 80}}]
    - matches: [{{path: {{value: /far}}}}]
      backendRefs: [{{group: gateway.networking.x-k8s.io, kind: XBackend, name: it}}]
    - matches: [{{path: {{value: /limited}}}}]
      filters:
        - type: ExtensionRef
          extensionRef: {{group: gateway.envoyproxy.io, kind: RateLimitFilter, name: it}}
      backendRefs: [{{group: gateway.envoyproxy.io, kind: Backend, name: it}}]
"""


def other(kind: str, name: str) -> str:
    """One more HTTPProxy or TLSCertificateDelegation, which depends on nothing else."""
    specs = {
        "HTTPProxy": f"{{virtualhost: {{fqdn: {name}.example.com}}}}",
        "TLSCertificateDelegation": "{delegations: [{secretName: a, targetNamespaces: [b]}]}",
    }
    return _one("projectcontour.io/v1", kind, specs[kind], name)


def _one(version: str, kind: str, spec: str, name: str = "it") -> str:
    start = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\n"
    return f"{start}spec: {spec}\n"


def _core(kind: str, spec: str) -> str:
    return _one(f"{_GATEWAY_API}/v1", kind, spec)


def _route(kind: str, listener: str, rest: str = "") -> str:
    parents = f"parentRefs: [{{name: base, sectionName: {listener}}}]"
    rules = "rules: [{backendRefs: [{name: web, port: 80}]}]"
    return _core(kind, f"{{{parents}, {rest}{rules}}}")


def _policy(kind: str, spec: str, target: str = "HTTPRoute") -> str:
    targets = f"targetRefs: [{{group: {_GATEWAY_API}, kind: {target}, name: base}}]"
    return _one(_ENVOY_GATEWAY, kind, f"{{{targets}, {spec}}}")


def _envoyconfig(name: str) -> str:
    spec = (
        f"{{nodeID: {name}, resources: "
        "[{type: cluster, value: {name: web, connect_timeout: 1s}}]}"
    )
    return _one("marin3r.3scale.net/v1alpha1", "EnvoyConfig", spec, name)


_ON_SERVICE = 'targetRefs: [{group: "", kind: Service, name: web}]'
_ON_GATEWAY = f"targetRefs: [{{group: {_GATEWAY_API}, kind: Gateway, name: base}}]"

MADE: Mapping[str, str] = {
    "HTTPProxy": other("HTTPProxy", "it"),
    "TLSCertificateDelegation": other("TLSCertificateDelegation", "it"),
    "ExtensionService": _one(
        "projectcontour.io/v1alpha1", "ExtensionService", "{services: [{name: web, port: 80}]}"
    ),
    "ContourConfiguration": BASE.split("---", maxsplit=1)[0].replace(
        "enableBackend: true", "enableBackend: true\n  envoy: {network: {numTrustedHops: 1}}"
    ),
    "Ingress": _one(
        "networking.k8s.io/v1",
        "Ingress",
        "{defaultBackend: {service: {name: web, port: {number: 80}}}}",
    ),
    "GatewayClass": _core("GatewayClass", "{controllerName: projectcontour.io/gateway-controller}"),
    "Gateway": _core(
        "Gateway",
        "{gatewayClassName: base, listeners: [{name: http, port: 8080, protocol: HTTP}]}",
    ),
    "ListenerSet": _core(
        "ListenerSet",
        "{parentRef: {name: base}, listeners: [{name: more, port: 81, protocol: HTTP}]}",
    ),
    "HTTPRoute": _route("HTTPRoute", "http"),
    "GRPCRoute": _route("GRPCRoute", "http"),
    "TLSRoute": _route("TLSRoute", "tls", "hostnames: [a.example.com], "),
    "TCPRoute": _route("TCPRoute", "tcp"),
    "UDPRoute": _route("UDPRoute", "udp"),
    "BackendTLSPolicy": _core(
        "BackendTLSPolicy",
        f"{{{_ON_SERVICE}, validation: {{hostname: a.b, wellKnownCACertificates: System}}}}",
    ),
    "XBackend": _one(
        _EXPERIMENTAL,
        "XBackend",
        "{type: ExternalHostname, externalHostname: {hostname: far.example.com},"
        " port: {number: 443}}",
    ),
    "XBackendTrafficPolicy": _one(
        _EXPERIMENTAL,
        "XBackendTrafficPolicy",
        f"{{{_ON_SERVICE}, retryConstraint: {{budget: {{percent: 20, interval: 10s}},"
        " minRetryRate: {count: 10, interval: 1s}}}",
    ),
    "XTelemetryPolicy": _one(
        _EXPERIMENTAL,
        "XTelemetryPolicy",
        f"{{{_ON_GATEWAY}, tracing: {{mode: Enabled, provider:"
        " {backendRef: {name: web, port: 80}}}}",
    ),
    "EnvoyConfig": _envoyconfig("it"),
    "EnvoyConfigRevision": _envoyconfig("revised"),
    "Backend": _one(
        _ENVOY_GATEWAY, "Backend", "{endpoints: [{fqdn: {hostname: far.example.com, port: 80}}]}"
    ),
    "RateLimitFilter": _one(
        _ENVOY_GATEWAY,
        "RateLimitFilter",
        "{type: Global, global: {rules: [{limit: {requests: 10, unit: Hour}}]}}",
    ),
    "EnvoyProxy": _one(_ENVOY_GATEWAY, "EnvoyProxy", "{logging: {level: {default: warn}}}"),
    "EnvoyPatchPolicy": _one(
        _ENVOY_GATEWAY,
        "EnvoyPatchPolicy",
        f"{{type: JSONPatch, targetRef: {{group: {_GATEWAY_API}, kind: Gateway, name: base}},"
        " jsonPatches: [{type: type.googleapis.com/envoy.config.cluster.v3.Cluster,"
        " name: projectcontour/web/80,"
        " operation: {op: replace, path: /connect_timeout, value: 2s}}]}",
    ),
    "SecurityPolicy": _policy("SecurityPolicy", "cors: {allowOrigins: [https://a.example.com]}"),
    "BackendTrafficPolicy": _policy(
        "BackendTrafficPolicy", "timeout: {http: {requestTimeout: 5s}}"
    ),
    "ClientTrafficPolicy": _policy(
        "ClientTrafficPolicy", "connection: {bufferLimit: 32Ki}", "Gateway"
    ),
    "EnvoyExtensionPolicy": _policy(
        "EnvoyExtensionPolicy", 'lua: [{type: Inline, inline: "-- nothing"}]'
    ),
}
"""By kind: the objects to write so that one of this kind gets a status."""
