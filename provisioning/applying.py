"""Brings one object of ours to what it should be in a cluster, and removes it; nothing of others.

Server-side apply: fields of ours are put right, fields that others have added stay. An object of
the same name without our mark is refused and never adopted. Nobody can slip one in between the look
and the write: what is there is applied to by its uid, what is not there is made without force, so
that whatever somebody else has made in that moment is a conflict. When and in which order things
are applied is for the caller to say.
"""

from collections.abc import Mapping
from typing import Any, Literal

from kube import errors
from kube.client import Client
from kube.resources import Resource
from provisioning.ownership import Mark
from provisioning.templating import Document

WRITE_TIMEOUT = 4.0
"""Seconds. A write that a leader has begun ends before anybody else can lead."""

_RBAC, _NETWORKING = "rbac.authorization.k8s.io", "networking.k8s.io"
_GATEWAY = "gateway.networking.k8s.io"

RESOURCES: Mapping[str, Resource] = {
    "ServiceAccount": Resource("", "v1", "serviceaccounts"),
    "Service": Resource("", "v1", "services"),
    "Secret": Resource("", "v1", "secrets"),
    "Role": Resource(_RBAC, "v1", "roles"),
    "RoleBinding": Resource(_RBAC, "v1", "rolebindings"),
    "ClusterRoleBinding": Resource(_RBAC, "v1", "clusterrolebindings", namespaced=False),
    "Deployment": Resource("apps", "v1", "deployments"),
    "DaemonSet": Resource("apps", "v1", "daemonsets"),
    "PodDisruptionBudget": Resource("policy", "v1", "poddisruptionbudgets"),
    "NetworkPolicy": Resource(_NETWORKING, "v1", "networkpolicies"),
    "GatewayClass": Resource(_GATEWAY, "v1", "gatewayclasses", namespaced=False),
    "Gateway": Resource(_GATEWAY, "v1", "gateways"),
    "TCPRoute": Resource(_GATEWAY, "v1", "tcproutes"),
}
"""The kinds of objects that we make for a configuration."""


class Unowned(Exception):  # noqa: N818 - it reads as what it is
    """There is an object of that name that is not ours."""

    def __init__(self, document: Document) -> None:
        super().__init__(f"{described(document)} is there already and does not carry our labels")
        self.document = document


class Leaving(errors.RequestError):
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


async def found(client: Client, document: Document) -> Document | None:
    """The object as it is now; None if there is none."""
    try:
        return await client.get(path(document))
    except errors.Refused as error:
        if error.code == 404:
            return None
        raise


async def require_ours(client: Client, document: Document, mark: Mark) -> None:
    """Raises Unowned if somebody else has an object of that name."""
    present = await found(client, document)
    if present is not None and not mark.is_on(present):
        raise Unowned(document)


async def rehearse(client: Client, document: Document, mark: Mark, field_manager: str) -> None:
    """Raises what would keep a new object from being made: Unowned and request errors."""
    await require_ours(client, document, mark)
    await client.rehearse(path(document), document, field_manager, timeout=WRITE_TIMEOUT)


async def apply(client: Client, document: Document, mark: Mark, field_manager: str) -> Document:
    """The object, as it stands there afterwards. Raises Unowned, Leaving and request errors."""
    for _ in range(_LOOKS - 1):
        try:
            return await _applied(client, document, mark, field_manager)
        except errors.Refused as error:
            if error.code != 409:
                raise  # else somebody has written since we have looked
    return await _applied(client, document, mark, field_manager)


_LOOKS = 4


async def _applied(client: Client, document: Document, mark: Mark, field_manager: str) -> Document:
    present = await found(client, document)
    where = path(document)
    if present is None:
        return await client.apply(where, document, field_manager, timeout=WRITE_TIMEOUT)
    if not mark.is_on(present):
        raise Unowned(document)
    if present["metadata"].get("deletionTimestamp"):
        raise Leaving(f"{described(document)} is being removed")
    body = _scaled_by_others(document, present)
    # An autoscaler must not come in between: with replicas, it is to be what was looked at.
    same = ("uid", "resourceVersion") if "replicas" in body.get("spec", {}) else ("uid",)
    looked_at = {it: present["metadata"][it] for it in same}
    body = body | {"metadata": document["metadata"] | looked_at}
    try:
        return await client.apply(where, body, field_manager, force=True, timeout=WRITE_TIMEOUT)
    except errors.Refused as error:
        if not _is_immutable(error):
            raise
        await remove(client, resource(document), present)
        raise Leaving(f"{described(document)} cannot be changed and is made anew") from None


async def remove(
    client: Client,
    of: Resource,
    present: Document,
    propagation: Literal["Background", "Foreground"] = "Background",
) -> None:
    """Removes this very object; that it is gone already is as good."""
    metadata = present["metadata"]
    body = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": metadata["uid"]},
        "propagationPolicy": propagation,
    }
    try:
        await client.delete(
            of.path(metadata.get("namespace", ""), metadata["name"]), body, timeout=WRITE_TIMEOUT
        )
    except errors.Refused as error:
        if error.code not in {404, 409}:  # 409: another of that name is there by now
            raise


def _scaled_by_others(document: Document, present: Document) -> Document:
    """Without the number of replicas if an autoscaler sees to that."""
    entries: list[dict[str, Any]] = present["metadata"].get("managedFields") or []
    is_scaled = any(
        it.get("subresource") == "scale" and it.get("manager") == _AUTOSCALER for it in entries
    )
    if not is_scaled or "replicas" not in document.get("spec", {}):
        return document
    return document | {"spec": {k: v for k, v in document["spec"].items() if k != "replicas"}}


_AUTOSCALER = "kube-controller-manager"


def _is_immutable(error: errors.Refused) -> bool:
    """Whether what is wanted cannot be had by a change, only by another object."""
    said = [error.message, *(it.message for it in error.causes)]
    return error.code == 422 and any(
        words in it for it in said for words in ("field is immutable", "cannot change roleRef")
    )
