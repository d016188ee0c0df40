"""The resources: built-in ones, and those that CRDs define.

`server` answers discovery from it. Groups and versions are the real API server's; the built-in
resources are those that our controller and our operator use.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

Raw = dict[str, Any]


class Name(NamedTuple):
    """The key under which objects are stored, which all versions of a resource share."""

    group: str
    plural: str


class Resource(NamedTuple):
    """A resource, as in discovery."""

    group: str
    versions: tuple[str, ...]
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = False
    custom: bool = False

    @property
    def name(self) -> Name:
        """The key under which its objects are stored."""
        return Name(self.group, self.plural)

    def api_version(self, version: str) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{version}" if self.group else version


_RBAC = "rbac.authorization.k8s.io"

CRDS = Name("apiextensions.k8s.io", "customresourcedefinitions")
NAMESPACES = Name("", "namespaces")
ESTABLISHED: Raw = {"conditions": [{"type": "Established", "status": "True"}]}

BUILT_IN = (
    Resource("", ("v1",), "namespaces", "Namespace", False, True),
    Resource("", ("v1",), "nodes", "Node", False, True),
    Resource("", ("v1",), "pods", "Pod", True, True),
    Resource("", ("v1",), "services", "Service", True, True),
    Resource("", ("v1",), "secrets", "Secret"),
    Resource("", ("v1",), "configmaps", "ConfigMap"),
    Resource("", ("v1",), "serviceaccounts", "ServiceAccount"),
    Resource("", ("v1",), "events", "Event"),
    Resource("apps", ("v1",), "deployments", "Deployment", True, True),
    Resource("apps", ("v1",), "daemonsets", "DaemonSet", True, True),
    Resource(
        "autoscaling",
        ("v2",),
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        True,
        True,
    ),
    Resource("coordination.k8s.io", ("v1",), "leases", "Lease"),
    Resource("discovery.k8s.io", ("v1",), "endpointslices", "EndpointSlice"),
    Resource("events.k8s.io", ("v1",), "events", "Event"),
    Resource("networking.k8s.io", ("v1",), "ingresses", "Ingress", True, True),
    Resource("networking.k8s.io", ("v1",), "ingressclasses", "IngressClass", False),
    Resource("networking.k8s.io", ("v1",), "networkpolicies", "NetworkPolicy"),
    Resource("policy", ("v1",), "poddisruptionbudgets", "PodDisruptionBudget", True, True),
    Resource(_RBAC, ("v1",), "roles", "Role"),
    Resource(_RBAC, ("v1",), "rolebindings", "RoleBinding"),
    Resource(_RBAC, ("v1",), "clusterroles", "ClusterRole", False),
    Resource(_RBAC, ("v1",), "clusterrolebindings", "ClusterRoleBinding", False),
    Resource(CRDS.group, ("v1",), CRDS.plural, "CustomResourceDefinition", False, True),
)


def brought_by(crd: Raw) -> Resource:
    """The resource that a CustomResourceDefinition defines."""
    spec = crd["spec"]
    served = [it for it in spec["versions"] if it.get("served", True)]
    return Resource(
        spec["group"],
        tuple(it["name"] for it in served),
        spec["names"]["plural"],
        spec["names"]["kind"],
        spec["scope"] == "Namespaced",
        any("status" in it.get("subresources", {}) for it in served),
        custom=True,
    )


def definition(resource: Resource) -> Raw:
    """A CustomResourceDefinition of a resource, without a schema."""
    subresources: Raw = {"subresources": {"status": {}}} if resource.has_status else {}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": it, "served": True, "storage": it == resource.versions[0], "schema": schema}
        | subresources
        for it in resource.versions
    ]
    plural, kind = resource.plural, resource.kind
    spec = {
        "group": resource.group,
        "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "versions": versions,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{resource.group}"},
        "spec": spec,
        "status": ESTABLISHED,
    }


def groups(resources: Iterable[Resource]) -> Raw:
    """The answer of /apis."""
    versions: dict[str, list[str]] = {}
    for resource in resources:
        if resource.group:
            known = versions.setdefault(resource.group, [])
            known.extend(it for it in resource.versions if it not in known)
    found = [_group(name, known) for name, known in versions.items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def _group(name: str, versions: Iterable[str]) -> Raw:
    told = [{"groupVersion": f"{name}/{it}", "version": it} for it in versions]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def resource_list(resources: Iterable[Resource], group: str, version: str) -> Raw | None:
    """The answer of /apis/<group>/<version>; None if there is no such version."""
    here = [it for it in resources if it.group == group and version in it.versions]
    if not here:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": [entry for it in here for entry in _entries(it)],
    }


_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def _entries(resource: Resource) -> Iterator[Raw]:
    entry: Raw = {
        "name": resource.plural,
        "singularName": resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
    }
    yield entry | {"verbs": _VERBS}
    if resource.has_status:
        yield entry | {
            "name": f"{resource.plural}/status",
            "singularName": "",
            "verbs": ["get", "patch", "update"],
        }
