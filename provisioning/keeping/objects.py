"""The objects that are made for a configuration: where each is, whether it is ours, its deletion.

An object of the same name without our labels is refused and never adopted. Elsewhere: bringing an
object to what it should be (`applying`).
"""

from collections.abc import Mapping
from typing import Literal

from kube import errors
from kube.client import Client
from kube.resources import Resource
from provisioning.keeping.ownership import Ownership
from provisioning.templating import Document

_RBAC, _NETWORKING = "rbac.authorization.k8s.io", "networking.k8s.io"
_GATEWAY = "gateway.networking.k8s.io"

RESOURCES: Mapping[str, Resource] = {
    "ServiceAccount": Resource("", "v1", "serviceaccounts"),
    "Service": Resource("", "v1", "services"),
    "Secret": Resource("", "v1", "secrets"),
    "ConfigMap": Resource("", "v1", "configmaps"),
    "Role": Resource(_RBAC, "v1", "roles"),
    "RoleBinding": Resource(_RBAC, "v1", "rolebindings"),
    "ClusterRoleBinding": Resource(_RBAC, "v1", "clusterrolebindings", namespaced=False),
    "EndpointSlice": Resource("discovery.k8s.io", "v1", "endpointslices"),
    "Deployment": Resource("apps", "v1", "deployments"),
    "DaemonSet": Resource("apps", "v1", "daemonsets"),
    "PodDisruptionBudget": Resource("policy", "v1", "poddisruptionbudgets"),
    "HorizontalPodAutoscaler": Resource("autoscaling", "v2", "horizontalpodautoscalers"),
    "NetworkPolicy": Resource(_NETWORKING, "v1", "networkpolicies"),
    "GatewayClass": Resource(_GATEWAY, "v1", "gatewayclasses", namespaced=False),
    "Gateway": Resource(_GATEWAY, "v1", "gateways"),
    "TCPRoute": Resource(_GATEWAY, "v1", "tcproutes"),
}
"""The kinds of objects that we make for a configuration."""


class NotOwned(Exception):  # noqa: N818 - it reads as what it is
    """There is an object of that name that is not ours."""

    def __init__(self, document: Document) -> None:
        super().__init__(f"{described(document)} is there already and does not carry our labels")
        self.document = document


class Terminating(errors.RequestError):
    """The object is being removed, and there can be no other of its name before that is done."""


def resource(document: Document) -> Resource:
    """Where objects of its kind are."""
    return RESOURCES[document["kind"]]


def path(document: Document) -> str:
    """Where the object is."""
    metadata = document["metadata"]
    return resource(document).path(metadata.get("namespace", ""), metadata["name"])


def described(document: Document) -> str:
    """Its kind and name, for people."""
    metadata = document["metadata"]
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{document['kind']} {where}{metadata['name']}"


async def read(client: Client, document: Document) -> Document | None:
    """The object as it is now; None if there is none."""
    try:
        return await client.get(path(document))
    except errors.Refused as error:
        if error.code == 404:
            return None
        raise


async def require_ours(client: Client, document: Document, ownership: Ownership) -> None:
    """Raises NotOwned if somebody else has an object of that name."""
    present = await read(client, document)
    if present is not None and not ownership.owns(present):
        raise NotOwned(document)


async def delete(
    client: Client,
    present: Document,
    propagation: Literal["Background", "Foreground"] = "Background",
) -> None:
    """Deletes this very object; one that is gone already is as good."""
    body = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": present["metadata"]["uid"]},
        "propagationPolicy": propagation,
    }
    try:
        await client.delete(path(present), body)
    except errors.Refused as error:
        if error.code not in {404, 409}:  # 409: another of that name is there by now
            raise
