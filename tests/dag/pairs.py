"""Certificates and keys for the tests, made once per run, as the manifests of their Secrets."""

import datetime
import json
from base64 import b64encode, urlsafe_b64encode
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


def secret(name: str, namespace: str = "default") -> str:
    """A Secret with a pair that can serve."""
    return with_pair(name, *pair(), namespace=namespace)


def with_pair(name: str, chain: bytes, key: bytes, namespace: str = "default") -> str:
    """A Secret with this certificate and this key."""
    return f"""
---
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata: {{name: {name}, namespace: {namespace}}}
data: {{tls.crt: {b64encode(chain).decode()}, tls.key: {b64encode(key).decode()}}}
"""


@cache
def pair(number: int = 0, days: float = 36500) -> tuple[bytes, bytes]:
    """A self-signed certificate and its key, PEM; another one per number; days count from 2020."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"test-{number}")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM), private


def authority(name: str, namespace: str = "default") -> str:
    """A Secret with a certificate of an authority."""
    return f"""
---
apiVersion: v1
kind: Secret
metadata: {{name: {name}, namespace: {namespace}}}
data: {{ca.crt: {b64encode(pair()[0]).decode()}}}
"""


def revocations(name: str) -> str:
    """A Secret with a list of what an authority revoked."""
    key = ec.generate_private_key(ec.SECP256R1())
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    found = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")]))
        .last_update(start)
        .next_update(start + datetime.timedelta(days=36500))
        .sign(key, hashes.SHA256())
    )
    return f"""
---
apiVersion: v1
kind: Secret
metadata: {{name: {name}}}
data: {{crl.pem: {b64encode(found.public_bytes(Encoding.PEM)).decode()}}}
"""


@cache
def key_set() -> str:
    """The public key of a pair, as a JSON Web Key Set."""
    numbers = rsa.generate_private_key(65537, 2048).public_key().public_numbers()
    modulus = urlsafe_b64encode(numbers.n.to_bytes(256, "big")).rstrip(b"=").decode()
    return json.dumps({"keys": [{"kty": "RSA", "alg": "RS256", "n": modulus, "e": "AQAB"}]})
