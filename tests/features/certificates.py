"""The certificates that clients, Envoy and peers show each other, made once a run.

The authority of clients has one below itself, which issued `deep`.
"""

from functools import cache

from tests.testbed import certificates
from tests.testbed.certificates import Pair, known_authority

_BY = {"client": "clients", "revoked": "clients", "stranger": "others"}


@cache
def pair(name: str) -> Pair:
    """Of a client or a server: `client`, `revoked`, `deep`, `stranger` or a DNS name."""
    by = _middle() if name == "deep" else known_authority(_BY.get(name, "servers"))
    return certificates.issued(by, name, f"spiffe://{name.replace('*', 'all')}")


def authority(name: str) -> bytes:
    """PEM; `clients`, `servers` or `others`."""
    return known_authority(name).pem


@cache
def revocations() -> bytes:
    """What the authority of clients revoked."""
    return certificates.revocations(known_authority("clients"), pair("revoked"))


@cache
def revocations_below() -> bytes:
    """What the authority below that one revoked: nothing."""
    return certificates.revocations(_middle())


@cache
def _middle() -> Pair:
    return certificates.authority("middle", known_authority("clients"))
