"""The client certificate that a Gateway shows to backends with a BackendTLSPolicy (GEP-3155)."""

from crds.meta import NamespacedName
from crds.records import replace
from dag import nodes, tables
from dag.engine.view import View, query
from dag.gateway import backends, certificates
from dag.problems import Problem
from dag.problems import gateway as problems


@query
def found(view: View, gateway: NamespacedName) -> NamespacedName | Problem | None:
    """The Secret, or why it cannot be used; None if the Gateway names none."""
    spec = view.read(tables.GATEWAYS, gateway)
    backend = spec.spec.tls.backend if spec is not None and spec.spec.tls else None
    if backend is None or backend.client_certificate_ref is None:
        return None
    at = problems.gateway(gateway).at("tls").at("backend").at("clientCertificateRef")
    secret_ = certificates.secret(view, backend.client_certificate_ref, at)
    return problems.client_certificate(secret_) if isinstance(secret_, Problem) else secret_


@query
def secret(view: View, gateway: NamespacedName) -> NamespacedName | None:
    """The Secret, if there is one that can be used."""
    it = view.ask(found, gateway)
    return it if isinstance(it, NamespacedName) else None


def with_certificate(view: View, cluster: nodes.Cluster, gateway: NamespacedName) -> nodes.Cluster:
    """A cluster with the certificate of a Gateway.

    The cluster is unchanged if it has a certificate of its own, or if one of its backends has no
    BackendTLSPolicy.
    """
    tls = cluster.tls
    if tls is None or tls.client_certificate is not None:
        return cluster
    ports = [it.port for it in cluster.members] or [cluster.port]
    if not all(backends.has_tls_policy(view, it) for it in ports):
        return cluster
    shown = view.ask(secret, gateway)
    if shown is None:
        return cluster
    return replace(cluster, tls=replace(tls, client_certificate=shown))
