"""Problems of the addresses of Gateways.

They are in the conditions that the Gateway API has for Gateways (`gateway`), and in
`AddressesAssigned` (GEP-5093).
"""

from collections.abc import Iterable

from dag.problems import Problem
from dag.problems.gateway import listed
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway


def address_not_supported(field: Place, type_: str) -> Problem:
    return field.error(
        ConditionType.Accepted,
        Gateway.UnsupportedAddress,
        f"type {type_} is not supported",
    )


def addresses_not_usable(owner: Place, missing: Iterable[str], has: Iterable[str]) -> Problem:
    found = listed(has)
    why = f"{listed(missing)} not assigned; " + (f"assigned: {found}" if found else "none is")
    return owner.at("addresses").error(ConditionType.Programmed, Gateway.AddressNotUsable, why)


def address_not_assigned(owner: Place) -> Problem:
    message = (
        "Envoy has no address that is known: neither the Service in front of it"
        " nor ingress.statusAddress of the ContourConfiguration has one"
    )
    return Problem(owner.subject, ConditionType.Programmed, Gateway.AddressNotAssigned, message)


def addresses_unassigned(owner: Place, missing: Iterable[str], *, is_partial: bool) -> Problem:
    why = f"not assigned: {listed(missing)}"
    reason = Gateway.PartiallyAssigned if is_partial else Gateway.NotAssigned
    return owner.at("addresses").error(ConditionType.AddressesAssigned, reason, why)


def no_address_in_scope(owner: Place) -> Problem:
    why = "Envoy has no address with the routability that is asked for"
    return owner.at("addresses").error(ConditionType.Programmed, Gateway.AddressNotAssigned, why)


def addresses_without_effect(owner: Place) -> Problem:
    why = "has no effect on one machine, where nothing assigns addresses"
    return owner.at("addresses").warning(ConditionType.Accepted, Gateway.Accepted, why)
