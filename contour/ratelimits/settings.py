"""What the process of our rate limit service is given when it starts.

It is one line of its standard input: an argument or a variable could be read by others, and would
be too short for a bundle of certificates.
"""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Certificates and keys are PEM."""

    redis: str = ""
    """The URL of the Redis that counts; empty: it counts in memory."""
    redis_authority: str = ""
    """The authorities of the certificate of Redis; empty: those of the machine."""
    certificate: str = ""
    """Its own; empty: it answers, and asks the control plane, without TLS."""
    key: str = ""
    authority: str = ""
    """Of Envoys and the control plane, with a certificate."""

    def encoded(self) -> bytes:
        """As one line."""
        return json.dumps(asdict(self)).encode() + b"\n"


def decoded(line: bytes) -> Settings:
    """Reads `Settings.encoded`."""
    return Settings(**json.loads(line))
