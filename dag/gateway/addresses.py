"""Where clients reach a Gateway, and whether that is where it was asked to be.

Gateway API, "GatewaySpecAddress", the reasons `AddressNotAssigned` and `AddressNotUsable`, and
GEP-5093 (experimental, v1.7): from where an address has to be reached. What
a fleet has been given is known to its surroundings (the Service in front of it, or the
configuration), so whoever knows writes it into the table. Where nobody would, as on one machine or
offline, there is no row, and what is asked for has no effect. Elsewhere: types of addresses that
nobody can have (`parameters`); asking for one, by whoever makes the fleet (`infrastructure`).
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
"""By fleet; empty while it has none yet, no row where nothing assigns any."""

CLUSTER_IPS: Table[str, Addresses] = Table("cluster IPs")
"""By fleet: those of the Service in front of it that we make; no row if there are none."""

CLUSTER = "Cluster"
"""Reached from within the cluster: a cluster IP of a Service."""
SENTINEL = "testing.x-k8s.io/sentinel"
"""Any address has it that asks for it; for tests of the API."""


def wanted(view: View, gateway: NamespacedName) -> tuple[Address, ...]:
    """The addresses that a Gateway asks for by their value; any will do, if there is none."""
    return tuple(
        _address(it.type, it.value)
        for it in _asked(view, gateway)
        if it.value and it.routability in {"", SENTINEL}
    )


@query
def assigned(view: View, gateway: NamespacedName) -> tuple[Address, ...] | None:
    """The addresses that a Gateway has; None where nothing assigns any.

    Where the CRDs say from where each is reached, those that were asked for; others as well while
    one of those is missing, for they serve.
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


def told(view: View, gateway: NamespacedName) -> Iterator[Problem]:
    """What is not as it was asked for."""
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
    """Whether the Gateway is told in a condition of its own what became of its addresses."""
    return crdversions.has_routability(view) and _known(view, gateway) is not None


class _Known(NamedTuple):
    """What a fleet has, with normal values and nothing said of from where it is reached."""

    usual: tuple[Address, ...]
    within: tuple[Address, ...]
    """The cluster IPs of its Service."""

    def reached(self, address: Address) -> Address:
        """The same, with what is known of from where it is reached."""
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
    """What of the entries is not there, or that there is nothing at all."""
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
    """For each entry an address of its own, or None; those that ask for most choose first."""
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
    """Equal for two spellings of one address."""
    try:
        return Address(type_, str(ipaddress.ip_address(value)))
    except ValueError:
        return Address(type_, value.lower())
