"""TLS to backends: what is offered, which certificate is presented, which are trusted.

Authorities and client certificates come by SDS, so renewing one changes no cluster. If a CA bundle
is missing, every connection is refused. Certificates are unchecked only if the user asked for no
validation (HTTPProxy without `validation`).
"""

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import protocol_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, tls_pb2

from contour.envoy import encoding, names, tls_parameters
from crds.meta import NamespacedName
from dag import nodes

_KINDS = {
    "DNS": common_pb2.SubjectAltNameMatcher.DNS,
    "URI": common_pb2.SubjectAltNameMatcher.URI,
}
_OVER_TLS = ("h2", "tls")


def write_tls(
    target: cluster_pb2.Cluster,
    protocol: nodes.UpstreamProtocol,
    node: nodes.UpstreamTls | None,
    every: nodes.Upstreams,
    *,
    offers: tuple[str, ...],
) -> None:
    """Fills in the transport socket, if there is TLS."""
    if node is None:
        if protocol not in _OVER_TLS:
            return
        node = nodes.UpstreamTls()
    target.transport_socket.name = "envoy.transport_sockets.tls"
    found = _connection(node, every, offers)
    target.transport_socket.typed_config.CopyFrom(encoding.packed(found))


def write_server_name(
    target: protocol_pb2.UpstreamHttpProtocolOptions, node: nodes.UpstreamTls | None
) -> None:
    """Sends the host of the request as SNI; a certificate that is checked must contain it."""
    if node is not None and node.sni_of == "request":
        target.auto_sni = True
        target.auto_san_validation = node.trust is not None or node.system


def is_needed(node: nodes.AnyCluster) -> bool:
    """Whether the protocol of a cluster needs TLS."""
    if isinstance(node, nodes.LocalCluster):
        return False
    return node.protocol in _OVER_TLS


def client_certificate(
    node: nodes.UpstreamTls | None, every: nodes.Upstreams
) -> NamespacedName | None:
    """The client certificate for backends, if TLS is used."""
    return (node.client_certificate if node else None) or every.client_certificate


def _connection(
    node: nodes.UpstreamTls, every: nodes.Upstreams, offers: tuple[str, ...]
) -> tls_pb2.UpstreamTlsContext:
    result = tls_pb2.UpstreamTlsContext(sni=node.sni, auto_host_sni=node.sni_of == "endpoint")
    minimum = node.minimum or every.minimum
    shared = result.common_tls_context
    shared.alpn_protocols.extend(offers)
    tls_parameters.write_parameters(
        shared.tls_params,
        (minimum, max(minimum, node.maximum or every.maximum)),
        node.ciphers or every.ciphers,
        node.curves or every.curves,
    )
    certificate = client_certificate(node, every)
    if certificate is not None:
        tls_parameters.write_certificate(shared, certificate)
    _write_validation(shared, node)
    return result


def _write_validation(target: tls_pb2.CommonTlsContext, node: nodes.UpstreamTls) -> None:
    checks = common_pb2.CertificateValidationContext()
    for it in node.names:
        matcher = checks.match_typed_subject_alt_names.add(san_type=_KINDS[it.kind])
        matcher.matcher.exact = it.value
    if node.trust is not None:
        tls_parameters.write_trust(target, names.trust(node.trust), checks)
    elif node.system:
        tls_parameters.write_trust(target, names.SYSTEM_TRUST, checks)
