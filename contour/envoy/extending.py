"""The tracked queries for the configuration of the JWT filter, which comes by ECDS.

Every fleet has the configuration, even while no route uses it, because filter chains wait for it. A
provider of an HTTPProxy is in it while a virtual host has it; of several with the same name, the
first in order is used. An AuthenticationFilter is in it while a route names it, a SecurityPolicy
while it applies to one. A provider without a known key set is left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from contour.envoy import names
from contour.envoy.credentials import Pieces
from contour.envoy.fleets import FleetKey
from contour.envoy.guards import tokens
from contour.xds import resources
from crds.meta import ObjectRef
from dag import hosts, listeners, nodes
from dag.engine.view import Index, Kept, View, query
from dag.gateway import authenticationfilters
from dag.gateway.envoypolicies import policymerging, securitytokens
from dag.problems import Problem
from dag.references import jwks, keysets

_RESOURCE = names.extension(tokens.NAME)


class ProviderKey(NamedTuple):
    """A JWT provider of a fleet."""

    fleet: str
    name: str


class FilterKey(NamedTuple):
    """An AuthenticationFilter or SecurityPolicy of a fleet."""

    fleet: str
    source: ObjectRef
    requirement: str
    """The name of the requirement to which routes refer."""
    leniency: nodes.Leniency


@query
def tokens_head(_: View, key: FleetKey) -> Pieces:
    """The configuration without its providers."""
    return (resources.Change(_RESOURCE, "", resources.part(tokens.head())),)


@query
def provider(view: View, key: ProviderKey) -> Pieces:
    """One provider of an HTTPProxy."""
    node, *_ = sorted(view.bucket(PROVIDERS, key), key=repr)
    required = tokens.Required(key.name)
    return _requirement(view, f"provider/{key.name}", required, (node,), node.origins)


@query
def authentication(view: View, key: FilterKey) -> Pieces:
    """The providers of one AuthenticationFilter or SecurityPolicy."""
    found = view.ask(_PROVIDERS[key.source.kind], key.source.key)
    every = () if isinstance(found, Problem) else found
    required = tokens.Required(key.requirement, key.leniency)
    return _requirement(view, _part(key.source), required, every, policymerging.objects(key.source))


_PROVIDERS = {
    authenticationfilters.KIND: authenticationfilters.providers,
    securitytokens.KIND: securitytokens.providers,
}


def _part(source: ObjectRef) -> str:
    kind = "filter" if source.kind == authenticationfilters.KIND else "policy"
    return f"{kind}/{source.key}"


def _requirement(
    view: View,
    part: str,
    required: tokens.Required,
    every: Sequence[nodes.JwtProvider],
    origins: tuple[ObjectRef, ...],
) -> Pieces:
    known = tuple(_known(view, every))
    if not known:
        return ()
    body = tokens.requirement(required, known)
    return (resources.Change(_RESOURCE, part, resources.part(body, (), origins)),)


def _known(
    view: View, every: Iterable[nodes.JwtProvider]
) -> Iterator[tuple[nodes.JwtProvider, str]]:
    for node in every:
        match node.jwks:
            case nodes.LocalJwks(keys):
                yield node, keys
            case nodes.RemoteJwks() as source:
                if keys := keysets.keys(view, source):
                    yield node, keys
            case nodes.StoredJwks() as source:
                if isinstance(found := view.ask(jwks.stored, source), nodes.LocalJwks):
                    yield node, found.text


def _provided(
    key: nodes.HostKey, found: nodes.VirtualHost
) -> Iterable[tuple[ProviderKey, nodes.JwtProvider]]:
    return ((ProviderKey(key.fleet, it.name), it) for it in found.jwt_providers)


def _filtered(key: nodes.HostKey, found: nodes.VirtualHost) -> Iterable[tuple[FilterKey, None]]:
    required = {it.policies.jwt for it in found.routes if it.policies is not None}
    for it in required:
        if isinstance(it, nodes.Jwt) and it.source is not None:
            yield FilterKey(key.fleet, it.source, it.provider, it.leniency), None


PROVIDERS: Index[ProviderKey, nodes.JwtProvider] = Index(
    "providers of tokens", hosts.virtual_host, _provided
)
FILTERS: Index[FilterKey, None] = Index(
    "AuthenticationFilters in use", hosts.virtual_host, _filtered
)
FLEETS: Index[FleetKey, None] = Index(
    "fleets", listeners.listeners, lambda fleet, found: [(FleetKey(fleet), None)] if found else []
)

INDEXES = (PROVIDERS, FILTERS, FLEETS)
KEPT = (Kept(tokens_head, FLEETS), Kept(provider, PROVIDERS), Kept(authentication, FILTERS))
PUBLISHED = (tokens_head, provider, authentication)
