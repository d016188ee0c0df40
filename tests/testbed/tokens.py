"""Tokens (JWT) that are signed with an RSA key of this run, and its JSON Web Key Set."""

import base64
import json
import time
from functools import cache
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa


def jwks() -> str:
    """The public key, as a set of keys."""
    public = _key().public_key().public_numbers()
    key = {
        "kty": "RSA",
        "alg": "RS256",
        "use": "sig",
        "kid": "one",
        "n": encoded(public.n.to_bytes(256, "big")),
        "e": encoded(public.e.to_bytes(3, "big")),
    }
    return json.dumps({"keys": [key]})


def token(**claims: Any) -> str:
    """A signed token with these claims, valid for an hour."""
    head = {"alg": "RS256", "kid": "one", "typ": "JWT"}
    body = {"iss": "issuer", "exp": int(time.time()) + 3600, **claims}
    signed = f"{encoded(json.dumps(head).encode())}.{encoded(json.dumps(body).encode())}"
    signature = _key().sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{signed}.{encoded(signature)}"


def encoded(content: bytes) -> str:
    """Base64 as in tokens: with the URL alphabet, without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """Decodes the same."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)
