"""Objects that are made for a configuration: their paths, whether they are ours, their deletion.

An object of the same name without our labels is refused and never adopted. Elsewhere: making and
repairing an object (`applying`).
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
    """The object is being deleted; until that is done, no other one can have its name."""


def resource(document: Document) -> Resource:
    """The resource of the object's kind."""
    return RESOURCES[document["kind"]]


def path(document: Document) -> str:
    """The path of the object."""
    metadata = document["metadata"]
    return resource(document).path(metadata.get("namespace", ""), metadata["name"])


def described(document: Document) -> str:
    """Its kind and name, for people."""
    metadata = document["metadata"]
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{document['kind']} {where}{metadata['name']}"


async def read(client: Client, document: Document) -> Document | None:
    """The object in the cluster; None if there is none."""
    return await client.find(path(document))


async def require_ours(client: Client, document: Document, ownership: Ownership) -> None:
    """Raises NotOwned if there is an object of that name that is not ours."""
    present = await read(client, document)
    if present is not None and not ownership.owns(present):
        raise NotOwned(document)


async def delete(
    client: Client,
    present: Document,
    propagation: Literal["Background", "Foreground"] = "Background",
) -> None:
    """Deletes exactly this object; one that is gone already is no error."""
    body = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": present["metadata"]["uid"]},
        "propagationPolicy": propagation,
    }
    try:
        await client.delete(path(present), body)
    except errors.Refused as error:
        if error.code not in {404, 409}:  # 409: another object has that name by now
            raise
