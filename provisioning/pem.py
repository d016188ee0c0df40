"""Reads and writes certificates and keys as PEM (RFC 7468).

Keys of authorities are kept in one text, in any order: the key itself shows which certificate it
belongs to. Unreadable entries count as absent, because they can be made again.
"""

import re
from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import types

from provisioning import certificates
from provisioning.certificates import Authority, Leaf

_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.S)


def bundle(authorities: Iterable[Authority]) -> bytes:
    """The certificates of authorities, as a trust bundle."""
    return b"".join(certificate(it.certificate) for it in authorities)


def keys(authorities: Iterable[Authority]) -> bytes:
    """The keys of the authorities that have one."""
    return b"".join(key(it.key) for it in authorities if it.key is not None)


def certificate(given: x509.Certificate) -> bytes:
    """A certificate."""
    return given.public_bytes(serialization.Encoding.PEM)


def key(given: types.PrivateKeyTypes) -> bytes:
    """A private key (PKCS 8)."""
    return given.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def authorities(*bundles: bytes, keys: bytes = b"") -> tuple[Authority, ...]:
    """The distinct authorities of some bundles, each with its key if that is among the keys."""
    found = dict.fromkeys(it for text in bundles for it in _certificates(text))
    known = _keys(keys)
    return tuple(Authority(it, _key_of(it, known)) for it in found)


def leaf(certificate: bytes, key: bytes) -> Leaf | None:
    """A certificate and its key, if both can be read."""
    found, known = _certificates(certificate), _keys(key)
    return Leaf(found[0], known[0]) if found and known else None


def _certificates(text: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(text)
    except ValueError:
        return []


def _keys(text: bytes) -> list[types.PrivateKeyTypes]:
    try:
        return [serialization.load_pem_private_key(it, None) for it in _KEY.findall(text)]
    except (ValueError, TypeError):
        return []


def _key_of(
    given: x509.Certificate, known: Iterable[types.PrivateKeyTypes]
) -> types.PrivateKeyTypes | None:
    return next((it for it in known if certificates.fit(given, it)), None)
