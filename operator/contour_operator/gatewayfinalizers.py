"""Removes an instance's finalizers from Gateways and GatewayClasses if it cannot do so itself.

An instance removes them while it runs. One that is being removed may have no running replica (an
image that cannot be pulled, a crash loop, no replicas), and nothing else would do it.
"""

from collections.abc import Collection, Iterator, Sequence

from crds import raw
from crds.contourconfiguration import DEFAULT_CONTROLLER_NAME
from crds.raw import Raw
from kube import errors, managedfields
from kube.client import Client
from kube.workqueue import Requeue
from provisioning.keeping import finalizers, objects
from provisioning.keeping.objects import RESOURCES
from provisioning.keeping.ownership import Owner


async def leave_gateways(client: Client, owner: Owner, watched: Collection[str] = ()) -> None:
    """Removes the finalizers of Gateways outside of these namespaces; raises request errors."""
    for it in await _listed(client, "Gateway"):
        if raw.at(it, "metadata", "namespace") not in watched:
            await _take_off(client, it, finalizers.of_instance(owner))


async def leave_classes(client: Client, owner: Owner, configuration: Raw) -> None:
    """Takes leave of the classes of an instance that has left all Gateways, but for those whose
    Gateways another instance serves; raises request errors.

    They are those of its controller, and what it has put a finalizer on before it had that name.
    """
    gateway = raw.at(configuration, "spec", "gateway")
    name = raw.mapping(gateway).get("controllerName") or DEFAULT_CONTROLLER_NAME
    mark = finalizers.GATEWAY_EXISTS, finalizers.manager(owner)
    served = set(_served_classes(await _listed(client, "Gateway")))
    for it in await _listed(client, "GatewayClass"):
        is_of_its_controller = gateway is not None and raw.at(it, "spec", "controllerName") == name
        is_ours = is_of_its_controller or mark in managedfields.of_finalizers(it)
        if is_ours and raw.at(it, "metadata", "name") not in served:
            await _take_off(client, it, finalizers.GATEWAY_EXISTS)


def _served_classes(gateways: Sequence[Raw]) -> Iterator[object]:
    for it in gateways:
        if any(map(finalizers.is_of_an_instance, _finalizers(it))):
            yield raw.at(it, "spec", "gatewayClassName")


async def _listed(client: Client, kind: str) -> list[Raw]:
    """The objects of a kind; none if the API server does not serve it."""
    try:
        found = await client.list_page(RESOURCES[kind].path())
    except errors.Refused as error:
        if error.code == 404:
            return []
        raise
    return [{**raw.mapping(it), "kind": kind} for it in raw.items(found.get("items"))]


async def _take_off(client: Client, present: Raw, finalizer: str) -> None:
    every = _finalizers(present)
    if finalizer not in every:
        return
    # With the resourceVersion, so that no finalizer of others is lost.
    version = raw.at(present, "metadata", "resourceVersion")
    rest = [it for it in every if it != finalizer]
    change: Raw = {"metadata": {"finalizers": rest, "resourceVersion": version}}
    try:
        await client.patch(objects.path(present), change)
    except errors.Refused as error:
        if error.code == 409:
            raise Requeue(f"{objects.described(present)} has changed in the meantime") from error
        if error.code != 404:
            raise


def _finalizers(found: Raw) -> list[str]:
    return [it for it in raw.items(raw.at(found, "metadata", "finalizers")) if isinstance(it, str)]
