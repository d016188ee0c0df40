"""Objects of another program that have the names of ours, such as those of upstream Contour.

`kubectl apply` of our manifests replaces the rules of a ClusterRole, and so the rights of whoever
is bound to it. It cannot change the Role of a RoleBinding.
"""

from contour.doctor.check import Check
from crds.raw import Raw, at
from kube import errors
from kube.client import Client
from kube.resources import Resource
from provisioning import manifests, rendering

_RBAC = "rbac.authorization.k8s.io"
_CLUSTER_ROLES = Resource(_RBAC, "v1", "clusterroles", namespaced=False)
_ROLE_BINDINGS = Resource(_RBAC, "v1", "rolebindings")
_PAGE = "docs/coming-from-contour.md"
_NAME = manifests.CLUSTER_ROLE


async def checks(client: Client, namespace: str, *, is_everywhere: bool) -> list[Check]:
    """Warnings of such objects, as far as they may be read. `is_everywhere`: the instance is to
    watch all namespaces."""
    found: list[Check] = []
    role = await _read(client, _CLUSTER_ROLES.path(name=_NAME)) if is_everywhere else None
    if role is not None and not _is_ours(role):
        remedy = f"keep its rights under another name before you apply our manifests: {_PAGE}"
        found.append(Check(f"ClusterRole {_NAME}", "warning", "is of another program", remedy))
    binding = await _read(client, _ROLE_BINDINGS.path(namespace, _NAME))
    if binding is not None and (bound := at(binding, "roleRef", "name")) != _NAME:
        told = f"in namespace {namespace} it is bound to {bound}, which cannot be changed"
        remedy = f"delete it before you apply our manifests: {_PAGE}"
        found.append(Check(f"RoleBinding {_NAME}", "warning", told, remedy))
    return found


async def _read(client: Client, path: str) -> Raw | None:
    """An object; None if there is none, or if it may not be read."""
    try:
        return await client.find(path)
    except errors.Refused as error:
        if error.code == 403:
            return None
        raise


def _is_ours(found: Raw) -> bool:
    return all(at(found, "metadata", "labels", key) == it for key, it in rendering.PART.items())
