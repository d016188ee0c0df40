"""Documents as a user writes them, small and valid: the tests change them or break them."""

from typing import Any

Document = dict[str, Any]


def httpproxy(**spec: Any) -> Document:
    return _document("projectcontour.io/v1", "HTTPProxy", spec or _HTTPPROXY)


def service(**spec: Any) -> Document:
    return _document("v1", "Service", spec or {"ports": [{"name": "http", "port": 80}]})


def ingress(**spec: Any) -> Document:
    return _document("networking.k8s.io/v1", "Ingress", spec or {"rules": [_INGRESS_RULE]})


def gateway(*listeners: Document, **spec: Any) -> Document:
    wanted = {"gatewayClassName": "contour", "listeners": list(listeners or [listener("http")])}
    return _document("gateway.networking.k8s.io/v1", "Gateway", wanted | spec)


def listener(name: str, **fields: Any) -> Document:
    return {"name": name, "port": 80, "protocol": "HTTP"} | fields


def httproute(*rules: Document, **spec: Any) -> Document:
    wanted = {"parentRefs": [{"name": "gateway"}], "rules": list(rules or [backends("web")])}
    return _document("gateway.networking.k8s.io/v1", "HTTPRoute", wanted | spec)


def backends(*names: str, **rule: Any) -> Document:
    return {"backendRefs": [{"name": it, "port": 80} for it in names]} | rule


def referencegrant() -> Document:
    sources = [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "web"}]
    spec = {"from": sources, "to": [{"group": "", "kind": "Service"}]}
    return _document("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", spec)


def gatewayclass() -> Document:
    spec = {"controllerName": "projectcontour.io/gateway-controller"}
    return _document("gateway.networking.k8s.io/v1", "GatewayClass", spec)


def delegation() -> Document:
    spec = {"delegations": [{"secretName": "certificate", "targetNamespaces": ["web"]}]}
    return _document("projectcontour.io/v1", "TLSCertificateDelegation", spec)


def contourconfiguration(**spec: Any) -> Document:
    wanted = spec or {"envoy": {"http": {"port": 8080}}, "gateway": {"controllerName": "a.b/c"}}
    return _document("projectcontour.io/v1alpha1", "ContourConfiguration", wanted)


def extensionservice(**spec: Any) -> Document:
    wanted = spec or {"services": [{"name": "auth", "port": 9000}], "protocol": "h2c"}
    return _document("projectcontour.io/v1alpha1", "ExtensionService", wanted)


def secret(**fields: Any) -> Document:
    return _plain("v1", "Secret", fields or {"type": "kubernetes.io/tls", "data": {"a": "YQ=="}})


def endpointslice() -> Document:
    fields = {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }
    return _plain("discovery.k8s.io/v1", "EndpointSlice", fields)


def ingressclass() -> Document:
    return _document("networking.k8s.io/v1", "IngressClass", {"controller": "a.b/c"})


def configmap() -> Document:
    return _plain("v1", "ConfigMap", {"data": {"ca.crt": "text"}, "binaryData": {"b": "YQ=="}})


def namespace() -> Document:
    return _plain("v1", "Namespace", {})


def grpcroute(*rules: Document, **spec: Any) -> Document:
    wanted = {"parentRefs": [{"name": "gateway"}], "rules": list(rules or [backends("web")])}
    return _document("gateway.networking.k8s.io/v1", "GRPCRoute", wanted | spec)


def streamroute(kind: str, *names: str, **spec: Any) -> Document:
    wanted = {"parentRefs": [{"name": "gateway"}], "rules": [backends(*(names or ("web",)))]}
    return _document("gateway.networking.k8s.io/v1", kind, wanted | spec)


def tlsroute(**spec: Any) -> Document:
    return streamroute("TLSRoute", **{"hostnames": ["example.com"]} | spec)


def backendtlspolicy(**validation: Any) -> Document:
    wanted = validation or {"hostname": "a.b", "wellKnownCACertificates": "System"}
    targets = [{"group": "", "kind": "Service", "name": "web"}]
    spec = {"targetRefs": targets, "validation": wanted}
    return _document("gateway.networking.k8s.io/v1", "BackendTLSPolicy", spec)


def listenerset(*listeners: Document, **spec: Any) -> Document:
    wanted = {"parentRef": {"name": "gateway"}, "listeners": list(listeners or [listener("http")])}
    return _document("gateway.networking.k8s.io/v1", "ListenerSet", wanted | spec)


def envoyconfig() -> Document:
    written = [{"type": "cluster", "value": {"name": "web", "connect_timeout": "1s"}}]
    spec = {"nodeID": "proxy", "resources": written}
    return _document("marin3r.3scale.net/v1alpha1", "EnvoyConfig", spec)


def authenticationfilter(**provider: Any) -> Document:
    wanted = {
        "name": "example",
        "issuer": "https://issuer.example.com",
        "audiences": ["example.com"],
        "remoteJwks": {"uri": "https://issuer.example.com/keys.json"},
        "claimToHeaders": [{"header": "x-subject", "claim": "sub"}],
    }
    spec = {"type": "JWT", "jwtProviders": [wanted | provider]}
    return _document("gateway.envoyproxy.io/v1alpha1", "AuthenticationFilter", spec)


def envoyproxy() -> Document:
    pod: Document = {"labels": {"team": "edge"}, "volumes": [{"name": "own", "emptyDir": {}}]}
    mounts = [{"name": "own", "mountPath": "/own"}]
    container: Document = {"volumeMounts": mounts, "resources": {"limits": {"cpu": 2}}}
    deployment = {"replicas": 2, "pod": pod, "container": container}
    kubernetes = {
        "envoyDeployment": deployment,
        "envoyHpa": {"minReplicas": 2, "maxReplicas": 5},
        "envoyPDB": {"maxUnavailable": "50%"},
        "envoyService": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24"]},
    }
    spec = {
        "provider": {"type": "Kubernetes", "kubernetes": kubernetes},
        "logging": {"level": {"default": "warn"}},
    }
    return _document("gateway.envoyproxy.io/v1alpha1", "EnvoyProxy", spec)


def ratelimitfilter() -> Document:
    headers = [{"name": "x-user", "value": "one"}, {"type": "Distinct", "name": "x-user-id"}]
    selectors = [{"headers": headers, "sourceCIDR": {"value": "192.0.2.0/24"}}]
    limited = {"clientSelectors": selectors, "limit": {"requests": 10, "unit": "Hour"}}
    spec = {"type": "Global", "global": {"rules": [limited]}}
    return _document("gateway.envoyproxy.io/v1alpha1", "RateLimitFilter", spec)


def httproutefilter() -> Document:
    replaced = {"pattern": "^/a/(.*)$", "substitution": "/\\1"}
    rewrite = {
        "hostname": {"type": "Header", "header": "x-host"},
        "appendXForwardedHost": False,
        "path": {"type": "ReplaceRegexMatch", "replaceRegexMatch": replaced},
    }
    body = {"type": "Inline", "inline": "gone"}
    answer = {"contentType": "text/plain", "statusCode": 404, "body": body}
    injected = {"overwrite": True, "credential": {"valueRef": {"name": "token"}}}
    spec = {
        "urlRewrite": rewrite,
        "directResponse": answer,
        "credentialInjection": injected,
    }
    return _document("gateway.envoyproxy.io/v1alpha1", "HTTPRouteFilter", spec)


def securitypolicy() -> Document:
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "api"}
    principal = {"clientCIDRs": ["10.0.0.0/8"], "headers": [{"name": "x-user", "values": ["a"]}]}
    keys = {"name": "one", "remoteJWKS": {"uri": "https://issuer.example.com/keys.json"}}
    spec = {
        "targetRefs": [target],
        "cors": {"allowOrigins": ["https://*.example.com"], "maxAge": "1m"},
        "jwt": {"providers": [keys], "optional": True},
        "authorization": {"rules": [{"action": "Allow", "principal": principal}]},
        "extAuth": {"grpc": {"backendRefs": [{"name": "deciding", "port": 9000}]}},
    }
    return _document("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", spec)


def trafficpolicy() -> Document:
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "api"}
    limit = {"limit": {"requests": 3, "unit": "Hour"}}
    spec = {
        "targetRefs": [target],
        "timeout": {"tcp": {"connectTimeout": "1s"}, "http": {"requestTimeout": "5s"}},
        "retry": {"numRetries": 3, "retryOn": {"httpStatusCodes": [503]}},
        "loadBalancer": {"type": "LeastRequest", "slowStart": {"window": "10s"}},
        "circuitBreaker": {"maxConnections": 10, "perEndpoint": {"maxConnections": 2}},
        "healthCheck": {"active": {"type": "HTTP", "http": {"path": "/"}}},
        "rateLimit": {"type": "Local", "local": {"rules": [limit]}},
        "requestBuffer": {"limit": "4Ki"},
        "responseOverride": [
            {"match": {"statusCodes": [{"type": "Value", "value": 404}]}, "response": {}}
        ],
    }
    return _document("gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy", spec)


def extensionpolicy() -> Document:
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "api"}
    spec = {"targetRefs": [target], "lua": [{"type": "Inline", "inline": "-- nothing"}]}
    return _document("gateway.envoyproxy.io/v1alpha1", "EnvoyExtensionPolicy", spec)


def clienttrafficpolicy() -> Document:
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gateway"}
    forwarded = {"trustedCIDRs": ["10.0.0.0/8"]}
    changes = {"add": [{"name": "x-a", "value": "b"}], "remove": ["x-b"]}
    spec = {
        "targetRefs": [target | {"sectionName": "https"}],
        "clientIPDetection": {"xForwardedFor": forwarded},
        "tls": {"minVersion": "1.2", "clientValidation": {"caCertificateRefs": [{"name": "ca"}]}},
        "headers": {"earlyRequestHeaders": changes, "requestID": "Preserve"},
        "timeout": {"http": {"requestReceivedTimeout": "2s"}},
        "connection": {"connectionLimit": {"value": 5}, "bufferLimit": "32Ki"},
    }
    return _document("gateway.envoyproxy.io/v1alpha1", "ClientTrafficPolicy", spec)


def envoyconfigrevision() -> Document:
    spec = envoyconfig()["spec"] | {"version": "1a2b3c4d"}
    return _document("marin3r.3scale.net/v1alpha1", "EnvoyConfigRevision", spec)


def definition() -> Document:
    return _document("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"group": "a.example"})


def trustbundle() -> Document:
    spec = {"signerName": "a.example/signer", "trustBundle": "-----BEGIN CERTIFICATE-----"}
    return _document("certificates.k8s.io/v1", "ClusterTrustBundle", spec)


def telemetrypolicy(**tracing: Any) -> Document:
    collector = {"backendRef": {"name": "collector", "port": 4317}}
    targets = [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gateway"}]
    spec = {"targetRefs": targets, "tracing": {"mode": "Enabled", "provider": collector} | tracing}
    return _document("gateway.networking.x-k8s.io/v1alpha1", "XTelemetryPolicy", spec)


def xbackend(**spec: Any) -> Document:
    of = {"type": "ExternalHostname", "externalHostname": {"hostname": "far.example.com"}}
    port: Document = {"port": {"number": 443}}
    return _document("gateway.networking.x-k8s.io/v1alpha1", "XBackend", of | port | spec)


def xbackendtrafficpolicy(**spec: Any) -> Document:
    targets = [{"group": "", "kind": "Service", "name": "s1"}]
    rate = {"count": 10, "interval": "1s"}
    asked = {"budget": {"percent": 20, "interval": "10s"}, "minRetryRate": rate}
    of = {"targetRefs": targets, "retryConstraint": asked}
    return _document("gateway.networking.x-k8s.io/v1alpha1", "XBackendTrafficPolicy", of | spec)


def backend() -> Document:
    names = [{"fqdn": {"hostname": "far.example.com", "port": 443}}]
    return _document("gateway.envoyproxy.io/v1alpha1", "Backend", {"endpoints": names})


def patchpolicy() -> Document:
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gateway"}
    operation = {"op": "replace", "path": "/connect_timeout", "value": "2s"}
    cluster = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
    patch = {"type": cluster, "name": "default/web/80", "operation": operation}
    spec = {"type": "JSONPatch", "targetRef": target, "jsonPatches": [patch]}
    return _document("gateway.envoyproxy.io/v1alpha1", "EnvoyPatchPolicy", spec)


def of_every_kind() -> list[Document]:
    return [
        httpproxy(), service(), ingress(), gateway(), httproute(), referencegrant(),
        grpcroute(), tlsroute(), streamroute("TCPRoute"), streamroute("UDPRoute"),
        backendtlspolicy(), listenerset(),
        gatewayclass(), delegation(), contourconfiguration(), secret(), endpointslice(),
        ingressclass(), configmap(), namespace(), extensionservice(), definition(),
        envoyconfig(), envoyconfigrevision(), authenticationfilter(), ratelimitfilter(),
        httproutefilter(),
        envoyproxy(), trustbundle(), securitypolicy(), telemetrypolicy(),
        xbackend(), xbackendtrafficpolicy(), backend(), patchpolicy(),
        clienttrafficpolicy(), trafficpolicy(), extensionpolicy(),
    ]  # fmt: skip


def _document(version: str, kind: str, spec: Document) -> Document:
    return _plain(version, kind, {"spec": spec})


def _plain(version: str, kind: str, fields: Document) -> Document:
    metadata = {"name": "it", "namespace": "web", "labels": {"a": "b"}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


_HTTPPROXY = {
    "virtualhost": {"fqdn": "example.com", "tls": {"secretName": "certificate"}},
    "routes": [
        {
            "conditions": [{"prefix": "/api"}, {"header": {"name": "X-A", "contains": "b"}}],
            "services": [{"name": "api", "port": 80, "weight": 3}],
            "timeoutPolicy": {"response": "30s"},
            "requestHeadersPolicy": {"set": [{"name": "X-B", "value": "c"}]},
        },
        {"requestRedirectPolicy": {"hostname": "example.org", "statusCode": 301}},
    ],
    "includes": [{"name": "child", "namespace": "team", "conditions": [{"prefix": "/child"}]}],
}
_INGRESS_RULE = {
    "host": "example.com",
    "http": {
        "paths": [
            {
                "path": "/",
                "pathType": "Prefix",
                "backend": {"service": {"name": "web", "port": {"number": 80}}},
            }
        ]
    },
}
