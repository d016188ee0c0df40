"""The end of an instance: in order, with its fleet or without, and what waits is waited for."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from contour.infrastructure import ratelimitservice
from contour.infrastructure.desired import Release
from contour.keysets import shared, store
from contour_operator import reconciling
from crds.ratelimitservice import RateLimitService, Redis
from dag.nodes import RemoteJwks
from dag.ratelimitservice import Wanted
from provisioning.keeping import ownership
from provisioning.keeping.ownership import Owner
from tests.operator import inprocess
from tests.operator.operators import Rig, lease
from tests.operator.proxy import Proxy
from tests.testbed.apiserver import MEDIA

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

MANAGED = {"networkPublishing": {"type": "ClusterIPService"}}


OF_A_GATEWAY = {ownership.GATEWAY: "gw"}


def fleet(rig: Rig, more: Raw | None = None) -> Iterable[Raw]:
    """A Service and a DaemonSet that an instance has made for its configuration, with more
    labels."""
    labels = {
        "projectcontour.io/owning-configuration-name": "contour",
        "projectcontour.io/owning-configuration-namespace": rig.namespace,
        "app.kubernetes.io/managed-by": "contour",
        **(more or {}),
    }
    metadata = {"name": "envoy", "namespace": rig.namespace, "labels": labels}
    pod = {
        "metadata": {"labels": {"app": "envoy"}},
        "spec": {"containers": [{"name": "envoy", "image": "none"}]},
    }
    spec = {"selector": {"matchLabels": {"app": "envoy"}}, "template": pod}
    yield {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}
    service = {"ports": [{"port": 80}], "selector": {"app": "envoy"}}
    yield {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service}


def of_the_instance(rig: Rig) -> Iterable[Raw]:
    """A key set, and the rate limit service in both of its forms."""
    release = Release(Owner(rig.namespace, "contour"))
    source = RemoteJwks("https://issuer.example.com/jwks")
    yield shared.described(release, store.digest(source), shared.Fetched(source, '{"keys": []}'))
    for redis in (None, Redis(address="redis:6379")):
        wanted = Wanted(RateLimitService(), redis, "state")
        yield from ratelimitservice.documents(release, wanted, ratelimitservice.Site("10.1.2.3"))


def test_things_go_in_an_order_that_harms_nobody_and_what_waits_is_waited_for(rig: Rig) -> None:
    proxy = Proxy(rig.cluster)
    with proxy.running():
        rig.start(proxy=proxy)
        rig.configure(envoy=MANAGED)
        rig.until_provisioned()
        daemons, service = map(rig.cluster.create, fleet(rig))
        held = {"metadata": {"finalizers": ["example.com/balancer"]}}
        rig.cluster.ask("PATCH", rig.cluster.path(service), held, MEDIA["merge"])
        rig.cluster.delete(rig.configuration())
        rig.until(lambda: rig.reason() == "Deleting")
        assert f"Service {rig.namespace}/envoy" in rig.condition("Provisioned")["message"]
        assert not rig.cluster.get(daemons)["metadata"].get("deletionTimestamp")
        freed = {"metadata": {"finalizers": None}}
        rig.cluster.ask("PATCH", rig.cluster.path(service), freed, MEDIA["merge"])
        rig.until(lambda: rig.is_gone(rig.configuration()))
    assert rig.children() == {}
    deleted = [tuple(it.path.split("/")[-2:]) for it in proxy.requests if it.method == "DELETE"]
    kinds = {"services", "daemonsets", "deployments"}
    order = [it for it in dict.fromkeys(deleted) if it[0] in kinds]
    assert order == [
        *(("services", "envoy"), ("services", "contour")),
        *(("daemonsets", "envoy"), ("deployments", "contour")),
    ]


@pytest.mark.parametrize(
    ("envoy", "labels"),
    [
        pytest.param(MANAGED | {"managed": False}, {}, id="not managed"),
        pytest.param(MANAGED | {"managed": False}, OF_A_GATEWAY, id="not managed, of a Gateway"),
        pytest.param({}, {}, id="not published"),
    ],
)
def test_a_fleet_that_was_handed_over_outlives_its_instance(
    operated: Rig, envoy: Raw, labels: Raw
) -> None:
    operated.configure(envoy=envoy)
    operated.until_provisioned()
    made = [operated.cluster.create(it) for it in fleet(operated, labels)]
    operated.cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
    assert {kind for kind, _, _ in operated.children()} == {"DaemonSet", "Service"}
    assert all(operated.cluster.get(it)["metadata"]["uid"] == it["metadata"]["uid"] for it in made)


@pytest.mark.parametrize("is_managed", [True, False])
def test_what_an_instance_has_made_for_itself_goes(operated: Rig, is_managed: bool) -> None:
    operated.configure(envoy=MANAGED | {"managed": is_managed})
    operated.until_provisioned()
    made = [operated.cluster.apply(it) for it in of_the_instance(operated)]
    assert {it["kind"] for it in made} >= {"ConfigMap", "Deployment", "EndpointSlice"}
    operated.cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
    assert [it for it in made if not operated.is_gone(it)] == []


def test_a_fleet_of_a_gateway_goes_that_its_envoyproxy_published(operated: Rig) -> None:
    """The configuration does not publish one."""
    operated.configure()
    operated.until_provisioned()
    for it in fleet(operated, OF_A_GATEWAY):
        operated.cluster.create(it)
    operated.cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
    assert operated.children() == {}


@pytest.mark.parametrize("other", [[], ["gateway.projectcontour.io/elsewhere.contour"]])
def test_finalizers_that_no_replica_has_taken_off_go(operated: Rig, other: list[str]) -> None:
    """No pod runs here. The class keeps its own while another instance serves a Gateway of it; that
    of an earlier controllerName is known by who has put it there."""
    cluster, namespace = operated.cluster, operated.namespace
    name = f"example.com/{namespace}"
    operated.configure(gateway={"controllerName": name})
    operated.until_provisioned()
    own = f"gateway.projectcontour.io/{namespace}.contour"
    of_class = ["gateway-exists-finalizer.gateway.networking.k8s.io"]
    served = cluster.create(_gateway(cluster.namespace(), namespace, [*other, own]))
    class_ = cluster.create(_gateway_class(namespace, name, of_class))
    foreign = cluster.create(_gateway_class(f"not-{namespace}", "example.com/other", of_class))
    before = cluster.create(_gateway_class(f"before-{namespace}", "example.com/before", []))
    change, manager = {"metadata": {"finalizers": of_class}}, {"fieldManager": own}
    cluster.ask("PATCH", cluster.path(before), change, MEDIA["merge"], **manager)
    cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
    left = [_freed(operated, it) for it in (served, class_, foreign, before)]
    assert left == [other, of_class if other else [], of_class, []]


def _freed(rig: Rig, obj: Raw) -> list[str]:
    """The finalizers of an object, which is removed."""
    found: list[str] = rig.cluster.get(obj)["metadata"].get("finalizers", [])
    if found:
        freed = {"metadata": {"finalizers": None}}
        rig.cluster.ask("PATCH", rig.cluster.path(obj), freed, MEDIA["merge"])
    rig.cluster.delete(obj)
    return found


def _gateway(namespace: str, class_: str, finalizers: list[str]) -> Raw:
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "gw", "namespace": namespace, "finalizers": finalizers},
        "spec": {"gatewayClassName": class_, "listeners": [listener]},
    }


def _gateway_class(name: str, controller: str, finalizers: list[str]) -> Raw:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": name, "finalizers": finalizers},
        "spec": {"controllerName": controller},
    }


def test_a_namespace_that_is_deleted_takes_its_instance_along(operated: Rig) -> None:
    operated.configure()
    operated.until_provisioned()
    doomed: Raw = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": operated.namespace},
    }
    operated.cluster.delete(doomed)
    operated.until(lambda: operated.is_gone(operated.configuration()))
    operated.until(lambda: operated.children() == {})


def test_a_right_that_is_missing_is_told_and_waited_for(rig: Rig) -> None:
    rig.start()
    rig.configure()
    rig.until_provisioned()
    with rig.lesser("networking.k8s.io"):
        policy = rig.children()["NetworkPolicy", rig.namespace, "contour"]
        rig.cluster.delete(policy)
        rig.configure(contour={"replicas": 3})
        rig.until(lambda: rig.reason() == "Forbidden")
        assert "NetworkPolicy" in rig.condition("Provisioned")["message"]
        deployment = rig.children()["Deployment", rig.namespace, "contour"]
        rig.until(lambda: rig.cluster.get(deployment)["spec"]["replicas"] == 3)
    rig.until_provisioned()
    assert not rig.is_gone(policy)


async def test_what_it_may_not_remove_does_not_hold_a_configuration_for_ever(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, config = Owner(rig.namespace, "contour"), rig.access()
    rig.configure()
    await inprocess.live(config, owner)
    rig.cluster.delete(rig.configuration())
    with rig.lesser("networking.k8s.io"):
        monkeypatch.setattr(reconciling, "PATIENCE", 0.0)
        await inprocess.live(config, owner)
    assert rig.is_gone(rig.configuration())
    assert [kind for kind, _, _ in rig.children()] == ["NetworkPolicy"]


NOW = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
FRESH = {"leaseDurationSeconds": 3600, "renewTime": NOW}
STALE = FRESH | {"renewTime": "2024-01-31T12:00:00.000000Z"}


@pytest.mark.parametrize(
    ("spec", "goes"),
    [
        pytest.param({"leaseDurationSeconds": 1}, True, id="freed"),
        pytest.param(
            FRESH | {"holderIdentity": "contour-7d4b-x2x_1"}, True, id="of a dead replica"
        ),
        pytest.param(STALE | {"holderIdentity": "mine_1"}, True, id="forgotten"),
        pytest.param(FRESH | {"holderIdentity": "mine_1"}, False, id="of somebody else"),
    ],
)
def test_the_lease_of_the_replicas_goes_unless_somebody_else_holds_it(
    operated: Rig, spec: dict[str, Any], goes: bool
) -> None:
    operated.configure()
    operated.until_provisioned()
    made = operated.cluster.create(lease(operated.namespace, **spec))
    operated.cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
    assert operated.is_gone(made) is goes
