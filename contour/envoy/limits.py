"""The tracked queries behind what rate limit services are told: the limits of RateLimitFilters.

One resource for all fleets of Envoys: a head, which is there while something is limited, and a part
for each rule of each filter that a host uses, for all hosts and routes together: the service keeps
a count for each bucket that Envoys name.
"""

from collections.abc import Iterator
from typing import NamedTuple

from contour.envoy import names
from contour.envoy.credentials import Pieces
from contour.envoy.guards import ratelimits
from contour.ratelimits.messages import RateLimitConfig, RateLimitDescriptor, RateLimitPolicy
from contour.xds import resources, wire
from crds.meta import NamespacedName, ObjectRef
from dag import counting, hosts, nodes
from dag.engine.view import Index, Kept, View, query
from dag.gateway import filterlimits
from dag.problems import Problem

_UNITS = {"Second": 1, "Minute": 2, "Hour": 3, "Day": 4}


class HeadKey(NamedTuple):
    """The resource."""

    fleet: str


class FilterKey(NamedTuple):
    """A RateLimitFilter that is in use."""

    fleet: str
    filter: NamespacedName


@query
def head(_: View, __: HeadKey) -> Pieces:
    """The resource without its limits."""
    message = RateLimitConfig(name=names.LIMITS.name, domain=counting.DOMAIN)
    return (resources.Change(names.LIMITS, "", resources.part(message.SerializeToString())),)


@query
def limits(view: View, key: FilterKey) -> Pieces:
    """The limits of a filter, each a part."""
    found = view.ask(filterlimits.meaning, key.filter)
    if found is None or isinstance(found.rules, Problem):
        return ()
    return tuple(
        _limit(key.filter, rule, requests)
        for rule, requests in zip(found.rules, found.requests, strict=True)
    )


def _limit(filter_: NamespacedName, rule: filterlimits.Rule, requests: int) -> resources.Change:
    """A chain of the entries of which Envoy makes a descriptor."""
    name, made = names.filter_rule(filter_, rule.name), RateLimitDescriptor()
    _write(made, ratelimits.RULE, name)
    last = made.descriptors.add()
    _write(last, ratelimits.BUCKET, "")
    for index, entry in enumerate(rule.entries):
        last = last.descriptors.add()
        _write(last, *ratelimits.condition(entry, index))
    last.rate_limit.CopyFrom(RateLimitPolicy(unit=_UNITS[rule.unit], requests_per_unit=requests))
    origins = (ObjectRef(filterlimits.KIND, *filter_),)
    part = resources.part(wire.field(3, made.SerializeToString()), origins=origins)
    return resources.Change(names.LIMITS, names.limit(filter_, rule.name), part)


def _write(target: RateLimitDescriptor, key: str, value: str) -> None:
    """Each value has a count of its own if there is none."""
    target.key, target.value = key, value


def _used(found: nodes.VirtualHost) -> set[NamespacedName]:
    policies = (it.policies for it in found.routes)
    return {it.filter for each in policies if each for it in each.limits or ()}


def _found(_: nodes.HostKey, found: nodes.VirtualHost) -> Iterator[tuple[FilterKey, None]]:
    return ((FilterKey(counting.FLEET, it), None) for it in _used(found))


def _limited(_: nodes.HostKey, found: nodes.VirtualHost) -> Iterator[tuple[HeadKey, None]]:
    if _used(found):
        yield HeadKey(counting.FLEET), None


LIMITS: Index[FilterKey, None] = Index("RateLimitFilters of hosts", hosts.virtual_host, _found)
LIMITED: Index[HeadKey, None] = Index("hosts with limits", hosts.virtual_host, _limited)

INDEXES = (LIMITS, LIMITED)
KEPT = (Kept(head, LIMITED), Kept(limits, LIMITS))
PUBLISHED = (head, limits)
