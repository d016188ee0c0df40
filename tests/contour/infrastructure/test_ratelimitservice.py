"""The rate limit service of an instance is made, repaired and removed; on the real API server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from contour.infrastructure import ratelimitservice
from contour.infrastructure.desired import Release
from contour.infrastructure.ratelimitservice import RateLimits
from crds.ratelimitservice import RateLimitService, Redis, RedisTLS
from crds.workloads import Placement, Resources
from dag.fleets import FleetProblem
from dag.ratelimitservice import Wanted
from kube import kubeconfig
from kube.client import Client
from provisioning import certificates, identities, pem, rights, secrets
from provisioning.keeping.ownership import Owner
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure.crash_harness import authority
from tests.testbed.apiserver import RefusedError

Raw = dict[str, Any]

NAME = "contour-ratelimit"
SITE = ratelimitservice.Site("10.1.2.3", 8181)
LEADER = f"{NAME}-leader"
IN_MEMORY = Wanted(RateLimitService(), None, "now")
WANTED = Wanted(RateLimitService(), Redis(address="redis.shop:6379"), "now")
VERSIONS = {
    "ServiceAccount": "v1",
    "Service": "v1",
    "Deployment": "apps/v1",
    "PodDisruptionBudget": "policy/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
}
SLICE = "discovery.k8s.io/v1"


def documents(wanted: Wanted = WANTED, suffix: str = "") -> dict[str, Raw]:
    release = Release(Owner("home", "contour"), suffix=suffix)
    return {it["kind"]: it for it in ratelimitservice.documents(release, wanted, SITE)}


def test_its_pods_are_closed_and_only_envoys_reach_them() -> None:
    found = documents()
    assert found["Service"]["spec"]["type"] == "ClusterIP"
    (rule,) = found["NetworkPolicy"]["spec"]["ingress"]
    (envoys,) = rule["from"]
    assert envoys["podSelector"]["matchLabels"]["app.kubernetes.io/name"] == "envoy"
    assert rule["ports"] == [{"protocol": "TCP", "port": 8081}]
    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    settings = environment(found)
    assert settings["HOST"] == settings["DEBUG_HOST"] == "127.0.0.1"
    assert settings["GRPC_CLIENT_TLS_SAN"] == identities.RATE_LIMIT_CLIENT
    assert settings["CONFIG_GRPC_XDS_SERVER_TLS_SAN"] == identities.CONTROL_PLANE
    assert "REDIS_TLS" not in settings
    assert "REDIS_AUTH" not in settings


def environment(found: dict[str, Raw]) -> Raw:
    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    return {it["name"]: it.get("value", it.get("valueFrom")) for it in container["env"]}


def test_what_is_asked_for_is_in_its_pods() -> None:
    service = RateLimitService(
        image="mine:1",
        replicas=5,
        resources=Resources(limits={"memory": "1Gi"}),
        placement=Placement(node_selector={"disk": "fast"}),
        pod_annotations={"mine": "yes"},
    )
    redis = Redis(address="r:1", tls=RedisTLS(ca_secret="theirs"), password_secret="word")
    found = documents(Wanted(service, redis, "now"), suffix="-blue")
    assert {it["metadata"]["name"] for it in found.values()} == {f"{NAME}-blue"}
    spec = found["Deployment"]["spec"]
    assert spec["replicas"] == 5
    pod = spec["template"]
    assert pod["metadata"]["annotations"] == {"mine": "yes", "projectcontour.io/state": "now"}
    assert pod["spec"]["nodeSelector"] == {"disk": "fast"}
    assert pod["spec"]["containers"][0]["image"] == "mine:1"
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"memory": "1Gi"}}
    settings = environment(found)
    assert settings["REDIS_TLS"] == "true"
    assert settings["REDIS_TLS_CACERT"] == "/redis/ca.crt"
    assert settings["REDIS_AUTH"] == {"secretKeyRef": {"name": "word", "key": "redis-password"}}
    assert settings["CONFIG_GRPC_XDS_SERVER_URL"] == "contour-blue:8001"


@dataclass(slots=True)
class Rig:
    """A leader with the shipped rights; what it is to make is said by the test."""

    cluster: Cluster
    namespace: str
    wanted: Wanted | None = None
    is_known: bool = True
    told: list[Sequence[FleetProblem]] = field(default_factory=list[Sequence[FleetProblem]])
    running: RateLimits | None = None

    def want(self, wanted: Wanted | None) -> None:
        """It is to be so."""
        self.wanted = wanted
        if self.running is not None:
            self.running.notice()

    def named(self, kind: str, name: str = NAME) -> Raw:
        """An object's identity."""
        metadata = {"name": name, "namespace": self.namespace}
        versions = VERSIONS | {"EndpointSlice": SLICE}
        return {"apiVersion": versions.get(kind, "v1"), "kind": kind, "metadata": metadata}

    def get(self, kind: str, name: str = NAME) -> Raw:
        """An object; empty if there is none."""
        with suppress(RefusedError):
            return self.cluster.get(self.named(kind, name))
        return {}

    def uid(self, kind: str) -> str:
        """Of an object; empty if there is none."""
        return str(self.get(kind).get("metadata", {}).get("uid", ""))

    def made(self) -> set[str]:
        """The kinds of which there is an object."""
        return {it for it in VERSIONS if self.get(it)}

    async def until(self, is_so: Any) -> None:
        """Looks until it is so."""
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(is_so):
                await asyncio.sleep(0.05)


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> Rig:
    cluster.create(authority(namespace))
    return Rig(cluster, namespace)


@asynccontextmanager
async def leading(it: Rig, *, may: bool = True, address: str = SITE.address) -> AsyncIterator[None]:
    """One term of the replica with this address; `may`: with the rights of an instance that manages
    its Envoys."""
    rules = rights.at_home("leader-elect", watches_everything=True, makes_fleet=may)
    try:
        token = it.cluster.token(it.namespace, "leader")
    except RefusedError:
        token = it.cluster.service_account(it.namespace, "leader", rules)
    access = kubeconfig.Kubeconfig(str(it.cluster.kubeconfig(token, it.namespace)))
    async with Client(access, "tests") as client:
        release = Release(Owner(it.namespace, "contour"))
        it.running = RateLimits(
            *(client, release, lambda: it.wanted, it.told.append, lambda: it.is_known),
            ratelimitservice.Site(address, SITE.port),
        )
        task = asyncio.ensure_future(it.running.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            it.running = None
            if not task.cancelled():
                task.result()


@pytest.mark.cluster
async def test_it_is_made_with_its_certificates_repaired_and_removed(rig: Rig) -> None:
    rig.want(WANTED)
    async with leading(rig):
        await rig.until(lambda: rig.made() == {*VERSIONS})
        _require_certified(rig)
        for kind in VERSIONS:
            before = rig.uid(kind)
            rig.cluster.delete(rig.named(kind))
            await rig.until(lambda k=kind, was=before: rig.uid(k) not in {"", was})
        change = [{"op": "replace", "path": "/spec/type", "value": "NodePort"}]
        path = rig.cluster.path(rig.named("Service"))
        rig.cluster.ask("PATCH", path, change, "application/json-patch+json", fieldManager="me")
        await rig.until(lambda: rig.get("Service")["spec"]["type"] == "ClusterIP")
        rig.want(None)
        await rig.until(lambda: rig.made() == set())
    assert rig.told[-1] == []


@pytest.mark.cluster
async def test_without_redis_its_only_endpoint_is_the_replica_that_leads(rig: Rig) -> None:
    def endpoints() -> list[tuple[list[str], int]]:
        found = rig.get("EndpointSlice", LEADER)
        (port,) = [it["port"] for it in found.get("ports", ())] or [0]
        return [(it["addresses"], port) for it in found.get("endpoints", ())]

    rig.want(WANTED)
    async with leading(rig):
        await rig.until(lambda: rig.made() == {*VERSIONS})
        rig.want(IN_MEMORY)
        await rig.until(lambda: rig.made() == {"ServiceAccount"})
        assert endpoints() == [([SITE.address], SITE.port)]
        assert "selector" not in rig.get("Service", LEADER)["spec"]
        _require_certified(rig)
        rig.cluster.delete(rig.named("EndpointSlice", LEADER))
        await rig.until(endpoints)
    async with leading(rig, address="10.3.2.1"):
        await rig.until(lambda: endpoints() == [(["10.3.2.1"], SITE.port)])
        rig.want(None)
        await rig.until(lambda: not rig.made() and not rig.get("Service", LEADER))
        await rig.until(lambda: not endpoints())
        rig.want(IN_MEMORY)
    async with leading(rig, address="replica.example"):
        await rig.until(lambda: any("is no IP address" in it.message for it in rig.told[-1]))


def _require_certified(rig: Rig) -> None:
    """Signed by the authority, with names of their own, and owned by the ServiceAccount."""
    (known,) = pem.authorities(secrets.leaf(rig.get("Secret"))[1])
    uid = rig.uid("ServiceAccount")
    wanted = {NAME: identities.RATE_LIMIT_SERVICE, f"{NAME}-client": identities.RATE_LIMIT_CLIENT}
    for name, identity in wanted.items():
        found = rig.get("Secret", name)
        leaf, _ = secrets.leaf(found)
        assert leaf is not None
        assert identity in certificates.names(leaf.certificate)
        assert certificates.is_issued_by(leaf.certificate, known.certificate)
        assert [it["uid"] for it in found["metadata"]["ownerReferences"]] == [uid]


@pytest.mark.cluster
async def test_the_next_leader_removes_what_is_left_and_what_is_others_stays(rig: Rig) -> None:
    theirs = rig.named("NetworkPolicy") | {"spec": {"podSelector": {}}}
    rig.cluster.create(theirs)
    rig.want(WANTED)
    async with leading(rig):
        await rig.until(lambda: rig.made() == {*VERSIONS} and rig.told)
        (told,) = [it.message for it in rig.told[-1]]
        assert "is there already and does not carry our labels" in told
    rig.want(None)
    rig.is_known = False
    async with leading(rig):
        await asyncio.sleep(2)
        assert rig.made() == {*VERSIONS}, "a leader that has just begun knows of no route yet"
        rig.is_known = True
        await rig.until(lambda: rig.made() == {"NetworkPolicy"})


@pytest.mark.cluster
async def test_pods_wait_for_what_they_read_when_they_start(rig: Rig) -> None:
    rig.want(Wanted(WANTED.settings, WANTED.redis, ""))
    async with leading(rig):
        await rig.until(lambda: rig.told and rig.made() == {*VERSIONS} - {"Deployment"})
        (told,) = rig.told[-1]
        assert not told.is_error
        rig.want(WANTED)
        await rig.until(lambda: rig.get("Deployment"))
        rig.want(Wanted(WANTED.settings, WANTED.redis, "later"))
        await rig.until(lambda: "later" in str(rig.get("Deployment")["spec"]["template"]))


@pytest.mark.cluster
async def test_an_instance_without_the_rights_tells_what_it_may_not_and_no_more(rig: Rig) -> None:
    async with leading(rig, may=False):
        await rig.until(lambda: rig.told == [[]])
        rig.want(WANTED)
        await rig.until(lambda: len(rig.told) > 1)
        assert all("forbidden" in it.message for it in rig.told[1])
    assert rig.made() == set()
