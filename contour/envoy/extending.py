"""The tracked queries behind what filters are told by ECDS: the providers of tokens.

Every fleet has the configuration, also while nobody uses it: filter chains wait for it. A provider
is in it while a virtual host brings it along; of several with one name the first in order counts.
"""

from collections.abc import Iterable
from typing import NamedTuple

from contour.envoy import names, routing
from contour.envoy.credentials import FleetKey, Pieces
from contour.envoy.guards import tokens
from contour.xds import resources
from dag import hosts, listeners, nodes
from dag.engine.view import Index, Kept, View, query

_RESOURCE = names.extension(tokens.NAME)


class ProviderKey(NamedTuple):
    """A provider of tokens, as a fleet knows it."""

    fleet: str
    name: str


@query
def tokens_head(_: View, key: FleetKey) -> Pieces:
    """The configuration without its providers."""
    return (resources.Change(_RESOURCE, "", resources.part(tokens.head())),)


@query
def provider(view: View, key: ProviderKey) -> Pieces:
    """One provider."""
    node, *_ = sorted(view.bucket(PROVIDERS, key), key=repr)
    wanted = [node.jwks.cluster] if isinstance(node.jwks, nodes.RemoteJwks) else []
    used = routing.clusters_of(view, key.fleet, wanted)
    body = tokens.provider(node, {it: name.name for it, name in used.items()})
    part = resources.part(body, used.values(), node.origins)
    return (resources.Change(_RESOURCE, f"provider/{key.name}", part),)


def _provided(
    key: nodes.HostKey, found: nodes.VirtualHost
) -> Iterable[tuple[ProviderKey, nodes.JwtProvider]]:
    return ((ProviderKey(key.fleet, it.name), it) for it in found.jwt_providers)


PROVIDERS: Index[ProviderKey, nodes.JwtProvider] = Index(
    "providers of tokens", hosts.virtual_host, _provided
)
FLEETS: Index[FleetKey, None] = Index(
    "fleets", listeners.listeners, lambda fleet, found: [(FleetKey(fleet), None)] if found else []
)

INDEXES = (PROVIDERS, FLEETS)
KEPT = (Kept(tokens_head, FLEETS), Kept(provider, PROVIDERS))
PUBLISHED = (tokens_head, provider)
