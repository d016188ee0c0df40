"""Keys that are derived from secrets of users, for a use of their own (HKDF, RFC 5869).

A derived key is the same on every replica and after every restart, and nothing has to be stored
that could be lost. It is as strong as its secret, and changes with it.
"""

LENGTH = 32
"""Bytes."""


def key(secret: bytes, use: str) -> bytes:
    """The key for a use; those of different uses have nothing in common."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), LENGTH, salt=None, info=use.encode()).derive(secret)
