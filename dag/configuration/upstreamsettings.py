"""What the configuration says of every cluster that does not say otherwise.

Source: Contour's configuration reference, "ClusterParameters". Elsewhere: limits of single Services
by their annotations (`limits`).
"""

from typing import cast

from crds.envoysettings import ClusterSettings, Envoy, UpstreamTLS
from crds.meta import NamespacedName
from dag import limits, nodes
from dag.configuration import edges
from dag.configuration.readings import Errors, all_of, one_of, tell

_PATH = "spec.envoy.cluster"


def upstreams(envoy: Envoy, errors: Errors) -> nodes.Upstreams:
    """What holds for every cluster."""
    given = envoy.cluster or ClusterSettings()
    tls, path = given.upstream_tls or UpstreamTLS(), f"{_PATH}.upstreamTLS"
    minimum, maximum = _versions(tls, errors)
    certificate = envoy.client_certificate
    return nodes.Upstreams(
        max_requests_per_connection=given.max_requests_per_connection,
        buffer_limit=given.per_connection_buffer_limit_bytes,
        stream_window=given.http2_stream_window_bytes,
        connection_window=given.http2_connection_window_bytes,
        limits=limits.written(given.circuit_breakers),
        minimum=minimum,
        maximum=maximum,
        ciphers=all_of(edges.CIPHERS, tls.cipher_suites, f"{path}.cipherSuites", errors),
        curves=all_of(edges.CURVES, tls.ecdh_curves, f"{path}.ecdhCurves", errors),
        client_certificate=(
            NamespacedName(certificate.namespace, certificate.name) if certificate else None
        ),
    )


def _versions(tls: UpstreamTLS, errors: Errors) -> tuple[nodes.TlsVersion, nodes.TlsVersion]:
    known, path = ("1.2", "1.3"), f"{_PATH}.upstreamTLS"
    least = one_of(known, tls.minimum_protocol_version, f"{path}.minimumProtocolVersion", errors)
    most = one_of(known, tls.maximum_protocol_version, f"{path}.maximumProtocolVersion", errors)
    if (least or "1.2") > (most or "1.3"):
        tell(errors, path, "the minimum protocol version is above the maximum")
        return "1.2", "1.3"
    return cast(nodes.TlsVersion, least or "1.2"), cast(nodes.TlsVersion, most or "1.3")
