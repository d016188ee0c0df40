"""Common TLS settings for clients and backends: versions, ciphers, SDS references.

Ciphers: the default list of Contour's configuration reference.
"""

from envoy.extensions.transport_sockets.tls.v3 import common_pb2 as pb
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2

from contour.envoy import encoding, names
from contour.xds import resources
from crds.meta import NamespacedName
from dag import nodes

_VERSIONS = {"1.2": pb.TlsParameters.TLSv1_2, "1.3": pb.TlsParameters.TLSv1_3}
_CIPHERS = (
    "[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]",
    "[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
)


def write_parameters(
    target: pb.TlsParameters,
    versions: tuple[nodes.TlsVersion, nodes.TlsVersion],
    ciphers: tuple[str, ...],
    curves: tuple[str, ...],
) -> None:
    """Fills in the versions (least and most), ciphers and curves."""
    target.tls_minimum_protocol_version = _VERSIONS[versions[0]]
    target.tls_maximum_protocol_version = _VERSIONS[versions[1]]
    target.cipher_suites.extend(ciphers or _CIPHERS)
    target.ecdh_curves.extend(curves)


def write_certificate(target: tls_pb2.CommonTlsContext, secret: NamespacedName) -> None:
    """Adds a certificate, by SDS."""
    added = target.tls_certificate_sds_secret_configs.add(name=names.secret(secret).name)
    added.sds_config.CopyFrom(encoding.aggregated())


def write_trust(
    target: tls_pb2.CommonTlsContext, trust: resources.Name, checks: pb.CertificateValidationContext
) -> None:
    """Fills in the validation of certificates: authorities by SDS, and further checks."""
    both = target.combined_validation_context
    both.default_validation_context.CopyFrom(checks)
    source = both.validation_context_sds_secret_config
    source.name = trust.name
    source.sds_config.CopyFrom(encoding.aggregated())
