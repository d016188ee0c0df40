"""A certificate and its key, as the SDS resource that filter chains refer to by name."""

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
