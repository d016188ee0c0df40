"""Certificates, their keys and authorities: the SDS resources that TLS refers to by name."""

from envoy.extensions.transport_sockets.tls.v3 import secret_pb2

from contour.envoy import encoding, names
from crds.meta import NamespacedName
from dag import nodes


def encoded(key: NamespacedName, secret: nodes.Secret) -> bytes:
    """The pair, inline: private keys reach no disk."""
    result = secret_pb2.Secret(name=names.secret(key).name)
    result.tls_certificate.certificate_chain.inline_bytes = secret.chain
    result.tls_certificate.private_key.inline_bytes = secret.key
    return encoding.encoded(result)


def trusted(key: nodes.Trust, bundle: nodes.TrustBundle) -> bytes:
    """The authorities and what they revoked."""
    result = secret_pb2.Secret(name=names.trust(key).name)
    result.validation_context.trusted_ca.inline_bytes = bundle.authorities
    if bundle.revocations:
        result.validation_context.crl.inline_bytes = bundle.revocations
    return encoding.encoded(result)


_SYSTEM = "/etc/ssl/certs/ca-certificates.crt"  # Debian, Alpine, distroless images


def system() -> bytes:
    """The authorities of Envoy's machine; if the file does not exist, no certificate is trusted."""
    result = secret_pb2.Secret(name=names.SYSTEM_TRUST.name)
    result.validation_context.trusted_ca.filename = _SYSTEM
    return encoding.encoded(result)
