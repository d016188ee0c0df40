"""Finds the limit of a request: the configured descriptor that matches those of the request.

As in envoyproxy/ratelimit ("Configuration"): entries are compared in order; at each level, one with
the value of the request takes precedence over one without a value. A limit applies if it belongs to
the last entry.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from google.protobuf.message import DecodeError

from contour.ratelimits.messages import BUCKET, SECONDS, RateLimitConfig, RateLimitDescriptor

Entry = tuple[bytes, bytes]
"""Key and value. Those of a request need not be UTF-8."""


class Invalid(Exception):  # noqa: N818
    """A configuration that cannot be used; the reason is for people."""


class Limit(NamedTuple):
    """So many requests in each window."""

    requests: int
    seconds: int
    """The length of a window."""
    unit: int
    """The same as a number of `RateLimitUnit`."""
    is_shadow: bool = False
    """Whether requests above the limit are only counted and still pass."""


@dataclass(slots=True)
class Level:
    """The descriptors that may follow one."""

    limit: Limit | None = None
    below: dict[Entry, "Level"] = field(default_factory=dict["Entry", "Level"])


Domains = dict[str, Level]
"""What is limited, by domain."""


def read(configs: Iterable[bytes]) -> Domains:
    """The limits of encoded configurations; raises `Invalid`."""
    found: Domains = {}
    for body in configs:
        try:
            config = RateLimitConfig.FromString(body)
        except DecodeError as error:
            raise Invalid(f"not a RateLimitConfig: {error}") from error
        if not config.domain or config.domain in found:
            raise Invalid(f"{config.name}: the domain {config.domain!r} is empty or there twice")
        found[config.domain] = Level(None, _levels(config.name, config.descriptors))
    return found


def _levels(name: str, descriptors: Iterable[RateLimitDescriptor]) -> dict[Entry, Level]:
    found: dict[Entry, Level] = {}
    for it in descriptors:
        entry = (it.key.encode(), it.value.encode())
        if not it.key or entry in found:
            words = f"the descriptor {(it.key, it.value)} has no key, or is there twice"
            raise Invalid(f"{name}: {words}")
        found[entry] = Level(_limit(name, it), _levels(name, it.descriptors))
    return found


def _limit(name: str, descriptor: RateLimitDescriptor) -> Limit | None:
    if not descriptor.HasField("rate_limit"):
        return None
    unit = descriptor.rate_limit.unit
    if unit not in SECONDS:
        raise Invalid(f"{name}: the limit of {descriptor.key!r} has no unit that is known: {unit}")
    requests = descriptor.rate_limit.requests_per_unit
    return Limit(requests, SECONDS[unit], unit, descriptor.shadow_mode)


class Found(NamedTuple):
    """The limit of a descriptor of a request."""

    limit: Limit
    path: tuple[Entry, ...]
    """Its entries in the configuration, whose number does not depend on clients: an entry without a
    value takes the value of the request only if it names a bucket."""


def limit(domains: Domains, domain: str, entries: Sequence[Entry]) -> Found | None:
    """The limit of a descriptor of a request; None if it has none."""
    level, path = domains.get(domain), [(b"", domain.encode())]
    for entry in entries:
        if level is None:
            return None
        key, _ = entry
        is_named = entry in level.below
        level = level.below.get(entry if is_named else (key, b""))
        path.append(entry if is_named or key == _BUCKET else (key, b""))
    return Found(level.limit, tuple(path)) if level is not None and level.limit else None


_BUCKET = BUCKET.encode()
