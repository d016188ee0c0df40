"""The addresses of a Gateway: those that it has, and whether they are those that it asks for.

Gateway API, "GatewaySpecAddress", the reasons `AddressNotAssigned` and `AddressNotUsable`, and
GEP-5093 (experimental, v1.7): from where an address must be reachable. The addresses of a fleet are
known outside the rules (from the Service in front of it, or the configuration) and written into the
table. On one machine and offline nothing assigns any: there is no row, and requested addresses have
no effect. Elsewhere: types of addresses that cannot be served (`parameters`); requesting one, by
whoever makes the fleet (`infrastructure`).
"""

import ipaddress
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from crds.gateway.gateway import GatewaySpecAddress
from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import Table, View, query
from dag.gateway import crdversions, selection
from dag.problems import Problem
from dag.problems import addresses as problems
from dag.problems.gateway import gateway as place
from dag.statuses import Address

Addresses: TypeAlias = tuple[Address, ...]

ASSIGNED: Table[str, Addresses] = Table("assigned addresses")
"""By fleet: its addresses; empty while it has none yet, no row if nothing assigns any."""

CLUSTER_IPS: Table[str, Addresses] = Table("cluster IPs")
"""By fleet: the cluster IPs of the Service that we make in front; no row if there are none."""

CLUSTER = "Cluster"
"""Reached from within the cluster: a cluster IP of a Service."""
SENTINEL = "testing.x-k8s.io/sentinel"
"""A routability that every address has which asks for it; for the conformance tests."""


def wanted(view: View, gateway: NamespacedName) -> tuple[Address, ...]:
    """The addresses that a Gateway asks for by their value; if empty, any address will do."""
    return tuple(
        _address(it.type, it.value)
        for it in _asked(view, gateway)
        if it.value and it.routability in {"", SENTINEL}
    )


@query
def assigned(view: View, gateway: NamespacedName) -> tuple[Address, ...] | None:
    """The addresses that a Gateway has; None where nothing assigns any.

    If the CRDs have the field `routability`: the addresses that were asked for, and while one of
    them is missing the others as well, for they serve traffic.
    """
    has, asked = _known(view, gateway), _asked(view, gateway)
    if has is None:
        return None
    if not crdversions.has_routability(view):
        return has.usual
    found = _satisfied(asked, has)
    matched = tuple(it for it in found if it is not None)
    if asked and (len(matched) == len(asked) or _needs_scope(asked)):
        return matched
    taken = {it._replace(routability=None) for it in matched}
    return (*matched, *(has.reached(it) for it in has.usual if it not in taken))


def problems_of(view: View, gateway: NamespacedName) -> Iterator[Problem]:
    """How the addresses of a Gateway differ from those that it asks for."""
    own, known = place(gateway), _known(view, gateway)
    asked = wanted(view, gateway)
    if known is None:
        if asked:
            yield problems.addresses_without_effect(own)
        return
    has = known.usual
    missing = [it.value for it in asked if it not in has]
    entries = _asked(view, gateway)
    if missing:
        yield problems.addresses_not_usable(own, missing, [it.value for it in has])
    elif not has and not any(_satisfied(entries, known)):
        yield problems.address_not_assigned(own)
    elif _needs_scope(entries) and not any(_satisfied(entries, known)):
        yield problems.no_address_in_scope(own)
    yield from _unassigned(view, gateway, known)


def is_reconciled(view: View, gateway: NamespacedName) -> bool:
    """Whether the Gateway gets a condition of its own about its addresses."""
    return crdversions.has_routability(view) and _known(view, gateway) is not None


class _Known(NamedTuple):
    """The addresses of a fleet, with normalized values and without `routability`."""

    usual: tuple[Address, ...]
    within: tuple[Address, ...]
    """The cluster IPs of its Service."""

    def reached(self, address: Address) -> Address:
        """The address with its `routability`, as far as that is known."""
        return address._replace(routability=CLUSTER if address in self.within else "")


def _known(view: View, gateway: NamespacedName) -> _Known | None:
    fleet = view.ask(selection.fleet, gateway)
    found = view.read(ASSIGNED, fleet) if fleet is not None else None
    if fleet is None or found is None:
        return None
    within = view.read(CLUSTER_IPS, fleet) or ()
    return _Known(*(tuple(_address(it.type, it.value) for it in each) for each in (found, within)))


def _asked(view: View, gateway: NamespacedName) -> tuple[GatewaySpecAddress, ...]:
    found = view.read(tables.GATEWAYS, gateway)
    return found.spec.addresses if found is not None else ()


def _needs_scope(asked: Sequence[GatewaySpecAddress]) -> bool:
    return any(it.routability for it in asked)


def _unassigned(view: View, gateway: NamespacedName, has: _Known) -> Iterator[Problem]:
    """The entries without an address, or that there is no address at all."""
    own, asked = place(gateway), _asked(view, gateway)
    found = _satisfied(asked, has)
    missing = [_words(it) for it, got in zip(asked, found, strict=True) if got is None]
    if missing:
        yield problems.addresses_unassigned(own, missing, is_partial=any(found))
    elif not asked and not has.usual:
        yield problems.addresses_unassigned(own, ["any address"], is_partial=False)


def _words(asked: GatewaySpecAddress) -> str:
    value = f" {asked.value}" if asked.value else ""
    scope = f" with routability {asked.routability}" if asked.routability else ""
    return f"{asked.type}{value}{scope}"


def _satisfied(asked: Sequence[GatewaySpecAddress], has: _Known) -> list[Address | None]:
    """For each entry an address of its own, or None; the most specific entries choose first."""
    left = {False: list(has.usual), True: list(has.within)}
    found: list[Address | None] = [None] * len(asked)
    order = sorted(range(len(asked)), key=lambda it: _breadth(asked[it]))
    for index in order:
        entry = asked[index]
        if entry.routability not in {"", CLUSTER, SENTINEL}:
            continue
        pool = left[entry.routability == CLUSTER]
        taken = next((it for it in pool if _fits(entry, it)), None)
        if taken is not None:
            for each in left.values():
                each[:] = [it for it in each if it != taken]
            scope = entry.routability if entry.routability == SENTINEL else None
            found[index] = taken._replace(routability=scope) if scope else has.reached(taken)
    return found


def _breadth(asked: GatewaySpecAddress) -> tuple[bool, bool]:
    return not asked.value, asked.routability != CLUSTER


def _fits(asked: GatewaySpecAddress, found: Address) -> bool:
    is_of_type = asked.type == found.type
    return is_of_type and (not asked.value or _address(asked.type, asked.value) == found)


def _address(type_: str, value: str) -> Address:
    """An address in a normal form, equal for two spellings of it."""
    try:
        return Address(type_, str(ipaddress.ip_address(value)))
    except ValueError:
        return Address(type_, value.lower())
