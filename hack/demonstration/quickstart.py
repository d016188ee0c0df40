"""A copy of the quickstart manifests that can be edited, on ports that are free on this machine."""

import base64
import datetime
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.free_ports import free_ports

SOURCE = Path(__file__).parents[2] / "manifests" / "examples" / "quickstart"
BACKENDS = {
    "storefront": 9101,
    "storefront-next": 9102,
    "cart": 9103,
    "payments": 9104,
    "blog": 9105,
}
"""The ports that the manifests name."""


@dataclass(frozen=True, slots=True)
class Quickstart:
    """Where everything is."""

    manifests: Path
    authority: Path
    """The certificate that clients trust."""
    backends: Mapping[str, int]
    http: int
    https: int

    def replace(self, name: str, old: str, new: str) -> None:
        """Edits a manifest, the way an editor does."""
        path = self.manifests / name
        text = path.read_text()
        if old not in text:
            raise ValueError(f"{name} does not say {old!r}")
        path.write_text(text.replace(old, new))


def copied(folder: Path) -> Quickstart:
    """The manifests in a folder of their own, with a certificate made on the spot."""
    manifests = folder / "manifests"
    shutil.copytree(SOURCE, manifests, ignore=shutil.ignore_patterns("*.md"))
    http, https, *free = free_ports(2 + len(BACKENDS))
    backends = dict(zip(BACKENDS, free, strict=True))
    text = (manifests / "00-services.yaml").read_text()
    for name, port in BACKENDS.items():
        text = text.replace(f"port: {port}}}", f"port: {backends[name]}}}")
    (manifests / "00-services.yaml").write_text(text)
    return Quickstart(
        manifests=manifests,
        authority=_certify(folder, "account.example.com"),
        backends=backends,
        http=http,
        https=https,
    )


def _certify(folder: Path, host: str) -> Path:
    """Writes the Secret into the manifests and the certificate beside them."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(host, key).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    secret = folder / "manifests" / "41-certificate.yaml"
    secret.touch(mode=0o600)
    secret.write_text(
        "apiVersion: v1\n"
        "kind: Secret\n"
        "metadata: {name: account-tls}\n"
        "type: kubernetes.io/tls\n"
        "data:\n"
        f"  tls.crt: {base64.b64encode(certificate).decode()}\n"
        f"  tls.key: {base64.b64encode(private).decode()}\n"
    )
    authority = folder / "authority.pem"
    authority.write_bytes(certificate)
    return authority


def _certificate(host: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
