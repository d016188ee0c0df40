"""What the configuration says of every cluster that does not say otherwise.

Source: Contour's configuration reference, "ClusterParameters". Elsewhere: limits of single Services
by their annotations (`limits`).
"""

from crds.envoysettings import ClusterSettings, Envoy, UpstreamTLS
from crds.meta import NamespacedName
from dag import limits, nodes
from dag.configuration import edges
from dag.configuration.readings import all_of, tls_versions
from dag.problems.places import Findings, Place


def upstreams(spec: Place, envoy: Envoy) -> Findings[nodes.Upstreams]:
    """What holds for every cluster."""
    given = envoy.cluster or ClusterSettings()
    tls, at = given.upstream_tls or UpstreamTLS(), spec.at("envoy").at("cluster").at("upstreamTLS")
    minimum, maximum = yield from tls_versions(
        at, tls.minimum_protocol_version, tls.maximum_protocol_version
    )
    certificate = envoy.client_certificate
    return nodes.Upstreams(
        max_requests_per_connection=given.max_requests_per_connection,
        buffer_limit=given.per_connection_buffer_limit_bytes,
        stream_window=given.http2_stream_window_bytes,
        connection_window=given.http2_connection_window_bytes,
        limits=limits.written(given.circuit_breakers),
        minimum=minimum,
        maximum=maximum,
        ciphers=(yield from all_of(at.at("cipherSuites"), edges.CIPHERS, tls.cipher_suites)),
        curves=(yield from all_of(at.at("ecdhCurves"), edges.CURVES, tls.ecdh_curves)),
        client_certificate=(
            NamespacedName(certificate.namespace, certificate.name) if certificate else None
        ),
    )
