"""The versions of TLS that clients and backends are spoken to with, and what holds among them.

As Envoy Gateway 1.9 has it; its messages are part of the CRDs.
"""

from typing import Protocol

from crds.rules import rule

VERSIONS = ("Auto", "1.0", "1.1", "1.2", "1.3")
_NUMBERED = VERSIONS[1:]
_LISTED = ", ".join(f"'{it}'" for it in _NUMBERED)


class _Bounded(Protocol):
    min_version: str | None
    max_version: str | None


def _is_ordered(it: _Bounded) -> bool:
    least, most = it.min_version or "1.2", it.max_version
    return most not in _NUMBERED or least not in _NUMBERED or least <= most


def ciphers_matter() -> object:
    """A rule for a model with `min_version` and `ciphers`."""
    return rule(
        "setting ciphers has no effect if the minimum possible TLS version is 1.3",
        lambda it: it.min_version != "1.3" or not it.ciphers,
        "has(self.minVersion) && self.minVersion == '1.3' ? !has(self.ciphers) : true",
    )


def are_ordered() -> object:
    """A rule for a model with `min_version` and `max_version`."""
    return rule(
        "minVersion must be smaller or equal to maxVersion",
        _is_ordered,
        f"!has(self.maxVersion) || !(self.maxVersion in [{_LISTED}]) ||"
        f" (has(self.minVersion) ? !(self.minVersion in [{_LISTED}]) ||"
        " self.minVersion <= self.maxVersion : '1.2' <= self.maxVersion)",
    )
