"""Who may make an instance, asked of a real API server with the tokens of real accounts."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

import pytest

from provisioning import admission, manifests
from tests.cluster.cluster import Cluster
from tests.operator.operators import cluster_wide
from tests.operator.operators import namespace as a_namespace
from tests.testbed import processes
from tests.testbed.apiserver import RefusedError

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

CLUSTER_WIDE: Raw = {"contour": {}}
PER_GATEWAY = {"gateway": {"mode": "PerGateway"}}
OUTER_CLASS = {
    "envoy": {
        "networkPublishing": {
            "type": "ClusterIPService",
            "gateway": {"controllerName": "example.com/balancer"},
        }
    }
}
SIDECAR = {
    "extensions": [
        {
            "name": "tags",
            "hooks": {"post": ["VirtualHost"]},
            "service": {"unix": "/run/extensions/tags.sock"},
            "sidecar": {"image": "tags"},
        }
    ]
}
IMAGE = {"rateLimitFilters": {"service": {"image": "counter"}}}
KEYS = {
    "extensions": [
        {
            "name": "keys",
            "hooks": {"post": ["Translation"]},
            "service": {"unix": "/run/extensions/keys.sock"},
            "secrets": "Full",
        }
    ]
}
TAGS = {"extensions": [{it: v for it, v in KEYS["extensions"][0].items() if it != "secrets"}]}
BOOTSTRAP = {"envoy": {"bootstrap": {"type": "Merge", "value": "{}"}}}
SHOWN = {"envoy": {"clientCertificate": {"name": "client", "namespace": "other"}}}
PATCHES: Raw = {"gateway": {"envoyPatchPolicies": {}}}
PARAMETERS = {"gateway": {"parametersNamespaces": ["team"]}}
NO_LONGER_NAMED = {"contour": {"watchNamespaces": None}}
MANY = [f"other-{it}" for it in range(admission.MOST_NAMED - 1)]


@dataclass(frozen=True)
class Place:
    """A namespace with its tenant, and another one."""

    cluster: Cluster
    own: str
    other: str
    tokens: dict[str, str]

    def write(self, who: str, spec: Raw, name: str = "contour", **more: str) -> str:
        """The refusal; empty if it was taken. Nothing is kept of a dry run."""
        obj = self.configuration(self.placed(spec), name)
        path = self.cluster.path(obj, of_collection=True)
        return self._asked("POST", path, obj, who, more)

    def change(self, who: str, patch: Raw) -> str:
        """The same of a change, of what an administrator has made."""
        path = self.cluster.path(self.configuration({}))
        patch = patch if "spec" not in patch else {"spec": self.placed(patch["spec"])}
        return self._asked("PATCH", path, patch, who, {})

    def _asked(self, method: str, path: str, body: Raw, who: str, more: dict[str, str]) -> str:
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        query = {"dryRun": "All"} | more
        try:
            self.cluster.ask(method, path, body, media, self.tokens[who], **query)
        except RefusedError as error:
            if error.code != 403:
                raise
            return str(error)
        return ""

    def configuration(self, spec: Raw, name: str = "contour") -> Raw:
        """As it is written."""
        return {
            "apiVersion": "projectcontour.io/v1alpha1",
            "kind": "ContourConfiguration",
            "metadata": {"name": name, "namespace": self.own},
            "spec": spec,
        }

    def placed(self, spec: Raw) -> Raw:
        """With the names of the namespaces."""
        watched = (spec.get("contour") or {}).get("watchNamespaces")
        if watched is None:
            return spec
        names = [{"own": self.own, "other": self.other}.get(it, it) for it in watched]
        return spec | {"contour": spec["contour"] | {"watchNamespaces": names}}


@pytest.fixture(scope="module")
def place(cluster: Cluster) -> Iterator[Place]:
    own, other = (cluster.namespace(it) for it in ("team", "other"))
    tokens = {"administrator": ""} | {
        who: cluster.service_account(own, who, cluster_rules=[WRITES, *rules])
        for who, rules in RIGHTS.items()
    }
    bound = {"kind": "ServiceAccount", "namespace": own, "name": "tenant"}
    edit = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    cluster.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "tenant-edit", "namespace": own},
            "roleRef": edit,
            "subjects": [bound],
        }
    )
    found = Place(cluster, own, other, tokens)
    made = [_limited(it, own) for it in manifests.admission_policy()]
    for it in made:
        cluster.create(it)
    try:
        deadline = monotonic() + 30
        while not found.write("tenant", CLUSTER_WIDE):
            assert monotonic() < deadline, "the policy is not in force"
            sleep(0.1)
        yield found
    finally:
        for it in made:
            cluster.delete(it)
        for who in RIGHTS:
            for kind in ("ClusterRole", "ClusterRoleBinding"):
                cluster.delete(cluster_wide(kind, f"{own}-{who}"))
        for name in (own, other):
            cluster.delete(a_namespace(name))


def _right(group: str, resource: str, *verbs: str) -> Raw:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


WRITES = _right("projectcontour.io", "contourconfigurations", "create", "patch", "get")
READS = _right("", "secrets", "list")
RIGHTS: dict[str, list[Raw]] = {
    "tenant": [],  # `edit` in its own namespace
    "writer": [READS],  # may make no pods anywhere
    "reader": [READS],
    "engineer": [READS, _right("gateway.networking.k8s.io", "gateways", "patch")],
}


def _limited(document: Raw, name: str) -> Raw:
    """To the namespaces of this test, since others share the API server."""
    metadata = document["metadata"] | {"name": f"{document['metadata']['name']}-{name}"}
    spec = dict(document["spec"])
    if "policyName" in spec:
        spec["policyName"] += f"-{name}"
        labels = {"matchLabels": {"kubernetes.io/metadata.name": name}}
        spec["matchResources"] = {"namespaceSelector": labels}
    return document | {"metadata": metadata, "spec": spec}


def watching(*names: str) -> Raw:
    return {"contour": {"watchNamespaces": list(names)}}


@pytest.mark.parametrize(
    ("who", "spec", "refusal"),
    [
        ("administrator", CLUSTER_WIDE | PER_GATEWAY | OUTER_CLASS, ""),
        ("administrator", watching("other", *MANY, "one-more") | PER_GATEWAY, ""),
        ("engineer", CLUSTER_WIDE, ""),
        ("engineer", CLUSTER_WIDE | PER_GATEWAY, admission.FLEETS.words),
        ("engineer", CLUSTER_WIDE | OUTER_CLASS, admission.CLASSES.words),
        ("reader", CLUSTER_WIDE, admission.GATEWAYS.words),
        ("reader", watching("other", *MANY, "one-more"), ""),
        ("tenant", {"contour": None}, ""),
        ("tenant", PER_GATEWAY | OUTER_CLASS, ""),
        ("tenant", CLUSTER_WIDE, admission.SECRETS.words),
        ("tenant", watching(), admission.SECRETS.words),
        ("tenant", watching("own"), ""),
        ("tenant", watching("own") | PER_GATEWAY, ""),
        ("tenant", watching("own") | OUTER_CLASS, admission.CLASSES.words),
        ("tenant", watching("own", "other"), "the Secrets of namespace {other}"),
        ("tenant", watching("other"), "the Secrets of namespace {other}"),
        ("tenant", watching(*MANY), "the Secrets of namespace other-0"),
        ("tenant", watching(*MANY, "one-more"), admission.MANY.words),
        ("tenant", watching("own") | SIDECAR, ""),
        ("writer", watching("own") | SIDECAR, admission.SIDECARS.words),
        ("writer", watching("own"), ""),
        ("tenant", watching("own") | IMAGE, ""),
        ("writer", watching("own") | IMAGE, admission.IMAGES.words),
        ("writer", IMAGE, admission.IMAGES.words),
        ("tenant", IMAGE, ""),
        ("tenant", watching("own") | KEYS, ""),
        ("engineer", CLUSTER_WIDE | KEYS, ""),
        ("tenant", KEYS, admission.KEYS.words),
        ("tenant", watching("own") | BOOTSTRAP, ""),
        ("tenant", BOOTSTRAP, admission.BOOTSTRAP.words),
        ("reader", BOOTSTRAP | TAGS, ""),
        ("writer", watching("own") | {"rateLimitFilters": {"service": {}}}, ""),
    ],
)
def test_who_makes_an_instance_holds_what_it_will_hold(
    place: Place, who: str, spec: Raw, refusal: str
) -> None:
    found = place.write(who, spec)
    assert bool(found) is bool(refusal), found
    assert refusal.format(other=place.other) in found


def test_the_most_namespaces_that_may_be_named_are_asked_about_one_by_one(place: Place) -> None:
    """The budget of the API server for questions is enough."""
    names = [place.cluster.namespace("named") for _ in range(admission.MOST_NAMED - 1)]
    rights = [READS, _right("apps", "deployments", "create")]
    subject = {"kind": "ServiceAccount", "namespace": place.own, "name": "tenant"}
    for name in names:
        role = {"metadata": {"name": "tenant", "namespace": name}}
        version = "rbac.authorization.k8s.io/v1"
        place.cluster.create(role | {"apiVersion": version, "kind": "Role", "rules": rights})
        reference = {"apiGroup": version.partition("/")[0], "kind": "Role", "name": "tenant"}
        binding = {"apiVersion": version, "kind": "RoleBinding", "roleRef": reference}
        place.cluster.create(role | binding | {"subjects": [subject]})
    # The API server sees new rights a moment later.
    asked = watching("own", *names) | PER_GATEWAY
    processes.wait(lambda: place.write("tenant", asked) == "", "an instance in all of them")
    for name in names:
        place.cluster.delete(a_namespace(name))


@pytest.mark.parametrize(
    ("who", "before", "patch", "refusal"),
    [
        ("tenant", CLUSTER_WIDE, {"metadata": {"labels": {"a": "b"}, "finalizers": ["x/y"]}}, ""),
        ("tenant", CLUSTER_WIDE, {"spec": {"contour": {"replicas": 3}}}, ""),
        ("tenant", CLUSTER_WIDE, {"spec": watching("other")}, ""),
        ("tenant", CLUSTER_WIDE, {"spec": {"contour": None}}, ""),
        ("tenant", CLUSTER_WIDE, {"spec": PER_GATEWAY}, admission.FLEETS.words),
        ("tenant", CLUSTER_WIDE, {"spec": watching("other") | PER_GATEWAY}, "namespace {other}"),
        ("tenant", CLUSTER_WIDE | OUTER_CLASS, {"spec": {"contour": {"replicas": 3}}}, ""),
        ("tenant", CLUSTER_WIDE, {"spec": OUTER_CLASS}, admission.CLASSES.words),
        ("tenant", watching("other"), {"spec": watching("own", "other")}, ""),
        ("tenant", watching("other"), {"spec": watching("other", "default")}, "namespace default"),
        ("tenant", watching("other"), {"spec": watching()}, admission.SECRETS.words),
        ("tenant", watching("own"), {"spec": NO_LONGER_NAMED}, admission.SECRETS.words),
        ("engineer", watching("own") | PER_GATEWAY, {"spec": watching()}, admission.FLEETS.words),
        ("tenant", PER_GATEWAY, {"spec": CLUSTER_WIDE}, admission.SECRETS.words),
        ("tenant", PER_GATEWAY, {"spec": {"ingress": {"classNames": ["a"]}}}, ""),
        ("writer", watching("own") | IMAGE, {"spec": {"contour": {"replicas": 3}}}, ""),
        ("writer", IMAGE, {"spec": PER_GATEWAY}, ""),
        ("tenant", CLUSTER_WIDE, {"spec": KEYS}, admission.KEYS.words),
        ("tenant", CLUSTER_WIDE, {"spec": TAGS}, admission.KEYS.words),
        ("tenant", CLUSTER_WIDE, {"spec": BOOTSTRAP}, admission.BOOTSTRAP.words),
        ("tenant", CLUSTER_WIDE, {"spec": SHOWN}, admission.SHOWN.words),
        ("tenant", CLUSTER_WIDE, {"spec": PATCHES}, admission.PATCHES.words),
        ("tenant", CLUSTER_WIDE, {"spec": PARAMETERS}, admission.PARAMETERS.words),
        ("tenant", CLUSTER_WIDE, {"spec": KEYS | {"contour": None}}, admission.KEYS.words),
        ("tenant", CLUSTER_WIDE | BOOTSTRAP, {"spec": {"contour": None}}, ""),
        ("tenant", PER_GATEWAY, {"spec": BOOTSTRAP}, admission.BOOTSTRAP.words),
        ("tenant", BOOTSTRAP, {"spec": PER_GATEWAY}, ""),
        ("tenant", watching("other"), {"spec": BOOTSTRAP}, "namespace {other}"),
        ("tenant", CLUSTER_WIDE | KEYS, {"spec": {"contour": {"replicas": 3}}}, ""),
        ("tenant", watching("other"), {"spec": KEYS}, "namespace {other}"),
        ("reader", CLUSTER_WIDE, {"spec": KEYS}, ""),
        ("writer", IMAGE, {"spec": watching("own")}, admission.IMAGES.words),
        ("writer", watching("own"), {"spec": IMAGE}, admission.IMAGES.words),
    ],
)
def test_a_change_is_refused_if_it_asks_for_more(
    place: Place, who: str, before: Raw, patch: Raw, refusal: str
) -> None:
    made = place.configuration(place.placed(before))
    place.cluster.create(made)
    try:
        found = place.change(who, patch)
    finally:
        place.cluster.delete(made)
    assert bool(found) is bool(refusal), found
    assert refusal.format(other=place.other) in found
