"""Certificates made on the spot."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def authority(name: str = "authority") -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    return _signed(name, key, name, key, x509.BasicConstraints(ca=True, path_length=None))


def issued(by: Pair, *names: str) -> Pair:
    """A certificate for these DNS names."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = by.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    alternatives = x509.SubjectAlternativeName([x509.DNSName(it) for it in names])
    return _signed(names[0], key, str(issuer), by.key, alternatives)


def write(pair: Pair, authority: Pair, folder: Path) -> tuple[Path, Path, Path]:
    """The paths of the certificate, the key and the authority."""
    contents = {"tls.crt": pair.pem, "tls.key": pair.key_pem, "ca.crt": authority.pem}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder / "tls.crt", folder / "tls.key", folder / "ca.crt"


def _signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    by: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> Pair:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(extension, critical=False)
    )
    return Pair(builder.sign(by, hashes.SHA256()), key)
