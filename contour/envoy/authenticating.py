"""The tracked queries for the keys and passwords that filters get by ECDS.

Every fleet has the configuration, even while no route uses it, because filter chains wait for it.
The keys and passwords of a SecurityPolicy are in it while the policy applies to a route.
"""

from collections.abc import Iterable
from typing import NamedTuple

from contour.envoy import names
from contour.envoy.credentials import Pieces
from contour.envoy.extending import FLEETS
from contour.envoy.fleets import FleetKey
from contour.envoy.guards import authentication
from contour.xds import resources
from crds.meta import ObjectRef
from dag import hosts, nodes
from dag.engine.view import Index, Kept, View, query
from dag.gateway.envoypolicies import policymerging, securitycredentials
from dag.problems import Problem

_RESOURCE = names.extension(authentication.NAME)


class PolicyKey(NamedTuple):
    """A SecurityPolicy that applies to a route of a fleet."""

    fleet: str
    source: ObjectRef


@query
def authentication_head(_: View, key: FleetKey) -> Pieces:
    """The configuration without any policy."""
    return (
        resources.Change(_RESOURCE, "", resources.part(authentication.head())),
        resources.Change(_RESOURCE, "place", resources.part(authentication.place())),
    )


@query
def known(view: View, key: PolicyKey) -> Pieces:
    """The keys and passwords of one policy."""
    found = view.ask(securitycredentials.reading, key.source.key).known
    if isinstance(found, Problem) or found == nodes.Known():
        return ()
    body = authentication.entry(key.source, found)
    part = resources.part(body, (), policymerging.objects(key.source))
    return (resources.Change(_RESOURCE, f"policy/{key.source.key}", part),)


def _required(key: nodes.HostKey, found: nodes.VirtualHost) -> Iterable[tuple[PolicyKey, None]]:
    for it in {it.policies.authentication for it in found.routes if it.policies is not None}:
        if isinstance(it, nodes.Authentication):
            yield PolicyKey(key.fleet, it.source), None


REQUIRED: Index[PolicyKey, None] = Index(
    "policies with keys or passwords in use", hosts.virtual_host, _required
)

INDEXES = (REQUIRED,)
KEPT = (Kept(authentication_head, FLEETS), Kept(known, REQUIRED))
PUBLISHED = (authentication_head, known)
