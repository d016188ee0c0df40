"""Short ways to write the manifests that the tests of HTTPProxy need."""


def services(*names: str, namespace: str = "default") -> str:
    """Services that listen on port 80."""
    return "".join(
        f"""
---
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{ports: [{{port: 80}}]}}
"""
        for name in names
    )


def proxy(name: str, spec: str, created: str = "", annotations: str = "") -> str:
    """An HTTPProxy, named `namespace/name` or `name`, with a specification in YAML flow style."""
    namespace, _, rest = name.rpartition("/")
    metadata = [f"name: {rest}", f"namespace: {namespace or 'default'}"]
    if created:
        metadata.append(f"creationTimestamp: '{created}'")
    if annotations:
        metadata.append(f"annotations: {{{annotations}}}")
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{{", ".join(metadata)}}}
spec: {{{spec}}}
"""


def root(name: str, rest: str, fqdn: str = "a.com", **others: str) -> str:
    """An HTTPProxy with a virtual host."""
    return proxy(name, f"virtualhost: {{fqdn: {fqdn}}}, {rest}", **others)


def tls_root(name: str, rest: str, secret: str = "cert", fqdn: str = "a.com") -> str:
    """An HTTPProxy whose virtual host is served over TLS."""
    return proxy(name, f"virtualhost: {{fqdn: {fqdn}, tls: {{secretName: {secret}}}}}, {rest}")


def to(service: str, rest: str = "") -> str:
    """A route to a Service."""
    return f"{{services: [{{name: {service}, port: 80}}]{', ' + rest if rest else ''}}}"


def on(prefix: str, service: str, rest: str = "") -> str:
    """A route for a prefix to a Service."""
    return to(service, f"conditions: [{{prefix: {prefix}}}]{', ' + rest if rest else ''}")


def configuration(spec: str) -> str:
    """The ContourConfiguration."""
    return f"""
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec: {{{spec}}}
"""


def extension(name: str, rest: str = "protocol: h2c", service: str = "s3") -> str:
    """An ExtensionService, named `namespace/name` or `name`."""
    namespace, _, own = name.rpartition("/")
    return f"""
---
apiVersion: projectcontour.io/v1alpha1
kind: ExtensionService
metadata: {{name: {own}, namespace: {namespace or "default"}}}
spec: {{services: [{{name: {service}, port: 80}}], {rest}}}
"""
