"""Which addresses may send requests.

One range that cannot be read makes the whole filter fail: a shorter list would be another one.
Source: HTTPProxy reference, "IPFilterPolicy".
"""

import ipaddress
from collections.abc import Sequence

from crds import virtualhost as crd
from dag import nodes
from dag.faults import Fault

Policies = Sequence[crd.IPFilterPolicy]


def ip_filter(allow: Policies, deny: Policies) -> nodes.IpFilter | None:
    """The filter; Fault says why there can be none."""
    if allow and deny:
        text = "ipAllowPolicy and ipDenyPolicy cannot both be set"
        raise Fault("IncompatibleIPAddressFilters", "ipDenyPolicy", text)
    if allow:
        return nodes.IpFilter("ALLOW", _ranges("ipAllowPolicy", allow))
    return nodes.IpFilter("DENY", _ranges("ipDenyPolicy", deny)) if deny else None


def _ranges(field: str, written: Policies) -> tuple[nodes.IpRange, ...]:
    return tuple(
        nodes.IpRange(_canonical(f"{field}[{index}].cidr", it.cidr), it.source)
        for index, it in enumerate(written)
    )


def _canonical(step: str, text: str) -> str:
    try:
        return str(ipaddress.ip_network(text.strip(), strict=False))
    except ValueError:
        raise Fault("InvalidCIDR", step, f"{text[:60]!r} is no address and no range") from None
