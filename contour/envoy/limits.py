"""The tracked queries for the configuration of rate limit services: the limits of RateLimitFilters
and BackendTrafficPolicies.

It is one resource for all fleets of Envoys, with a head while anything is limited, and a part for
each rule of each filter or policy that a host uses. A part serves all hosts and routes: the service
keeps a count for each bucket that Envoys name.
"""

from collections.abc import Iterator
from typing import NamedTuple

from contour.envoy import names
from contour.envoy.credentials import Pieces
from contour.envoy.guards import counted, ratelimits
from contour.ratelimits.messages import RateLimitConfig, RateLimitDescriptor, RateLimitPolicy
from contour.xds import resources, wire
from crds.meta import ObjectRef
from dag import hosts, nodes, ratelimitclient
from dag.engine.view import Index, Kept, View, query
from dag.gateway import filterlimits
from dag.gateway.envoypolicies import trafficlimits

_UNITS = {"Second": 1, "Minute": 2, "Hour": 3, "Day": 4, "Month": 5, "Year": 6, "Week": 7}


class HeadKey(NamedTuple):
    """The resource with all limits."""

    fleet: str


class OwnerKey(NamedTuple):
    """A RateLimitFilter or BackendTrafficPolicy that is in use."""

    fleet: str
    owner: ObjectRef


@query
def head(_: View, __: HeadKey) -> Pieces:
    """The resource without its limits."""
    message = RateLimitConfig(name=names.LIMITS.name, domain=ratelimitclient.DOMAIN)
    return (resources.Change(names.LIMITS, "", resources.part(message.SerializeToString())),)


@query
def limits(view: View, key: OwnerKey) -> Pieces:
    """The parts with the limits of a filter or policy."""
    of_kind = filterlimits if key.owner.kind == filterlimits.KIND else trafficlimits
    return tuple(_limit(key.owner, it) for it in of_kind.counted(view, key.owner.key))


def _limit(owner: ObjectRef, rule: nodes.CountedRule) -> resources.Change:
    """The descriptors of a limit, nested like the entries that Envoy sends."""
    name, made = names.limit_rule(owner, rule.name), RateLimitDescriptor()
    _write(made, ratelimits.RULE, name)
    last = made.descriptors.add()
    _write(last, ratelimits.BUCKET, "")
    for index, entry in enumerate(rule.entries):
        last = last.descriptors.add()
        _write(last, *counted.condition(entry, index))
    policy = RateLimitPolicy(unit=_UNITS[rule.unit], requests_per_unit=rule.requests)
    last.rate_limit.CopyFrom(policy)
    last.shadow_mode = rule.is_shadow
    part = resources.part(wire.field(3, made.SerializeToString()), origins=(owner,))
    return resources.Change(names.LIMITS, names.limit(owner, rule.name), part)


def _write(target: RateLimitDescriptor, key: str, value: str) -> None:
    """Writes an entry; without a value, each value has a count of its own."""
    target.key, target.value = key, value


def _used(found: nodes.VirtualHost) -> set[ObjectRef]:
    # Routes share the limits of a policy: each tuple of limits is read once.
    every = {id(it.policies.limits): it.policies.limits for it in found.routes if it.policies}
    return {it.owner for each in every.values() for it in each or ()}


def _found(_: nodes.HostKey, found: nodes.VirtualHost) -> Iterator[tuple[OwnerKey, None]]:
    return ((OwnerKey(ratelimitclient.FLEET, it), None) for it in _used(found))


def _limited(_: nodes.HostKey, found: nodes.VirtualHost) -> Iterator[tuple[HeadKey, None]]:
    if _used(found):
        yield HeadKey(ratelimitclient.FLEET), None


LIMITS: Index[OwnerKey, None] = Index("owners of limits of hosts", hosts.virtual_host, _found)
LIMITED: Index[HeadKey, None] = Index("hosts with limits", hosts.virtual_host, _limited)

INDEXES = (LIMITS, LIMITED)
KEPT = (Kept(head, LIMITED), Kept(limits, LIMITS))
PUBLISHED = (head, limits)
