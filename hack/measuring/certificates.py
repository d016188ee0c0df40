"""Certificates for measuring: real pairs, made once per name.

The same name and renewal give the same pair within a process, for as long as it is remembered.
"""

import base64
import datetime
from functools import lru_cache
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Pair(NamedTuple):
    """As the data of a Secret: PEM in base64."""

    chain: str
    key: str


@lru_cache(maxsize=1000)
def pair(name: str, renewal: int = 0) -> Pair:
    """A certificate for every host of the worlds, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
    names = [x509.DNSName("*.example.com"), x509.DNSName("localhost")]
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1 + renewal)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(
        _encoded(certificate.public_bytes(serialization.Encoding.PEM)),
        _encoded(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        ),
    )


def _encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()
