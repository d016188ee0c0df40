"""TLS Secrets, as they stand in manifests."""

import base64

from tests.contour.xds import certificates


def secret(name: str, pair: certificates.Pair, namespace: str = "default") -> str:
    """A Secret that can serve."""
    return written(name, pair.pem, pair.key_pem, namespace)


def written(name: str, certificate: bytes, key: bytes, namespace: str = "default") -> str:
    """A Secret of these bytes, whatever they are."""
    return (
        "apiVersion: v1\nkind: Secret\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\ntype: kubernetes.io/tls\n"
        f"data: {{tls.crt: {_encoded(certificate)}, tls.key: {_encoded(key)}}}\n"
    )


def authority(name: str, pair: certificates.Pair) -> str:
    """A Secret with an authority that signs the certificates of clients."""
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\n"
        f"data: {{ca.crt: {_encoded(pair.pem)}}}\n"
    )


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
