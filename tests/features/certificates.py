"""Authorities and certificates that clients, Envoy and peers show each other, made once a run.

The authority of clients has one below itself, which issued `deep`.
"""

import ssl
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from tests.contour.envoy.served import encrypted
from tests.contour.xds import certificates

_BY = {"client": "clients", "revoked": "clients", "middle": "clients", "stranger": "others"}


@cache
def pair(name: str) -> certificates.Pair:
    """Of a client or a server: `client`, `revoked`, `deep`, `stranger` or a DNS name."""
    if name == "deep":
        return _issued(pair("middle"), name)
    return _issued(
        encrypted.authority(_BY.get(name, "servers")), name, is_authority=name == "middle"
    )


def chain(name: str) -> bytes:
    """What is shown: the certificate and, if there is one, the authority between."""
    return pair(name).pem + (pair("middle").pem if name == "deep" else b"")


def _issued(by: certificates.Pair, name: str, *, is_authority: bool = False) -> certificates.Pair:
    """It has a DNS name and a URI."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    uri = x509.UniformResourceIdentifier(f"spiffe://{name.replace('*', 'all')}")
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(by.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name), uri]), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    return certificates.Pair(builder.sign(by.key, hashes.SHA256()), key)


def authority(name: str) -> bytes:
    """PEM; `clients`, `servers` or `others`."""
    return encrypted.authority(name).pem


@cache
def revocations() -> bytes:
    """What the authority of clients revoked."""
    return encrypted.revocations("clients", pair("revoked"))


@cache
def revocations_below() -> bytes:
    """What the authority below that one revoked: nothing."""
    now = datetime.now(UTC)
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(pair("middle").certificate.subject)
        .last_update(now)
        .next_update(now + timedelta(hours=1))
    )
    return builder.sign(pair("middle").key, hashes.SHA256()).public_bytes(Encoding.PEM)


def show(context: ssl.SSLContext, name: str) -> None:
    """Makes it show a certificate."""
    encrypted.shown(context, _Chain(pair(name), chain(name)))


class _Chain(certificates.Pair):
    def __init__(self, shown: certificates.Pair, pem: bytes) -> None:
        super().__init__(shown.certificate, shown.key)
        self._pem = pem

    @property
    def pem(self) -> bytes:
        return self._pem


def common_name(shown: bytes) -> str:
    """Of a certificate, DER."""
    subject = x509.load_der_x509_certificate(shown).subject
    return str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
