"""The settings of our rate limit service's process.

The process gets them at its start as a line of standard input: other users could read arguments or
environment variables, and these would be too short for a bundle of certificates.
"""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings. Certificates and keys are PEM."""

    redis: str = ""
    """The URL of the Redis that counts; empty: it counts in memory."""
    redis_authority: str = ""
    """The authorities of the certificate of Redis; empty: those of the machine."""
    certificate: str = ""
    """Its own certificate; empty: it answers, and connects to the control plane, without TLS."""
    key: str = ""
    authority: str = ""
    """The authority of Envoys and the control plane, if there is a certificate."""

    def encoded(self) -> bytes:
        """As one line."""
        return json.dumps(asdict(self)).encode() + b"\n"


def decoded(line: bytes) -> Settings:
    """Reads `Settings.encoded`."""
    return Settings(**json.loads(line))
