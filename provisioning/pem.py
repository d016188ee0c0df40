"""Reads and writes certificates and keys as PEM (RFC 7468).

Keys of authorities are kept in one text, in any order: the key itself shows which certificate it
belongs to. Unreadable entries count as absent, because they can be made again. Whoever may write a
Secret may write any text, so reading one costs little.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, types

from provisioning import certificates
from provisioning.certificates import Authority, Leaf

LONGEST = 256 * 1024
"""Bytes of a text; ours have a few thousand."""

_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----")


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
    """The distinct authorities of some bundles, each with its key if that is among the keys and can
    sign."""
    found = dict.fromkeys(it for text in bundles for it in _certificates(text))
    signers = (it for it in _keys(keys) if isinstance(it, ec.EllipticCurvePrivateKey))
    known = {certificates.public(it): it for it in signers}
    return tuple(Authority(it, known.get(certificates.public(it))) for it in found)


def leaf(certificate: bytes, key: bytes) -> Leaf | None:
    """A certificate and its key, if both can be read."""
    found, known = _certificates(certificate), next(_keys(key), None)
    return Leaf(found[0], known) if found and known is not None else None


def _certificates(text: bytes) -> list[x509.Certificate]:
    with suppress(Exception):  # of many types, depending on what is broken
        return x509.load_pem_x509_certificates(text) if len(text) <= LONGEST else []
    return []


def _keys(text: bytes) -> Iterator[types.PrivateKeyTypes]:
    for it in _KEY.findall(text) if len(text) <= LONGEST else ():
        with suppress(Exception):  # as above
            # The primes of an RSA key are not tested, which takes seconds for a large one.
            yield serialization.load_pem_private_key(it, None, unsafe_skip_rsa_key_validation=True)
