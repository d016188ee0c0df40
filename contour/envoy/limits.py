"""The tracked queries behind what rate limit services are told: the limits of RateLimitFilters.

One resource for all fleets of Envoys: a head, which is there while something is limited, and a part
for each limit on each host that has it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from contour.envoy import names
from contour.envoy.credentials import Pieces
from contour.envoy.guards import ratelimits
from contour.ratelimits.messages import RateLimitConfig, RateLimitDescriptor, RateLimitPolicy
from contour.xds import resources, wire
from dag import counting, hosts, nodes
from dag.engine.view import Index, Kept, View, query

RESOURCE = resources.Name(resources.RATE_LIMITS, "limits")
_UNITS = {"Second": 1, "Minute": 2, "Hour": 3, "Day": 4}


class HeadKey(NamedTuple):
    """The resource."""

    fleet: str


class LimitKey(NamedTuple):
    """A limit where it counts."""

    fleet: str
    bucket: str


@query
def head(_: View, __: HeadKey) -> Pieces:
    """The resource without its limits."""
    message = RateLimitConfig(name=RESOURCE.name, domain=counting.DOMAIN)
    return (resources.Change(RESOURCE, "", resources.part(message.SerializeToString())),)


@query
def limit(view: View, key: LimitKey) -> Pieces:
    """One limit: a chain of the entries of which Envoy makes a descriptor."""
    node, *_ = sorted(view.bucket(LIMITS, key), key=repr)
    made = RateLimitDescriptor()
    _write(made, ratelimits.BUCKET, key.bucket)
    last = made
    for index, entry in enumerate(node.entries):
        last = last.descriptors.add()
        _write(last, *ratelimits.condition(entry, index))
    policy = RateLimitPolicy(unit=_UNITS[node.unit], requests_per_unit=node.requests)
    last.rate_limit.CopyFrom(policy)
    part = resources.part(wire.field(3, made.SerializeToString()), origins=node.origins)
    return (resources.Change(RESOURCE, f"limit/{key.bucket}", part),)


def _write(target: RateLimitDescriptor, key: str, value: str) -> None:
    target.key, target.value = key, value


def _found(key: nodes.HostKey, found: nodes.VirtualHost) -> Iterator[tuple[LimitKey, nodes.Limit]]:
    policies = (it.policies for it in found.routes)
    limits = dict.fromkeys(it for each in policies if each for it in each.limits or ())
    return ((LimitKey(counting.FLEET, names.bucket(key, it)), it) for it in limits)


def _limited(key: nodes.HostKey, found: nodes.VirtualHost) -> Iterator[tuple[HeadKey, None]]:
    if any(it.policies and it.policies.limits for it in found.routes):
        yield HeadKey(counting.FLEET), None


LIMITS: Index[LimitKey, nodes.Limit] = Index("limits", hosts.virtual_host, _found)
LIMITED: Index[HeadKey, None] = Index("hosts with limits", hosts.virtual_host, _limited)

INDEXES = (LIMITS, LIMITED)
KEPT = (Kept(head, LIMITED), Kept(limit, LIMITS))
PUBLISHED = (head, limit)
