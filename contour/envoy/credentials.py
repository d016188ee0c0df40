"""The tracked query for certificates, authorities, secrets of logins and credentials.

They exist while a chain, cluster or host demands them. An unusable one has no answer; then Envoy
refuses the connections that need it. The same holds while extensions have not answered about it,
unless it was served before: then it stays as it was.
"""

from typing import NamedTuple, TypeAlias

from contour.envoy import injections as injected
from contour.envoy import names
from contour.envoy import secrets as certificates
from contour.envoy.fleets import FleetKey
from contour.envoy.guards import logins
from contour.envoy.hooks import passed
from contour.envoy.hooks import secrets as private
from contour.xds import resources
from crds.meta import NamespacedName, ObjectRef
from dag import nodes
from dag.engine.view import View, query
from dag.gateway import injections
from dag.gateway.envoypolicies import securitylogin
from dag.references import secrets, trust

Pieces = tuple[resources.Change, ...]
"""What one answer puts into a fleet: parts, each with its place."""


class SecretKey(NamedTuple):
    """A certificate of a fleet."""

    fleet: str
    secret: NamespacedName


class TrustKey(NamedTuple):
    """Authorities of a fleet."""

    fleet: str
    trust: nodes.Trust


class LoginKey(NamedTuple):
    """A secret of the logins of a policy, for a fleet."""

    fleet: str
    source: ObjectRef
    part: logins.Part


class InjectedKey(NamedTuple):
    """The credential of an HTTPRouteFilter, for a fleet."""

    fleet: str
    source: ObjectRef


CredentialKey: TypeAlias = SecretKey | TrustKey | LoginKey | InjectedKey | FleetKey
"""A FleetKey stands for the system authorities of the machine on which an Envoy runs."""


@query
def credential(view: View, key: CredentialKey) -> Pieces | None:
    """A certificate or other credential as extensions want it; None if it is unusable."""
    found = view.ask(wanted, key)
    if found is None or found.value is None:
        return None
    if not view.ask(passed.is_translated, ()):
        return (found,)
    view.demand(shown, key)
    row = view.read(passed.SECRETS, passed.Item(key.fleet, found.name.name))
    if row is None or row.body is None:
        return ()
    origins = (*found.value.origins, *passed.authors(view))
    part = resources.part(row.body, origins=origins)
    return (resources.Change(found.name, "", part),)


@query
def wanted(view: View, key: CredentialKey) -> resources.Change | None:
    """The same as the objects want it, before extensions."""
    match key:
        case SecretKey(secret=name):
            pair = view.ask(secrets.secret, name)
            body = certificates.encoded(name, pair) if pair is not None else None
            return _change(names.secret(name), body, (ObjectRef("Secret", *name),))
        case TrustKey(trust=node):
            bundle = view.ask(trust.bundle, node)
            body = certificates.trusted(node, bundle) if bundle is not None else None
            return _change(names.trust(node), body, node.authorities)
        case LoginKey(source=source, part=part):
            known = view.ask(securitylogin.secrets, source.key)
            body = logins.secret(source, part, known) if known is not None else None
            return _change(names.login(source, part), body, (source,))
        case InjectedKey(source=source):
            value = view.ask(injections.known, source.key)
            body = injected.secret(source, value) if isinstance(value, nodes.Credential) else None
            return _change(names.credential(source), body, (source,))
        case FleetKey():
            return _change(names.SYSTEM_TRUST, certificates.system(), ())


def _change(
    name: resources.Name, body: bytes | None, origins: tuple[ObjectRef, ...]
) -> resources.Change | None:
    if body is None:
        return None
    return resources.Change(name, "", resources.part(body, origins=origins))


class Shown(NamedTuple):
    """A Secret, and how extensions see it."""

    wanted: resources.Change
    body: bytes
    """Without private parts."""


@query
def shown(view: View, key: CredentialKey) -> Shown | None:
    """The same with what extensions see of it; only asked if extensions are asked about Secrets."""
    found = view.ask(wanted, key)
    if found is None or found.value is None:
        return None
    return Shown(found, private.without_private_parts(found.value.body))


PUBLISHED = (credential,)
