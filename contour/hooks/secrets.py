"""Secrets without what is secret in them, for servers that need their names and certificates.

A server gets a Secret without its private key, password and the like, and may add, change or leave
out Secrets all the same. In its reply the private parts are put back, by the Secret's name.
"""

from collections.abc import Mapping
from typing import Literal

from envoy.extensions.transport_sockets.tls.v3 import secret_pb2

from contour.envoy import encoding

_Private = Literal["private_key", "password", "pkcs12", "private_key_provider"]
_PRIVATE: tuple[_Private, ...] = ("private_key", "password", "pkcs12", "private_key_provider")
"""Fields of a TLS certificate."""


def without_private_parts(body: bytes) -> bytes:
    """An encoded Secret without private keys, passwords, session ticket keys, generic secrets."""
    secret = secret_pb2.Secret.FromString(body)
    match secret.WhichOneof("type"):
        case "tls_certificate":
            for it in _PRIVATE:
                secret.tls_certificate.ClearField(it)
        case "session_ticket_keys":
            secret.session_ticket_keys.Clear()
            secret.session_ticket_keys.SetInParent()
        case "generic_secret":
            secret.generic_secret.Clear()
            secret.generic_secret.SetInParent()
        case _:
            pass
    return encoding.encoded(secret)


def with_private_parts(body: bytes, held: Mapping[str, bytes]) -> bytes:
    """A replied Secret with the private parts of the one that we hold under its name, if any.

    What the server has set itself stays. A private key goes with the certificate that it is for:
    where the server has replaced the certificate of a Secret, the key is not put back, and Envoy
    refuses what is left.
    """
    secret = secret_pb2.Secret.FromString(body)
    if secret.name not in held:
        return body
    ours = secret_pb2.Secret.FromString(held[secret.name])
    kind = secret.WhichOneof("type")
    if kind != ours.WhichOneof("type"):
        return body
    if kind == "tls_certificate":
        _put_back(secret, ours)
    elif kind in ("session_ticket_keys", "generic_secret") and body == without_private_parts(
        held[secret.name]
    ):
        return held[secret.name]
    return encoding.encoded(secret)


def _put_back(secret: secret_pb2.Secret, ours: secret_pb2.Secret) -> None:
    theirs, own = secret.tls_certificate, ours.tls_certificate
    if theirs.certificate_chain != own.certificate_chain:
        return
    for it in _PRIVATE:
        if own.HasField(it) and not theirs.HasField(it):
            getattr(theirs, it).CopyFrom(getattr(own, it))  # each of a type of its own
