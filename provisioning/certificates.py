"""Makes the certificates by which the control plane and its Envoys authenticate each other.

ECDSA P-256 everywhere. An authority signs only leaves (path length 0). A leaf has its key usage: an
Envoy's is for clients only. Elsewhere: what is due and when (`rotation`), storage (`pem`,
`secrets`).
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, types
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from provisioning.names import LONGEST_LEAF_LIFETIME

AUTHORITY_LIFETIME = timedelta(days=365)

_SKEW = timedelta(hours=2)
"""How far the clocks of those who check a fresh certificate may be behind: an hour is the common
mistake."""

Purpose = Literal["server", "client"]
_PURPOSES = {
    "server": ExtendedKeyUsageOID.SERVER_AUTH,
    "client": ExtendedKeyUsageOID.CLIENT_AUTH,
}


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate that is trusted; with its key, it signs."""

    certificate: x509.Certificate
    key: types.PrivateKeyTypes | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A certificate that is shown, and its key."""

    certificate: x509.Certificate
    key: types.PrivateKeyTypes


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a leaf."""

    names: tuple[str, ...]
    """The alternative names: DNS names and URIs."""
    purposes: tuple[Purpose, ...]


def authority(
    now: datetime, *, domains: Iterable[str] = (), lifetime: timedelta = AUTHORITY_LIFETIME
) -> Authority:
    """A new authority; no two have the same name, so that chains are never ambiguous.

    With `domains` it can sign for these DNS domains alone, and for no IP address.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, f"contour authority {serial:x}"[:64])]
    )
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), serial)
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if permitted := [x509.DNSName(it) for it in domains]:
        builder = builder.add_extension(x509.NameConstraints(permitted, _NO_ADDRESS), critical=True)
    return Authority(builder.sign(key, hashes.SHA256()), key)


_NO_ADDRESS = [
    x509.IPAddress(ipaddress.IPv4Network("0.0.0.0/0")),
    x509.IPAddress(ipaddress.IPv6Network("::/0")),
]


def leaf(by: Authority, subject: Subject, lifetime: timedelta, now: datetime) -> Leaf:
    """A certificate signed by an authority, which it does not outlive."""
    if not isinstance(by.key, ec.EllipticCurvePrivateKey):
        raise ValueError("an authority without its key cannot sign")
    key = ec.generate_private_key(ec.SECP256R1())
    until = now - _SKEW + min(lifetime, LONGEST_LEAF_LIFETIME)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject.names[0][:64])]))
        .issuer_name(by.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(min(until, by.certificate.not_valid_after_utc))
    )
    for extension, is_critical in _extensions(by, key.public_key(), subject):
        builder = builder.add_extension(extension, is_critical)
    return Leaf(builder.sign(by.key, hashes.SHA256()), key)


def made(certificate: x509.Certificate) -> datetime:
    """The time at which a certificate of ours was made."""
    return certificate.not_valid_before_utc + _SKEW


_NOT_READ = (x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)


def names(certificate: x509.Certificate) -> frozenset[str]:
    """The DNS names and URIs that a certificate is for; none if they cannot be read as a whole."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (*_NOT_READ, ValueError):
        return frozenset()
    kinds = (x509.DNSName, x509.UniformResourceIdentifier)
    return frozenset(it for kind in kinds for it in found.value.get_values_for_type(kind))


def public(of: x509.Certificate | types.PrivateKeyTypes) -> bytes:
    """The public key of a certificate or a key; empty if it cannot be read."""
    try:
        return of.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    except Exception:  # unusual keys may raise anything
        return b""


def fit(certificate: x509.Certificate, key: types.PrivateKeyTypes) -> bool:
    """Whether a key belongs to the certificate."""
    found = public(certificate)
    return bool(found) and found == public(key)


def is_issued_by(certificate: x509.Certificate, by: x509.Certificate) -> bool:
    """Whether a certificate carries the signature of another."""
    try:
        certificate.verify_directly_issued_by(by)
    except Exception:  # unusual keys or signatures may raise anything; False is right then
        return False
    return True


def _extensions(
    by: Authority, key: ec.EllipticCurvePublicKey, subject: Subject
) -> Iterable[tuple[x509.ExtensionType, bool]]:
    yield x509.BasicConstraints(ca=False, path_length=None), True
    yield _key_usage(signs_certificates=False), True
    yield x509.ExtendedKeyUsage([_PURPOSES[it] for it in subject.purposes]), False
    yield x509.SubjectAlternativeName([*map(_general_name, subject.names)]), False
    yield x509.SubjectKeyIdentifier.from_public_key(key), False
    issuer = by.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    yield x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer.value), False


def _general_name(text: str) -> x509.GeneralName:
    return x509.UniformResourceIdentifier(text) if "://" in text else x509.DNSName(text)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
