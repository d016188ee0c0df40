"""The tracked queries behind certificates and authorities: for filter chains and clusters.

They live while a chain or cluster demands them. One that cannot serve has no answer; then Envoy
refuses the connections that need it.
"""

from typing import NamedTuple

from contour.envoy import names
from contour.envoy import secrets as certificates
from contour.xds import resources
from crds.meta import NamespacedName, ObjectRef
from dag import nodes
from dag.engine.view import View, query
from dag.references import secrets, trust

Pieces = tuple[resources.Change, ...]
"""What one answer puts into a fleet: parts, each with its place."""


class SecretKey(NamedTuple):
    """A certificate, as a fleet has it."""

    fleet: str
    secret: NamespacedName


class TrustKey(NamedTuple):
    """Authorities, as a fleet has them."""

    fleet: str
    trust: nodes.Trust


@query
def secret(view: View, key: SecretKey) -> Pieces | None:
    """A certificate, while it can serve."""
    found = view.ask(secrets.secret, key.secret)
    if found is None:
        return None
    body = certificates.encoded(key.secret, found)
    part = resources.part(body, origins=[ObjectRef("Secret", *key.secret)])
    return (resources.Change(names.secret(key.secret), "", part),)


@query
def authorities(view: View, key: TrustKey) -> Pieces | None:
    """Authorities, while they can be read."""
    found = view.ask(trust.bundle, key.trust)
    if found is None:
        return None
    part = resources.part(certificates.trusted(key.trust, found), origins=key.trust.authorities)
    return (resources.Change(names.trust(key.trust), "", part),)


class FleetKey(NamedTuple):
    """A fleet."""

    fleet: str


@query
def system_authorities(_: View, key: FleetKey) -> Pieces:
    """The authorities of Envoy's own machine."""
    part = resources.part(certificates.system())
    return (resources.Change(names.SYSTEM_TRUST, "", part),)


PUBLISHED = (secret, authorities, system_authorities)
