"""Authorities and certificates that clients, Envoy and peers show each other, made once a run."""

import ssl
from functools import cache

from cryptography import x509
from cryptography.x509.oid import NameOID

from tests.contour.envoy.served import encrypted
from tests.contour.xds import certificates


@cache
def pair(name: str) -> certificates.Pair:
    """Of a client or a server: `client`, `revoked`, `stranger` or a DNS name."""
    by = {"client": "clients", "revoked": "clients", "stranger": "others"}.get(name, "servers")
    return encrypted.issued(by, name)


def authority(name: str) -> bytes:
    """PEM; `clients`, `servers` or `others`."""
    return encrypted.authority(name).pem


@cache
def revocations() -> bytes:
    """What the authority of clients revoked."""
    return encrypted.revocations("clients", pair("revoked"))


def show(context: ssl.SSLContext, name: str) -> None:
    """Makes it show a certificate."""
    encrypted.shown(context, pair(name))


def common_name(shown: bytes) -> str:
    """Of a certificate, DER."""
    subject = x509.load_der_x509_certificate(shown).subject
    return str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
