"""Which collections are requested from the API server, and with which selectors.

The API server filters Secrets, so that those to which no object may refer are not even sent: Helm
releases, service account tokens, bootstrap tokens and registry passwords are most of a cluster's
Secrets, and of their changes. ConfigMaps cannot be filtered; `excerpts` reduces them first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from contour.complaints import ManifestSource
from crds import foreign
from crds.customresourcedefinition import GATEWAY_CLASSES_CRD
from crds.kinds import Kind
from kube.discovery import Wanted
from kube.reflector import Collection


@dataclass(frozen=True, slots=True)
class Scope:
    """The namespaces that are watched."""

    namespaces: tuple[str, ...] = ()
    """Empty for all, which needs a ClusterRole; by name, Roles are enough."""
    own: str = ""
    """The namespace of the configuration and the objects that it refers to, if it is not among
    them."""


class Source(NamedTuple):
    """A kind, and one of the collections that its objects come from."""

    kind: Kind
    collection: Collection


def place(source: Source) -> ManifestSource:
    """What complaints about a whole collection are about."""
    kind, namespace = source.kind, source.collection.namespace
    where = f" in namespace {namespace}" if namespace else ""
    return ManifestSource(f"kind {kind.kind} of {kind.api_version}{where}")


def sources(scope: Scope, kinds: Iterable[Kind]) -> Iterator[Source]:
    """Every collection that belongs to a scope."""
    for kind in kinds:
        wanted = _wanted(kind)
        for namespace in _namespaces(scope, kind):
            yield Source(kind, Collection(wanted, namespace, _SELECTORS.get(kind.kind, {})))


def _wanted(kind: Kind) -> Wanted:
    """The resource to request; for a kind of an extension, the API server is asked for its plural
    name."""
    if not foreign.is_foreign(kind):
        return Wanted(kind.group, kind.versions, kind.plural, kind.namespaced)
    name = foreign.name(kind)
    return Wanted(kind.group, kind.versions, f"{name.lower()}s", kind=name)


def _namespaces(scope: Scope, kind: Kind) -> tuple[str, ...]:
    if not scope.namespaces or not kind.namespaced:
        return ("",)
    also = (scope.own,) if scope.own and kind.kind in _OF_CONFIGURATIONS else ()
    return tuple(dict.fromkeys((*scope.namespaces, *also)))


_OF_CONFIGURATIONS = frozenset(
    {"ContourConfiguration", "ExtensionService", "Service", "EndpointSlice", "Secret"}
)

_NEVER_READ = (
    "helm.sh/release.v1",
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
    "kubernetes.io/dockercfg",
    "kubernetes.io/dockerconfigjson",
    "kubernetes.io/ssh-auth",
    "projectcontour.io/authority",  # the key that signs our own certificates
)

_SELECTORS = MappingProxyType(
    {
        "Secret": {"fieldSelector": ",".join(f"type!={it}" for it in _NEVER_READ)},
        "CustomResourceDefinition": {"fieldSelector": f"metadata.name={GATEWAY_CLASSES_CRD}"},
    }
)
