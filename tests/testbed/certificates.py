"""Throw-away certificates: authorities, what they issue and revoke, and TLS contexts for them.

Keys are of the curve P-256, which costs microseconds, unless another is asked for. Everything
is valid for a day, except self-signed certificates.
"""

import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import NamedTemporaryFile

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_LIFE = timedelta(days=1)
_FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)
_P256 = ec.SECP256R1()


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    between: bytes = b""
    """The intermediate authorities between it and the self-signed one, PEM."""

    @property
    def pem(self) -> bytes:
        """The certificate chain that a server presents, PEM."""
        return self.certificate.public_bytes(Encoding.PEM) + self.between

    @property
    def key_pem(self) -> bytes:
        """The private key, PEM."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def authority(name: str = "authority", by: Pair | None = None) -> Pair:
    """An authority; an intermediate one if another has issued it."""
    is_authority = x509.BasicConstraints(ca=True, path_length=None)
    return _signed(name, by, is_authority)


known_authority = cache(authority)
"""An authority that is made once a run for each name."""


def issued(by: Pair, *names: str) -> Pair:
    """A certificate for these DNS names, IP addresses and URIs."""
    return _signed(names[0], by, x509.SubjectAlternativeName([*map(_general_name, names)]))


def self_signed(
    name: str, *names: str, days: float = 36500, curve: ec.EllipticCurve = _P256
) -> Pair:
    """A certificate for these names that is its own authority; its days count from 2020."""
    others = [*map(_general_name, names or (name,))]
    period = (_FIRST_DAY, _FIRST_DAY + timedelta(days=days))
    return _signed(name, None, x509.SubjectAlternativeName(others), period, curve)


def revocations(by: Pair, *revoked: Pair) -> bytes:
    """The revocation list of an authority, PEM."""
    now = datetime.now(UTC)
    builder = x509.CertificateRevocationListBuilder().issuer_name(by.certificate.subject)
    for it in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(it.certificate.serial_number)
        builder = builder.add_revoked_certificate(entry.revocation_date(now).build())
    made = builder.last_update(now).next_update(now + _LIFE).sign(by.key, hashes.SHA256())
    return made.public_bytes(Encoding.PEM)


def write(pair: Pair, authority: Pair, folder: Path) -> tuple[Path, Path, Path]:
    """The paths of the certificate, the key and the authority."""
    contents = {"tls.crt": pair.pem, "tls.key": pair.key_pem, "ca.crt": authority.pem}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder / "tls.crt", folder / "tls.key", folder / "ca.crt"


def show(context: ssl.SSLContext, pair: Pair) -> ssl.SSLContext:
    """The context, which presents this certificate from now on."""
    with NamedTemporaryFile() as file:
        Path(file.name).write_bytes(pair.pem + pair.key_pem)
        context.load_cert_chain(file.name)
    return context


def common_name(der: bytes) -> str:
    """The common name of a certificate's subject."""
    subject = x509.load_der_x509_certificate(der).subject
    return str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def _general_name(text: str) -> x509.GeneralName:
    with suppress(ValueError):
        return x509.IPAddress(ip_address(text))
    return x509.UniformResourceIdentifier(text) if "://" in text else x509.DNSName(text)


def _signed(
    name: str,
    by: Pair | None,
    extension: x509.ExtensionType,
    period: tuple[datetime, datetime] | None = None,
    curve: ec.EllipticCurve = _P256,
) -> Pair:
    key, now = ec.generate_private_key(curve), datetime.now(UTC)
    start, end = period or (now - _LIFE, now + _LIFE)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer = subject if by is None else by.certificate.subject
    serial = x509.random_serial_number()
    made = (
        x509.CertificateBuilder(issuer, subject, key.public_key(), serial, start, end)
        .add_extension(extension, critical=False)
        .sign(key if by is None else by.key, hashes.SHA256())
    )
    is_below = by is not None and by.certificate.issuer != by.certificate.subject
    return Pair(made, key, by.pem if by is not None and is_below else b"")
