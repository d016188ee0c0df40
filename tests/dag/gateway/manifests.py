"""Short ways to write the manifests that the tests of the Gateway API need."""

CONTROLLER = "projectcontour.io/gateway-controller"


def gateway_class(name: str = "contour", created: str = "", controller: str = CONTROLLER) -> str:
    """A GatewayClass, of our controller unless another is named."""
    return _manifest("GatewayClass", name, f"controllerName: {controller}", created, cluster=True)


def gateway(name: str, *listeners: str, rest: str = "", created: str = "") -> str:
    """A Gateway of the class `contour`; plain HTTP on port 80 if no listener is given."""
    spec = f"gatewayClassName: contour, listeners: [{', '.join(listeners or (http(),))}]"
    return _manifest("Gateway", name, f"{spec}{', ' + rest if rest else ''}", created)


def listener_set(name: str, *listeners: str, parent: str = "{name: gw}", created: str = "") -> str:
    """A ListenerSet of the Gateway `gw`."""
    spec = f"parentRef: {parent}, listeners: [{', '.join(listeners)}]"
    return _manifest("ListenerSet", name, spec, created)


def http(name: str = "http", rest: str = "", port: int = 80) -> str:
    """A listener for plain HTTP."""
    return listener(name, port, "HTTP", rest)


def https(name: str = "https", secret: str = "cert", rest: str = "", port: int = 443) -> str:
    """A listener for TLS, with a certificate given as `namespace/name` or `name`."""
    namespace, _, own = secret.rpartition("/")
    reference = f"{{name: {own}{', namespace: ' + namespace if namespace else ''}}}"
    tls = f"tls: {{certificateRefs: [{reference}]}}"
    return listener(name, port, "HTTPS", f"{tls}{', ' + rest if rest else ''}")


def listener(name: str, port: int, protocol: str, rest: str = "") -> str:
    """A listener of a Gateway."""
    end = f", {rest}" if rest else ""
    return f"{{name: {name}, port: {port}, protocol: {protocol}{end}}}"


def host(name: str) -> str:
    """The host of a listener."""
    return f"hostname: '{name}'"


ALL = "allowedRoutes: {namespaces: {from: All}}"
"""Routes of every namespace."""


def route(
    name: str,
    *rules: str,
    hosts: tuple[str, ...] = (),
    parents: str = "{name: gw}",
    created: str = "",
) -> str:
    """An HTTPRoute of the Gateway `gw`; to Service `s1` if no rule is given."""
    names = ", ".join(f"'{it}'" for it in hosts)
    spec = (
        f"parentRefs: [{parents}], hostnames: [{names}], rules: [{', '.join(rules or (to('s1'),))}]"
    )
    return _manifest("HTTPRoute", name, spec, created)


def with_field(manifest: str, field: str) -> str:
    """A manifest with one more field of its spec."""
    return manifest.replace("spec: {", f"spec: {{{field}, ", 1)


def stream_route(kind: str, name: str, backend: str, hosts: str = "", created: str = "") -> str:
    """A TLSRoute, TCPRoute or UDPRoute of the Gateway `gw`."""
    names = f"hostnames: {hosts}, " if hosts else ""
    spec = f"parentRefs: [{{name: gw}}], {names}rules: [{{backendRefs: [{backend}]}}]"
    return _manifest(kind, name, spec, created)


def to(service: str, rest: str = "") -> str:
    """A rule that sends everything to port 80 of a Service, given as YAML or by its name."""
    reference = service if service.startswith("{") else f"{{name: {service}, port: 80}}"
    return f"{{backendRefs: [{reference}]{', ' + rest if rest else ''}}}"


def on(path: str, service: str, rest: str = "") -> str:
    """A rule for a path prefix."""
    return to(service, f"matches: [{{path: {{value: {path}}}}}]{', ' + rest if rest else ''}")


def service(name: str, namespace: str = "default", port: str = "port: 80") -> str:
    """A Service with one port."""
    return f"""
---
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{ports: [{{{port}}}]}}
"""


def policy(
    name: str, validation: str, target: str = "s1", section: str = "", created: str = ""
) -> str:
    """A BackendTLSPolicy for a Service, or one port of it."""
    own = f", sectionName: {section}" if section else ""
    reference = f"{{group: '', kind: Service, name: {target}{own}}}"
    spec = f"targetRefs: [{reference}], validation: {{{validation}}}"
    return _manifest("BackendTLSPolicy", name, spec, created)


def namespace(name: str, labels: str = "") -> str:
    """A Namespace with labels."""
    return f"""
---
apiVersion: v1
kind: Namespace
metadata: {{name: {name}, labels: {{{labels}}}}}
"""


def grant(
    name: str,
    namespace_: str,
    from_: str = "group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default",
    to_: str = "group: '', kind: Service",
) -> str:
    """A ReferenceGrant with one `from` and one `to`."""
    return f"""
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {{name: {name}, namespace: {namespace_}}}
spec: {{from: [{{{from_}}}], to: [{{{to_}}}]}}
"""


def configuration(spec: str, name: str = "projectcontour/contour") -> str:
    """A ContourConfiguration that serves the Gateway API."""
    namespace_, _, own = name.rpartition("/")
    found = spec if "gateway:" in spec else f"gateway: {{}}, {spec}"
    return f"""
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: {own}, namespace: {namespace_ or "default"}}}
spec: {{{found}}}
"""


def _manifest(kind: str, name: str, spec: str, created: str, cluster: bool = False) -> str:
    namespace_, _, own = name.rpartition("/")
    metadata = [f"name: {own}"]
    if not cluster:
        metadata.append(f"namespace: {namespace_ or 'default'}")
    if created:
        metadata.append(f"creationTimestamp: '2026-01-01T00:00:{created}Z'")
    return f"""
---
apiVersion: gateway.networking.k8s.io/v1
kind: {kind}
metadata: {{{", ".join(metadata)}}}
spec: {{{spec}}}
"""


def telemetry_policy(
    name: str, tracing: str, targets: tuple[str, ...] = ("gw",), created: str = ""
) -> str:
    """An XTelemetryPolicy for Gateways."""
    group = "gateway.networking.k8s.io"
    named = ", ".join(f"{{group: {group}, kind: Gateway, name: {it}}}" for it in targets)
    spec = f"targetRefs: [{named}], tracing: {{{tracing}}}"
    found = _manifest("XTelemetryPolicy", name, spec, created)
    return found.replace("gateway.networking.k8s.io/v1", "gateway.networking.x-k8s.io/v1alpha1", 1)


def xbackend(name: str, spec: str) -> str:
    """An XBackend."""
    found = _manifest("XBackend", name, spec, "")
    return found.replace("gateway.networking.k8s.io/v1", "gateway.networking.x-k8s.io/v1alpha1", 1)


def xbackend_traffic_policy(
    name: str, spec: str, targets: tuple[str, ...] = ("s1",), created: str = ""
) -> str:
    """An XBackendTrafficPolicy for Services, or for what is written as a reference."""
    named = (it if "{" in it else f"{{group: '', kind: Service, name: {it}}}" for it in targets)
    both = ", ".join(filter(None, (f"targetRefs: [{', '.join(named)}]", spec)))
    found = _manifest("XBackendTrafficPolicy", name, both, created)
    return found.replace("gateway.networking.k8s.io/v1", "gateway.networking.x-k8s.io/v1alpha1", 1)


def backend(name: str, spec: str) -> str:
    """A Backend of Envoy Gateway."""
    found = _manifest("Backend", name, spec, "")
    return found.replace("gateway.networking.k8s.io/v1", "gateway.envoyproxy.io/v1alpha1", 1)
