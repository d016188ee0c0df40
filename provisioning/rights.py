"""The rights of each process at the API server (RBAC rules): the least that does its work.

The kinds are those of `crds.kinds`, so every kind that is read may be read. The control plane reads
them, writes statuses, finalizers and Events, and manages a fleet in its own namespace; Envoy has no
rights, and no token. The operator makes the objects of instances, and can grant no more than it has
itself: the Role of an instance, and the ClusterRoles that it may bind.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from crds import kinds
from crds.customresourcedefinition import GATEWAY_CLASSES_CRD
from crds.raw import Raw
from provisioning import ratelimitservice
from provisioning.secrets import Names

Rule = Raw


class Counters(NamedTuple):
    """The Secrets that an instance needs to make the rate limit service."""

    authority: str = Names().authority
    """The Secret with the authority that signs its certificates."""
    certificates: tuple[str, ...] = (ratelimitservice.CALLED, ratelimitservice.CLIENT)


_OF_CONFIGURATIONS = frozenset(
    {"ContourConfiguration", "ExtensionService", "Service", "EndpointSlice", "Secret"}
)
"""A configuration, what it refers to, and Envoy's Service: always read in its own namespace."""

_BY_NAME = {"CustomResourceDefinition": (GATEWAY_CLASSES_CRD,)}
"""Kinds of which only certain objects are read: a CRD has the version of the Gateway API."""

_WITH_FINALIZERS = frozenset({"Gateway", "GatewayClass"})
"""Kinds on which we set finalizers; nothing else of them is written."""

_GATEWAY_API = kinds.GATEWAY

_USUAL = tuple(it for it in kinds.IN_CLUSTERS if not it.opt_in)
"""The kinds that every instance may read."""

_READ = ("list", "watch")
_WRITE_STATUS = ("patch",)


def everywhere() -> list[Rule]:
    """The rights of the control plane in all namespaces."""
    return [*_kinds(_USUAL), _events()]


def of_group(group: str) -> list[Rule]:
    """The rights of the control plane to the kinds of a group that an administrator opts in to."""
    if group == kinds.MARIN3R:
        return _of_discovery()
    return [*_kinds(it for it in kinds.IN_CLUSTERS if it.opt_in and it.group == group)]


def _of_discovery() -> list[Rule]:
    group = kinds.MARIN3R
    return [
        _rule([group], ["envoyconfigs"], ("get", *_READ)),
        _rule([group], ["envoyconfigs/status", "envoyconfigrevisions/status"], _WRITE_STATUS),
        _rule([group], ["envoyconfigrevisions"], (*_READ, "create", "patch", "delete")),
        # If one of these exists, another program writes them.
        _rule([f"operator.{group}"], ["discoveryservices"], ["list"]),
    ]


def in_a_watched_namespace() -> list[Rule]:
    """The rights of a control plane in each namespace, if it watches some namespaces only."""
    return [*_kinds(it for it in _USUAL if it.namespaced), _events()]


def of_gateways() -> list[Rule]:
    """The rights of a control plane that makes a fleet for each Gateway, where Gateways may be."""
    return [
        *_fleets(),
        # Their certificates, signed by the instance's authority; they go with the ServiceAccounts.
        _rule([""], ["secrets"], ["get", "create", "patch"]),
    ]


def of_outer_classes() -> list[Rule]:
    """The rights of a control plane that makes a class for the Gateway in front of its fleet."""
    return [_rule([_GATEWAY_API], ["gatewayclasses"], _MAKE)]


def of_node_certificates() -> list[Rule]:
    """The rights of a control plane that issues certificates for the Envoys of EnvoyConfigs, where
    these are; and in its own namespace, where the authority is that signs them."""
    return [_rule([""], ["secrets"], ["get", "create", "patch"])]


def of_grpc_certificates(secret: str) -> list[Rule]:
    """The rights of a control plane that issues certificates for gRPC clients, where these are."""
    return [
        _rule([""], ["secrets"], ["create"]),  # cannot be limited to a name
        _rule([""], ["secrets"], ["get", "patch"], [secret]),
    ]


def of_authority(secret: str) -> list[Rule]:
    """The rights of a control plane that signs with its authority, in its own namespace."""
    return [_rule([""], ["secrets"], ["get"], [secret])]


def at_home(
    lease: str,
    watches_everything: bool,
    makes_fleet: bool = True,
    counters: Counters = Counters(),  # noqa: B008 - immutable
) -> list[Rule]:
    """The rights of the control plane in its own namespace."""
    found = [*_leases(lease)]
    if makes_fleet:
        found += [*_fleets(), _outer_gateways(), *_rate_limit_service(counters)]
    found.append(_rule([""], ["configmaps"], _MAKE))  # the key sets of token issuers
    if not watches_everything:
        own = (it for it in kinds.IN_CLUSTERS if it.kind in _OF_CONFIGURATIONS)
        found += [*_kinds(own), _events()]
    return found


def _fleets() -> list[Rule]:
    """The rights to manage a fleet of Envoys, where that is."""
    return [
        _rule([""], ["serviceaccounts", "services"], _MAKE),
        _rule(["apps"], ["daemonsets", "deployments"], _MAKE),
        _rule(["autoscaling"], ["horizontalpodautoscalers"], _MAKE),
        _rule(["policy"], ["poddisruptionbudgets"], _MAKE),
        _rule(["networking.k8s.io"], ["networkpolicies"], _MAKE),
        # Why new Envoys do not get ready is in the statuses of their pods; why there are none, in
        # Events about their DaemonSet.
        _rule([""], ["pods", "events"], ["list"]),
    ]


def _rate_limit_service(secrets: Counters) -> list[Rule]:
    """The rights to make the rate limit service, beyond the kinds of a fleet's objects."""
    return [
        # The endpoints of the Service in front of the replica that leads.
        _rule(["discovery.k8s.io"], ["endpointslices"], _MAKE),
        # A right to create cannot be limited to names.
        _rule([""], ["secrets"], ["create"]),
        _rule([""], ["secrets"], ["get"], [secrets.authority]),
        _rule([""], ["secrets"], ["get", "patch"], secrets.certificates),
    ]


def _outer_gateways() -> Rule:
    """The rights to manage the Gateway of another controller in front of the shared fleet."""
    return _rule([_GATEWAY_API], ["gateways", "tcproutes"], _MAKE)


def certificates(secrets: Sequence[str]) -> list[Rule]:
    """The rights to renew the certificates, in their own namespace."""
    return [
        # A right to create cannot be limited to names.
        _rule([""], ["secrets"], ["create"]),
        _rule([""], ["secrets"], ["get", "update"], secrets),
    ]


def operator(cluster_roles: Sequence[str], lease: str, secrets: Sequence[str]) -> list[Rule]:
    """The rights of the operator in all namespaces; the names are those that every instance has."""
    group, rbac = "projectcontour.io", "rbac.authorization.k8s.io"
    return [
        _rule([group], ["contourconfigurations"], ("get", *_READ, "patch")),
        _rule([group], ["contourconfigurations/status"], _WRITE_STATUS),
        # kopf checks whether the kind is served.
        _rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], _READ),
        _rule([rbac], ["clusterrolebindings", "rolebindings", "roles"], _MAKE),
        _rule([rbac], ["clusterroles"], ["bind"], cluster_roles),
        _rule([""], ["secrets"], ["create"]),
        _rule([""], ["secrets"], ("get", *_READ, "update", "delete"), secrets),
        # Classes and finalizers of an instance are removed with it.
        _rule([_GATEWAY_API], ["gatewayclasses"], ("get", *_READ, "patch", "delete")),
        _events(),
        # Replicas make their Lease themselves; it is deleted with the instance.
        _rule(["coordination.k8s.io"], ["leases"], ["delete"], [lease]),
        # The rights that the Role of an instance grants; the operator needs most of them, too.
        *at_home(lease, watches_everything=True),
    ]


def operator_at_home(lease: str) -> list[Rule]:
    """The rights of the operator in its own namespace: its Lease, and reading its own pod."""
    return [*_leases(lease), _rule([""], ["pods"], ["get"])]


_MAKE = ("get", *_READ, "create", "patch", "delete")


def _leases(name: str) -> list[Rule]:
    group = ["coordination.k8s.io"]
    return [
        _rule(group, ["leases"], ["create"]),
        _rule(group, ["leases"], ["get", "update"], [name]),
    ]


def _events() -> Rule:
    return _rule(["events.k8s.io"], ["events"], ["create", "patch"])


def _kinds(found: Iterable[kinds.Kind]) -> Iterator[Rule]:
    for group, members in groupby(sorted(found, key=_group), key=_group):
        every = list(members)
        written = [it.plural for it in every if it.has_status]
        only_read = [it.plural for it in every if not it.has_status and it.kind not in _BY_NAME]
        for kind in every:
            if kind.kind in _BY_NAME:
                yield _rule([group], [kind.plural], _READ, _BY_NAME[kind.kind])
        if only_read:
            yield _rule([group], only_read, _READ)
        if written:
            # Objects are read again before a status is written, for changes by others.
            yield _rule([group], written, ("get", *_READ))
            yield _rule([group], [f"{it}/status" for it in written], _WRITE_STATUS)
        if held := [it.plural for it in every if it.kind in _WITH_FINALIZERS]:
            yield _rule([group], held, ["patch"])


def _group(kind: kinds.Kind) -> str:
    return kind.group


def _rule(
    groups: Sequence[str],
    resources: Sequence[str],
    verbs: Sequence[str],
    names: Sequence[str] = (),
) -> Rule:
    found = {"apiGroups": list(groups), "resources": sorted(resources), "verbs": list(verbs)}
    return {**found, **({"resourceNames": list(names)} if names else {})}
