"""Where clients reach what is served, as statuses tell it: of Ingress, HTTPProxy and Gateway.

The configuration names the addresses (`spec.ingress.statusAddress`), or the load balancer of
Envoy's Service has them in its status. Upstream writes the same into Ingress and HTTPProxy; a
Gateway has a shape of its own ("GatewayStatusAddress").
"""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dag import statuses

Raw = dict[str, Any]


class Address(NamedTuple):
    """One of the two is empty."""

    ip: str = ""
    hostname: str = ""


def addresses(configured: str, service_status: Mapping[str, Any] | None) -> tuple[Address, ...]:
    """Those that are configured, separated by commas; else those of the Service."""
    named = [it.strip() for it in configured.split(",")]
    found = [_of(it) for it in named if it] or list(_assigned(service_status or {}))
    return tuple(dict.fromkeys(found))


def load_balancer(found: Iterable[Address]) -> Raw:
    """As a Service, an Ingress and an HTTPProxy tell it."""
    entries = [{"ip": it.ip} if it.ip else {"hostname": it.hostname} for it in found]
    return {"ingress": entries} if entries else {}


def of_gateway(found: Iterable[Address]) -> tuple[statuses.Address, ...]:
    """As a Gateway tells it, and its rules read it."""
    return tuple(
        statuses.Address("IPAddress", it.ip) if it.ip else statuses.Address("Hostname", it.hostname)
        for it in found
    )


def assigned_to_gateway(status: Mapping[str, Any]) -> Iterable[Address]:
    """Those that another controller tells of its Gateway; names that only it knows are left out."""
    for it in status.get("addresses") or ():
        if it.get("type", "IPAddress") in {"IPAddress", "Hostname"} and it.get("value"):
            yield _of(it["value"])


def _of(text: str) -> Address:
    try:
        return Address(ip=str(ipaddress.ip_address(text)))
    except ValueError:
        return Address(hostname=text)


def _assigned(status: Mapping[str, Any]) -> Iterable[Address]:
    entries = (status.get("loadBalancer") or {}).get("ingress") or ()
    for it in entries:
        if ip := it.get("ip"):
            yield Address(ip=ip)
        if hostname := it.get("hostname"):
            yield Address(hostname=hostname)
