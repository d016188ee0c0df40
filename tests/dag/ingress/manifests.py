"""Short ways to write the manifests that the tests of Ingress need."""


def ingress(name: str, spec: str, created: str = "", annotations: str = "") -> str:
    """An Ingress, named `namespace/name` or `name`, with a specification in YAML flow style."""
    namespace, _, rest = name.rpartition("/")
    metadata = [f"name: {rest}", f"namespace: {namespace or 'default'}"]
    if created:
        metadata.append(f"creationTimestamp: '{created}'")
    if annotations:
        metadata.append(f"annotations: {{{annotations}}}")
    return f"""
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{{", ".join(metadata)}}}
spec: {{{spec}}}
"""


def backend(service: str, port: str = "number: 80") -> str:
    """A backend that is a Service."""
    return f"{{service: {{name: {service}, port: {{{port}}}}}}}"


def path(text: str, service: str, kind: str = "Prefix") -> str:
    """A path that leads to a Service."""
    return f"{{path: '{text}', pathType: {kind}, backend: {backend(service)}}}"


def rule(host: str, *paths: str) -> str:
    """A rule for a host; for every host if it is empty."""
    named = f"host: '{host}', " if host else ""
    return f"{{{named}http: {{paths: [{', '.join(paths)}]}}}}"


def ingress_class(name: str, controller: str, default: bool = False) -> str:
    """An IngressClass."""
    mark = "annotations: {ingressclass.kubernetes.io/is-default-class: 'true'}" if default else ""
    return f"""
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {{name: {name}, {mark}}}
spec: {{controller: {controller}}}
"""


def services(*names: str, port: str = "port: 80") -> str:
    """Services in the namespace `default`."""
    return "".join(
        f"""
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{ports: [{{{port}}}]}}
"""
        for name in names
    )


def configuration(spec: str) -> str:
    """The ContourConfiguration."""
    return f"""
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec: {{{spec}}}
"""
