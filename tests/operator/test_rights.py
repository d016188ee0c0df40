"""The rights that are shipped are those that are used, no more and no fewer."""

import re
from functools import cache
from typing import Any

import pytest

from provisioning import rights
from tests.operator.operators import Rig, lease, shipped
from tests.operator.proxy import Proxy, Request
from tests.testbed.apiserver import MEDIA

pytestmark = pytest.mark.cluster

Right = tuple[str, str, str, str]

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def test_every_right_is_used_and_none_is_lacking(rig: Rig) -> None:
    proxy = Proxy(rig.cluster)
    codes: list[tuple[Request, int]] = []
    proxy.answered = lambda request, code: codes.append((request, code))
    watched = rig.cluster.namespace("watched")
    with proxy.running():
        operator = rig.start(proxy=proxy, pod=rig.pod("contour-ingress:2"))
        rig.configure(envoy=MANAGED)
        rig.until_provisioned()
        rig.cluster.create(_fleet(rig))
        rig.cluster.create(_class(rig))
        served = rig.cluster.create(_served_class(rig))
        rig.cluster.create(lease(rig.namespace))
        for key in [it for it in rig.children() if it[0] == "Secret"]:
            _spoil(rig, key)
        gateway = {"mode": "PerGateway", "controllerName": _controller(rig)}
        rig.configure(contour={"watchNamespaces": [watched]}, envoy=MANAGED, gateway=gateway)
        wanted = {
            ("RoleBinding", watched, name + rig.namespace)
            for name in ("contour-resources-", "contour-gateways-")
        }
        rig.until(lambda: wanted <= rig.children().keys())
        rig.cluster.delete(rig.configuration())
        rig.until(lambda: rig.is_gone(rig.configuration()))
        # An Event that is told again is counted, which is another right.
        operator.stop()
    assert rig.children() == {}
    rig.cluster.delete(served)
    refused = [it for it in codes if it[1] in {401, 403}]
    assert refused == []
    used = {right for request, _ in codes if (right := _right(request)) is not None}
    # Applying what is not there yet is creating it, too; bindings bind.
    used |= {(*it[:2], "create", it[3]) for it in used if it[2] == "patch"} & _granted()
    used |= {(*RBAC, "bind", it) for it in BOUND}
    passed_on = _flat(rights.at_home("leader-elect", watches_everything=True))
    told_again = {("events.k8s.io", "events", "patch", "")}
    assert _granted() - used - passed_on - told_again == set()


def test_it_may_bind_one_role_and_neither_escalate_nor_do_anything_to_everything() -> None:
    every = [*shipped("ClusterRole")["rules"], *shipped("Role")["rules"]]
    for rule in every:
        assert "*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])
        assert not {"escalate", "impersonate"} & set(rule["verbs"])
        if "bind" in rule["verbs"]:
            assert rule["resources"] == ["clusterroles"]
            assert rule["resourceNames"] == BOUND
        if "secrets" in rule["resources"] and rule["verbs"] != ["create"]:
            assert set(rule["resourceNames"]) <= SECRETS


SECRETS = {"contour-authority", "contourcert", "envoycert"} | {
    "contour-ratelimit",
    "contour-ratelimit-client",
}
BOUND = ["contour", "contour-gateways", "contour-outer-classes", "contour-added"]
RBAC = ("rbac.authorization.k8s.io", "clusterroles")
MANAGED = {"networkPublishing": {"type": "ClusterIPService"}}


def _spoil(rig: Rig, key: tuple[str, str, str]) -> None:
    """Empties a Secret, and waits until it is whole again."""
    secret = rig.children()[key]
    emptied = {"data": dict.fromkeys(secret["data"], "")}
    rig.cluster.ask("PATCH", rig.cluster.path(secret), emptied, MEDIA["merge"])
    rig.until(lambda: all(rig.cluster.get(secret)["data"].values()))


def _fleet(rig: Rig) -> dict[str, Any]:
    """What an instance has made for the same configuration."""
    pod = {
        "metadata": {"labels": {"app": "envoy"}},
        "spec": {"containers": [{"name": "envoy", "image": "none"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "envoy", "namespace": rig.namespace, "labels": _labels(rig)},
        "spec": {"selector": {"matchLabels": {"app": "envoy"}}, "template": pod},
    }


def _class(rig: Rig) -> dict[str, Any]:
    """Likewise."""
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": f"envoy.{rig.namespace}", "labels": _labels(rig)},
        "spec": {"controllerName": "example.com/balancer"},
    }


def _served_class(rig: Rig) -> dict[str, Any]:
    """One of whose finalizer the instance has not taken leave."""
    finalizer = "gateway-exists-finalizer.gateway.networking.k8s.io"
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": f"served.{rig.namespace}", "finalizers": [finalizer]},
        "spec": {"controllerName": _controller(rig)},
    }


def _controller(rig: Rig) -> str:
    return f"example.com/{rig.namespace}"


def _labels(rig: Rig) -> dict[str, str]:
    return {
        "projectcontour.io/owning-configuration-name": "contour",
        "projectcontour.io/owning-configuration-namespace": rig.namespace,
        "app.kubernetes.io/managed-by": "contour",
    }


@cache
def _granted() -> set[Right]:
    return _flat(shipped("ClusterRole")["rules"]) | _flat(shipped("Role")["rules"])


def _flat(rules: list[dict[str, Any]]) -> set[Right]:
    return {
        (group, resource, verb, name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames") or ("",)
    }


_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/[^/]+(?:/namespaces/[^/]+)?"
    r"/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>status|scale))?$"
)


def _right(request: Request) -> Right | None:
    """What a request needs; None for what everybody may ask, such as discovery."""
    found = _PATH.match(request.path)
    if found is None or (found["group"] or "").startswith("authorization"):
        return None
    resource = found["resource"] + (f"/{found['part']}" if found["part"] else "")
    name = found["name"] or ""
    for selector in request.query.get("fieldSelector", ()):
        name = name or selector.removeprefix("metadata.name=")
    verb = _VERBS.get(request.method, "get" if found["name"] else "list")
    verb = "watch" if "watch" in request.query else verb
    right = (found["group"] or "", resource, verb, name)
    return right if right in _granted() else (*right[:3], "")
