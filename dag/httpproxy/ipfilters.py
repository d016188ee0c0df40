"""IP filters: which addresses may send requests.

A range that cannot be read makes the whole filter fail: a shorter list would mean something else.
Source: HTTPProxy reference, "IPFilterPolicy".
"""

from collections.abc import Sequence

from crds import virtualhost as crd
from dag import nodes
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.values import addresses

Policies = Sequence[crd.IPFilterPolicy]


def ip_filter(place: Place, allow: Policies, deny: Policies) -> nodes.IpFilter | None:
    """The filter of a host or route; Refused if there can be none."""
    if allow and deny:
        text = "ipAllowPolicy and ipDenyPolicy cannot both be set"
        raise Refused(problems.ip_filters_incompatible(place.at("ipDenyPolicy"), text))
    if allow:
        return nodes.IpFilter("ALLOW", _ranges(place.at("ipAllowPolicy"), allow))
    return nodes.IpFilter("DENY", _ranges(place.at("ipDenyPolicy"), deny)) if deny else None


def _ranges(at: Place, written: Policies) -> tuple[nodes.IpRange, ...]:
    return tuple(
        nodes.IpRange(_canonical(at.item(index).at("cidr"), it.cidr), it.source)
        for index, it in enumerate(written)
    )


def _canonical(place: Place, text: str) -> str:
    found = addresses.network(text.strip())
    if found is None:
        why = f"{text[:60]!r} is neither an address nor a range"
        raise Refused(problems.cidr_not_valid(place, why))
    return found
