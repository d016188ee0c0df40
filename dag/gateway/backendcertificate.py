"""The certificate that a Gateway shows to backends spoken to by TLS (GEP-3155)."""

from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import View, query
from dag.gateway import certificates
from dag.problems import Problem
from dag.problems import gateway as problems


@query
def found(view: View, gateway: NamespacedName) -> NamespacedName | Problem | None:
    """The Secret, or why it cannot serve; None where none is given."""
    spec = view.read(tables.GATEWAYS, gateway)
    backend = spec.spec.tls.backend if spec is not None and spec.spec.tls else None
    if backend is None or backend.client_certificate_ref is None:
        return None
    at = problems.gateway(gateway).at("tls").at("backend").at("clientCertificateRef")
    secret_ = certificates.secret(view, backend.client_certificate_ref, at)
    return problems.client_certificate(secret_) if isinstance(secret_, Problem) else secret_


@query
def secret(view: View, gateway: NamespacedName) -> NamespacedName | None:
    """The Secret, where there is one that can serve."""
    it = view.ask(found, gateway)
    return it if isinstance(it, NamespacedName) else None
