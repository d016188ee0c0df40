"""What the shipped ServiceAccounts may ask a real API server for, asked with their own tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from crds import kinds
from provisioning import installation, manifests
from provisioning.installation import Place
from tests.cluster.cluster import Cluster
from tests.testbed.apiserver import RefusedError

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]
Right = tuple[str, str, str, str]

_RBAC = {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}


@dataclass
class Rig:
    """An instance whose accounts and rights are there, without its pods."""

    cluster: Cluster
    home: str
    elsewhere: str
    documents: list[Raw]

    def token(self, account: str) -> str:
        """Of one of its ServiceAccounts."""
        return self.cluster.token(self.home, account)

    def rights(self, account: str, namespace: str) -> set[Right]:
        """What the API server says that the account may do there, beside what everybody may."""
        answer = self.cluster.ask(
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            {"spec": {"namespace": namespace}},
            token=self.token(account),
        )
        return _flat(answer["status"]["resourceRules"]) - _of_everybody()

    def granted(self, account: str, namespace: str) -> set[Right]:
        """What the manifests grant it there."""
        roles = {(it["kind"], *_name(it)): it for it in self.documents if "rules" in it}
        found: set[Right] = set()
        for it in self.documents:
            if it["kind"].endswith("RoleBinding") and it["subjects"][0]["name"] == account:
                where = it["metadata"].get("namespace", "")
                of = "" if it["roleRef"]["kind"] == "ClusterRole" else where
                if where in ("", namespace):
                    role = roles.get((it["roleRef"]["kind"], of, it["roleRef"]["name"]))
                    found |= _flat(role["rules"]) if role else set()
        return found


@pytest.fixture(scope="module", params=["everywhere", "namespaced"])
def rig(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Rig]:
    namespace, elsewhere = cluster.namespace(), cluster.namespace()
    watched = () if request.param == "everywhere" else (elsewhere,)
    given = installation.installation(Place(namespace=namespace), watch_namespaces=watched)
    every = [it for it in manifests.everything(given) if it["kind"] in _RBAC]
    text = yaml.safe_dump_all(every)
    done = cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    assert done.returncode == 0, done.stderr
    yield Rig(cluster, namespace, elsewhere, every)
    for it in every:
        if it["kind"] == "ClusterRoleBinding":
            cluster.delete(it)
    for name in (namespace, elsewhere):
        cluster.delete_namespace(name)


@pytest.mark.parametrize("account", ["contour", "contour-certgen", "envoy"])
def test_the_rights_are_those_of_the_manifests_and_no_others(rig: Rig, account: str) -> None:
    for namespace in (rig.home, rig.elsewhere, "kube-system"):
        granted = rig.granted(account, namespace)
        assert rig.rights(account, namespace) == granted
        assert bool(granted) is _has_rights(account, namespace, rig)


def test_every_kind_is_listed_changes_are_told_and_statuses_written(rig: Rig) -> None:
    token = rig.token("contour")
    for kind in kinds.KINDS.values():
        if kind.namespaced and not kind.opt_in and _is_served(rig.cluster, kind):
            path = f"{_root(kind)}/namespaces/{rig.elsewhere}/{kind.plural}"
            rig.cluster.ask("GET", path, token=token, limit="1")
    proxy = _proxy(rig.elsewhere, "told")
    path = rig.cluster.path(proxy, of_collection=True)
    rig.cluster.ask("GET", path, token=token, watch="1", timeoutSeconds="1")
    rig.cluster.create(proxy)
    path = f"{rig.cluster.path(proxy)}/status"
    body = {"status": {"currentStatus": "valid"}}
    media = "application/merge-patch+json"
    rig.cluster.ask("PATCH", path, body, media, token=token)
    assert rig.cluster.get(proxy)["status"]["currentStatus"] == "valid"
    rig.cluster.ask("GET", rig.cluster.path(proxy), token=token)


def test_the_lease_is_taken_and_renewed_at_home_only(rig: Rig) -> None:
    token = rig.token("contour")
    lease = _lease(rig.home, "leader-elect")
    path = rig.cluster.path(lease, of_collection=True)
    created = rig.cluster.ask("POST", path, lease, token=token)
    rig.cluster.ask("PUT", f"{path}/leader-elect", created, token=token)
    for other in (_lease(rig.elsewhere, "leader-elect"), _lease("kube-system", "leader-elect")):
        path = rig.cluster.path(other, of_collection=True)
        assert _code(rig.cluster, "POST", path, token, other) == 403
    rig.cluster.create(_lease(rig.home, "of-somebody-else"))
    path = rig.cluster.path(_lease(rig.home, "of-somebody-else"))
    assert _code(rig.cluster, "GET", path, token) == 403


def test_what_it_does_not_need_is_refused(rig: Rig) -> None:
    proxy = _proxy(rig.elsewhere, "left-alone")
    rig.cluster.create(proxy)
    of_it = rig.cluster.path(proxy)
    core, merge = f"/api/v1/namespaces/{rig.elsewhere}", "application/merge-patch+json"
    patch: Raw = {"spec": {"routes": []}}
    refused = [
        ("POST", f"{core}/pods", {}, "application/json"),
        ("POST", f"{core}/secrets", {}, "application/json"),
        ("POST", f"{core}/services", {}, "application/json"),
        ("PATCH", of_it, patch, merge),
        ("PUT", of_it, proxy, "application/json"),
        ("DELETE", of_it, None, "application/json"),
        ("GET", f"{core}/secrets/any", None, "application/json"),
        ("GET", f"{core}/pods", None, "application/json"),
        ("POST", f"{core}/serviceaccounts/default/token", {}, "application/json"),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles", None, "application/json"),
    ]
    token = rig.token("contour")
    codes = [_code(rig.cluster, *it[:2], token, *it[2:]) for it in refused]
    assert codes == [403] * len(refused)


def test_of_the_certificates_only_their_renewal_may_touch_their_secrets(rig: Rig) -> None:
    token = rig.token("contour-certgen")
    at_home = f"/api/v1/namespaces/{rig.home}/secrets"
    for name, code in {"contourcert": 404, "contour-authority": 404, "other": 403}.items():
        assert _code(rig.cluster, "GET", f"{at_home}/{name}", token) == code
    assert _code(rig.cluster, "GET", at_home, token) == 403
    away = f"/api/v1/namespaces/{rig.elsewhere}/secrets"
    assert _code(rig.cluster, "POST", away, token, {}) == 403


def _has_rights(account: str, namespace: str, rig: Rig) -> bool:
    if account == "envoy":
        return False
    if account == "contour-certgen":
        return namespace == rig.home
    return namespace != "kube-system" or any(it["kind"] == "ClusterRole" for it in rig.documents)


def _flat(rules: list[Raw]) -> set[Right]:
    return {
        (group, resource, verb, name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames") or ("",)
    }


def _of_everybody() -> set[Right]:
    """`system:basic-user`: to ask about oneself."""
    return {
        ("authorization.k8s.io", "selfsubjectaccessreviews", "create", ""),
        ("authorization.k8s.io", "selfsubjectrulesreviews", "create", ""),
        ("authentication.k8s.io", "selfsubjectreviews", "create", ""),
    }


def _name(document: Raw) -> tuple[str, str]:
    return document["metadata"].get("namespace", ""), document["metadata"]["name"]


def _root(kind: kinds.Kind) -> str:
    return f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"


def _is_served(cluster: Cluster, kind: kinds.Kind) -> bool:
    return _code(cluster, "GET", f"{_root(kind)}/{kind.plural}", "") == 200


def _code(
    cluster: Cluster,
    method: str,
    path: str,
    token: str,
    body: Any = None,
    media: str = "application/json",
) -> int:
    try:
        cluster.ask(method, path, body, media, token)
    except RefusedError as error:
        return error.code
    return 200


def _proxy(namespace: str, name: str) -> Raw:
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"virtualhost": {"fqdn": f"{name}.{namespace}.example.com"}},
    }


def _lease(namespace: str, name: str) -> Raw:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"holderIdentity": "one"},
    }
