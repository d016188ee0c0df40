"""Where clients reach a Gateway, and whether that is where it was asked to be.

Gateway API, "GatewaySpecAddress" and the reasons `AddressNotAssigned` and `AddressNotUsable`. What
a fleet has been given is known to its surroundings (the Service in front of it, or the
configuration), so whoever knows writes it into the table. Where nobody would, as on one machine or
offline, there is no row, and what is asked for has no effect. Elsewhere: types of addresses that
nobody can have (`parameters`); asking for one, by whoever makes the fleet (`infrastructure`).
"""

import ipaddress
from collections.abc import Iterator

from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import Table, View, query
from dag.gateway import selection
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.statuses import Address

ASSIGNED: Table[str, tuple[Address, ...]] = Table("assigned addresses")
"""By fleet; empty while it has none yet, no row where nothing assigns any."""


def wanted(view: View, gateway: NamespacedName) -> tuple[Address, ...]:
    """The addresses that a Gateway asks for by their value; any will do, if there is none."""
    found = view.read(tables.GATEWAYS, gateway)
    asked = found.spec.addresses if found is not None else ()
    return tuple(_address(it.type, it.value) for it in asked if it.value)


@query
def assigned(view: View, gateway: NamespacedName) -> tuple[Address, ...] | None:
    """The addresses that a Gateway has; None where nothing assigns any."""
    fleet = view.ask(selection.fleet, gateway)
    found = view.read(ASSIGNED, fleet) if fleet is not None else None
    return None if found is None else tuple(_address(*it) for it in found)


def told(view: View, gateway: NamespacedName) -> Iterator[Problem]:
    """What is not as it was asked for."""
    own, has = problems.gateway(gateway), view.ask(assigned, gateway)
    asked = wanted(view, gateway)
    if has is None:
        if asked:
            yield problems.addresses_without_effect(own)
        return
    missing = [it.value for it in asked if it not in has]
    if missing:
        yield problems.addresses_not_usable(own, missing, [it.value for it in has])
    elif not has:
        yield problems.address_not_assigned(own)


def _address(type_: str, value: str) -> Address:
    """Equal for two spellings of one address."""
    try:
        return Address(type_, str(ipaddress.ip_address(value)))
    except ValueError:
        return Address(type_, value.lower())
