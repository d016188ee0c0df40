"""Addresses and names that Envoy may connect to.

Envoy must not connect to itself, to its machine or to what only its machine may reach, such as a
cloud's metadata service (GHSA-5ph6-qq5x-7jwc). Endpoints are addresses of the family that their
slice names (EndpointSlice API, "addressType"); the API server refuses loopback and link-local ones
too, but slices may also come from elsewhere, without its checks. On one machine, without a cluster,
backends are on the loopback interface, so there endpoints may be loopback.
"""

import ipaddress
from collections.abc import Callable, Mapping

import re2

from dag.values import hostnames

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_FAMILIES: Mapping[str, Callable[[str], Address]] = {
    "IPv4": ipaddress.IPv4Address,
    "IPv6": ipaddress.IPv6Address,
}


def of_family(text: str, family: str) -> Address | None:
    """The address, if it is one of the family (`IPv4` or `IPv6`), without a zone."""
    try:
        return None if "%" in text else _FAMILIES[family](text)
    except (ValueError, KeyError):
        return None


def network(text: str) -> str | None:
    """A range of addresses or a single one in CIDR notation, in canonical form; None if it is none.

    A range of mapped addresses is that of IPv4, which Envoy takes such clients for. Envoy compares
    no zones.
    """
    try:
        found = None if "%" in text else ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
    if not isinstance(found, ipaddress.IPv6Network) or not found.subnet_of(_MAPPED):
        return None if found is None else str(found)
    return f"{found.network_address.ipv4_mapped}/{found.prefixlen - _MAPPED.prefixlen}"


_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")


def endpoint_fault(address: Address, *, loopback: bool) -> str | None:
    """Why an endpoint may not have an address, in a word or two; None if it may."""
    found = [embedded(address), address]
    if any(it.is_unspecified for it in found):
        return "unspecified"
    if any(it.is_multicast for it in found):
        return "multicast"
    if any(it.is_link_local for it in found):
        return "link-local"
    if not loopback and any(it.is_loopback for it in found):
        return "loopback"
    return None


_COMPATIBLE = ipaddress.IPv6Network("::/96")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for; the address itself if there is none.

    Mapped and compatible addresses (RFC 4291, section 2.5.5), 6to4 (RFC 3056), NAT64 (RFC 6052).
    """
    if isinstance(address, ipaddress.IPv4Address) or int(address) <= 1:
        return address
    if address in _COMPATIBLE or address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


_OWN_NAMES = frozenset(
    {
        "ip6-localhost",
        "ip6-loopback",
        "local.projectcontour.io",
        "localhost",
        "localhost.localdomain",
        "localhost4",
        "localhost4.localdomain4",
        "localhost6",
        "localhost6.localdomain6",
    }
)
"""Names of the own machine; the kubelet and distributions write most of them to `/etc/hosts`."""
_METADATA = frozenset({"metadata", "metadata.google.internal"})


def refusal(host: str, *, loopback: bool = False) -> str | None:
    """Why Envoy must not connect to this name or address, which is in lower case.

    The end of a sentence; None if it may. What a name resolves to is not known here. `loopback`: it
    may connect to its own machine.
    """
    address = of_family(host, "IPv6" if ":" in host else "IPv4")
    if address is None:
        return _name_refusal(host, loopback=loopback)
    is_fit = endpoint_fault(address, loopback=loopback) is None
    return None if is_fit else "leads to the proxy itself or its machine"


_NUMBER = re2.compile("[0-9]+|0x[0-9a-f]*")
"""The last label of a name that resolvers may read as an IPv4 address: `2130706433`, `0x7f000001`,
`127.1` (inet_aton; WHATWG URL, "ends in a number checker")."""


_POD = re2.compile("[0-9a-f-]+[.][^.]+[.]pod([.].*)?")
"""The cluster's DNS resolves `127-0-0-1.default.pod.cluster.local` to that address."""


def _name_refusal(host: str, *, loopback: bool) -> str | None:
    name = host.removesuffix(".")
    if name in _METADATA or (not loopback and (name in _OWN_NAMES or name.endswith(".localhost"))):
        return "leads to the proxy itself"
    if _NUMBER.fullmatch(name.rpartition(".")[2]) or _POD.fullmatch(name):
        return "is an address in disguise"
    return hostnames.refusal(host) if not host.startswith("*") else "is a wildcard"
