"""The addresses for clients in the statuses of Ingress, HTTPProxy and Gateway.

The configuration names the addresses (`spec.ingress.statusAddress`), or they come from the load
balancer status of Envoy's Service. Upstream writes the same into Ingress and HTTPProxy; a Gateway
has a format of its own ("GatewayStatusAddress").
"""

import ipaddress
from collections.abc import Iterable
from typing import NamedTuple

from crds.raw import Raw, at, items, mapping
from dag import statuses


class Address(NamedTuple):
    """An address; one of the two fields is empty."""

    ip: str = ""
    hostname: str = ""


def addresses(configured: str, service_status: Raw | None) -> tuple[Address, ...]:
    """The configured addresses, separated by commas; else those of the Service."""
    named = [it.strip() for it in configured.split(",")]
    found = [_of(it) for it in named if it] or list(_assigned(service_status))
    return tuple(dict.fromkeys(found))


def load_balancer(found: Iterable[Address]) -> Raw:
    """The addresses in the format of a Service, an Ingress and an HTTPProxy."""
    entries = [{"ip": it.ip} if it.ip else {"hostname": it.hostname} for it in found]
    return {"ingress": entries} if entries else {}


def of_gateway(found: Iterable[Address]) -> tuple[statuses.Address, ...]:
    """The addresses in the format of a Gateway, which its rules read."""
    return tuple(
        statuses.Address("IPAddress", it.ip) if it.ip else statuses.Address("Hostname", it.hostname)
        for it in found
    )


def assigned_to_gateway(status: object) -> Iterable[Address]:
    """The addresses in the status of another controller's Gateway, without types that only that
    controller knows."""
    for it in map(mapping, items(at(status, "addresses"))):
        value = it.get("value")
        if it.get("type", "IPAddress") in _TYPES and isinstance(value, str) and value:
            yield _of(value)


_TYPES = ("IPAddress", "Hostname")


def _of(text: str) -> Address:
    try:
        return Address(ip=str(ipaddress.ip_address(text)))
    except ValueError:
        return Address(hostname=text)


def _assigned(status: object) -> Iterable[Address]:
    for it in items(at(status, "loadBalancer", "ingress")):
        ip, hostname = at(it, "ip"), at(it, "hostname")
        if isinstance(ip, str) and ip:
            yield Address(ip=ip)
        if isinstance(hostname, str) and hostname:
            yield Address(hostname=hostname)
