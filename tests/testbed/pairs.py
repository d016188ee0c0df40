"""The manifests of Secrets that hold certificates, keys and revocation lists."""

import ssl
from base64 import b64encode
from functools import cache
from json import dumps

from tests.testbed import certificates
from tests.testbed.certificates import Pair


def secret(name: str, namespace: str = "default") -> str:
    """A Secret with a valid pair of certificate and key."""
    return with_pair(name, *pair(), namespace=namespace)


def of(name: str, pair: Pair, namespace: str = "default") -> str:
    """A Secret with this pair."""
    return with_pair(name, pair.pem, pair.key_pem, namespace)


def with_pair(name: str, chain: bytes, key: bytes, namespace: str = "default") -> str:
    """A Secret with this certificate and this key, whatever they are."""
    return _secret(name, namespace, "kubernetes.io/tls", {"tls.crt": chain, "tls.key": key})


@cache
def pair(number: int = 0, days: float = 36500) -> tuple[bytes, bytes]:
    """A self-signed certificate and its key, PEM; another one per number; days count from 2020."""
    made = certificates.self_signed(f"test-{number}", days=days)
    return made.pem, made.key_pem


def in_year_0(chain: bytes) -> bytes:
    """The certificate of a `pair`, but it ends in the year 0, which Python has not."""
    ends = b"2119"
    changed = ssl.PEM_cert_to_DER_cert(chain.decode()).replace(ends, b"0000")
    return ssl.DER_cert_to_PEM_cert(changed).encode()


def authority(name: str, namespace: str = "default", made: Pair | None = None) -> str:
    """A Secret with the certificate of an authority."""
    chain = pair()[0] if made is None else made.pem
    return _secret(name, namespace, "Opaque", {"ca.crt": chain})


def trust_bundle(name: str, pem: bytes | None = None) -> str:
    """A ClusterTrustBundle with the certificate of an authority, or with another text."""
    text = (pair()[0] if pem is None else pem).decode()
    return f"""
---
apiVersion: certificates.k8s.io/v1
kind: ClusterTrustBundle
metadata: {{name: {name}}}
spec: {{trustBundle: {dumps(text)}}}
"""


def revocations(name: str, entry: str = "crl.pem") -> str:
    """A Secret with the revocation list of an authority."""
    listed = certificates.revocations(certificates.known_authority("test"))
    return _secret(name, "default", "Opaque", {entry: listed})


def _secret(name: str, namespace: str, type_: str, data: dict[str, bytes]) -> str:
    fields = ", ".join(f"{key}: {b64encode(it).decode()}" for key, it in data.items())
    return f"""
---
apiVersion: v1
kind: Secret
type: {type_}
metadata: {{name: {name}, namespace: {namespace}}}
data: {{{fields}}}
"""
