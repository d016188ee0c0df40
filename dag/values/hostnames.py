"""Host names: what may be one, and which names a wildcard covers (Gateway API, "Hostname").

Names are compared in lower case, without port and trailing dot. A wildcard `*.x` covers one or
more labels, never `x` itself.
"""

import re
from collections.abc import Iterator

from crds.ipaddresses import is_ip_address

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*")

EVERY = "*"
"""Every host."""


def refusal(host: str) -> str | None:
    """Why this cannot be the name of a host, as the end of a sentence; None if it can."""
    name = host.removeprefix("*.")
    if len(host) > 253:
        return "is longer than 253 characters"
    if not _NAME.fullmatch(name):
        return "is not a lower-case DNS name, or `*.` and a DNS name"
    if name[-1].isdigit() and is_ip_address(name):  # as few names end
        return "is an IP address, not a DNS name"
    return None


def address_refusal(text: str) -> str | None:
    """Why this is no IP address, as the end of a sentence; None if it is one."""
    return None if is_ip_address(text) else "is no IP address"


_TARGET = re.compile(r"[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?\.?")


def target_refusal(text: str) -> str | None:
    """Why nothing can be reached under this name, as the end of a sentence; None if it may be. It
    is an IP address or whatever a resolver may know, also a name with underscores."""
    is_name = len(text) <= 253 and ".." not in text and _TARGET.fullmatch(text) is not None
    return None if is_name or is_ip_address(text) else "is no IP address and no name of a host"


def is_wildcard(host: str) -> bool:
    """Whether a host stands for more than one name."""
    return host.startswith("*")


def covers(wider: str, host: str) -> bool:
    """Whether every name that `host` stands for is also one that `wider` stands for."""
    if wider in (EVERY, host):
        return True
    return wider.startswith("*.") and host.endswith(wider[1:])


def intersection(one: str, other: str) -> str | None:
    """The names that two hosts have in common, as a host; None if there is none."""
    if covers(one, other):
        return other
    return one if covers(other, one) else None


def covering(host: str) -> Iterator[str]:
    """Every host that covers this one, the most specific first: itself, wildcards, every host."""
    found: str | None = host
    while found is not None:
        yield found
        found = wider(found)


def wider(host: str) -> str | None:
    """The most specific host that covers this one and is another; None for every host."""
    if host == EVERY:
        return None
    _, dot, rest = host.removeprefix("*.").partition(".")
    return f"*.{rest}" if dot else EVERY
