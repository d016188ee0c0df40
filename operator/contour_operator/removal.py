"""Removes an instance: everything that has its labels, in an order that harms nobody.

The Services and Gateways by which clients come in are removed first, then the fleet, then the
control plane, which could recreate either, then what these needed. A stage begins when the one
before is really gone. Objects are looked for in the cluster, twice: the second look finds what a
control plane has made in its last moment. Fleets that were handed over to their users stay; without
`networkPublishing` that is the shared fleet. The key sets and the rate limit service of an instance
never stay. When no replica is left, the finalizers that none of them has removed from Gateways and
GatewayClasses are removed, and then the Lease. The replicas create it themselves, without these
labels, so it is found by its name, and stays if somebody else holds it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from contour_operator import children, desired, gatewayfinalizers, issuing
from crds.raw import Raw
from kube import errors, lease
from kube.client import Client
from kube.resources import Resource
from provisioning.keeping import objects, ownership
from provisioning.keeping.objects import RESOURCES
from provisioning.keeping.ownership import Owner
from provisioning.templating import Document


class _Stage(NamedTuple):
    kinds: tuple[str, ...]
    is_of_the_fleet: bool = False

    def includes(self, child: Raw, configuration: Raw) -> bool:
        """Whether an object of one of these kinds is removed in it; fleets are not handed over."""
        if not children.is_of_a_fleet(child):
            return not self.is_of_the_fleet
        is_own = desired.is_managed(configuration) or children.is_of_a_gateway(child)
        return self.is_of_the_fleet and is_own


_STAGES = (
    _Stage(("TCPRoute", "Gateway"), is_of_the_fleet=True),
    _Stage(("GatewayClass",), is_of_the_fleet=True),
    _Stage(("Service",), is_of_the_fleet=True),
    _Stage(("Service",)),
    _Stage(("HorizontalPodAutoscaler",), is_of_the_fleet=True),
    _Stage(("DaemonSet", "Deployment"), is_of_the_fleet=True),
    _Stage(("Deployment",)),
    _Stage(("PodDisruptionBudget", "NetworkPolicy", "ServiceAccount"), is_of_the_fleet=True),
    _Stage(("PodDisruptionBudget", "NetworkPolicy", "EndpointSlice")),
    _Stage(("Secret", "ConfigMap")),
    _Stage(("RoleBinding", "ClusterRoleBinding", "Role", "ServiceAccount")),
)


FLEET = tuple(kind for stage in _STAGES if stage.is_of_the_fleet for kind in stage.kinds)
"""The kinds of a fleet's objects, in the order of removal."""


class Forbidden(errors.RequestError):
    """Everything is gone except objects that we may not look up or remove."""


async def remove(client: Client, owner: Owner, configuration: Raw) -> str:
    """Removes as much as is possible now; returns what it waits for, empty if nothing is left.

    Raises Forbidden if only a missing right stands in the way, and other request errors.
    """
    forbidden: list[str] = []
    for _ in range(2):
        for stage in _STAGES:
            if stage.is_of_the_fleet and not desired.owns_fleets(configuration):
                continue
            left = await _clear(client, owner, configuration, stage, forbidden)
            if left:
                return ", ".join(left)
    if refusal := await _take_leave(client, owner, configuration, forbidden):
        return f"its finalizers on Gateways and GatewayClasses ({refusal})"
    await _remove_lease(client, owner.namespace, forbidden)
    if forbidden:
        raise Forbidden("; ".join(dict.fromkeys(forbidden)))
    return ""


async def _take_leave(
    client: Client, owner: Owner, configuration: Raw, forbidden: list[str]
) -> str:
    """Removes the finalizers that no replica has removed; returns why that was refused."""
    try:
        await gatewayfinalizers.leave_gateways(client, owner)
        await gatewayfinalizers.leave_classes(client, owner, configuration)
    except errors.Refused as error:
        if error.code != 403:
            return error.message
        forbidden.append(error.message)
    return ""


async def _remove_lease(client: Client, namespace: str, forbidden: list[str]) -> None:
    path = _LEASES.path(namespace, desired.LEASE)
    try:
        found = await client.get(path)
        if not _is_held_by_others(found, datetime.now(UTC)):
            # With the resourceVersion: a process that takes it in between keeps it.
            seen = {it: found["metadata"][it] for it in ("uid", "resourceVersion")}
            body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": seen}
            await client.delete(path, body)
    except errors.Refused as error:
        if error.code == 403:
            forbidden.append(error.message)
        elif error.code not in {404, 409}:
            raise


_LEASES = Resource("coordination.k8s.io", "v1", "leases")


def _is_held_by_others(found: Document, now: datetime) -> bool:
    """Whether a live holder has the Lease that is no pod of the instance, of which none is left."""
    record = lease.record(found)
    if not record.holder or record.holder.startswith(f"{desired.DEPLOYMENT}-"):
        return False
    try:
        renewed = datetime.fromisoformat(record.renewed)
    except ValueError:
        return False
    return now - renewed < timedelta(seconds=record.duration)


async def _clear(
    client: Client, owner: Owner, configuration: Raw, stage: _Stage, forbidden: list[str]
) -> Sequence[str]:
    """Deletes the objects of a stage; describes those that are not gone yet, for people."""
    deleted: list[Document] = []
    refused: list[str] = []
    for child in await _of_stage(client, owner, stage, forbidden):
        if not stage.includes(child, configuration):
            continue
        try:
            await _delete(client, child)
        except errors.Refused as error:
            named = objects.described(child)
            if error.code == 403:
                forbidden.append(f"{named}: {error.message}")
            else:
                refused.append(f"{named} ({error.message})")
        else:
            deleted.append(child)
    left = [it for it in deleted if await objects.read(client, it) is not None]
    return [*refused, *map(objects.described, left)]


async def _of_stage(
    client: Client, owner: Owner, stage: _Stage, forbidden: list[str]
) -> Sequence[Document]:
    """The objects of the kinds of a stage, as far as they may be looked up."""
    found: list[Document] = []
    for kind in stage.kinds:
        try:
            found += [it | {"kind": kind} for it in await _present(client, owner, kind)]
        except errors.Refused as error:
            if error.code not in {403, 404}:
                raise
            if error.code == 403:
                forbidden.append(error.message)
    return found


async def _delete(client: Client, present: Document) -> None:
    if present["metadata"].get("deletionTimestamp"):
        return
    # A workload stays visible until its pods are gone, which could make objects again.
    is_workload = present["kind"] in {"DaemonSet", "Deployment"}
    await objects.delete(client, present, "Foreground" if is_workload else "Background")


async def _present(client: Client, owner: Owner, kind: str) -> Sequence[Document]:
    if kind == "Secret":
        named = [await objects.read(client, it) for it in issuing.documents(owner)]
        own = desired.ownership(owner)
        return [it for it in named if it is not None and own.owns(it)]
    params = {"labelSelector": ownership.selector(owner.labels)}
    found = await client.list_page(RESOURCES[kind].path(), params)
    return found.get("items") or ()
