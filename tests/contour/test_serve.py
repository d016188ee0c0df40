"""Replicas that are cut off from a real API server, and where their Envoys go.

The replicas are in this process, each with a proxy of its own before the API server; the Envoy
reaches them by what stands for their Service. How long they trust what they know is cut to two
seconds.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from contour import shedding
from contour.envoyreports import collector, reporting
from contour.infrastructure.desired import Release
from contour.kubernetes.scope import Scope
from contour.pages.settings import ListenAddress
from contour.serve import Election, Options, Replica
from contour.xds.resources import ROUTE, Name
from crds.meta import NamespacedName
from dag.fleetnames import DEFAULT_FLEET
from kube.client import Client
from kube.election import Place
from kube.kubeconfig import Kubeconfig
from kube.lease import Timing
from provisioning.keeping.ownership import Owner
from tests.cluster.cluster import Cluster
from tests.cluster.proxies import Service, Target, TcpProxy
from tests.contour.xds import envoys
from tests.testbed.commands import write_kubeconfig
from tests.testbed.ports import free_ports

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.envoy,
    pytest.mark.timeout(400),
]

TIMING = Timing(duration=3.0, renew_deadline=2.0, retry_period=0.2)
PATIENCE = 120.0  # for what takes seconds on a machine that is not busy
HOST = "site.example.com"

CUTS: dict[str, Callable[[TcpProxy], int]] = {"refuse": TcpProxy.refuse, "hole": TcpProxy.close}


@dataclass
class Running:
    """A replica, and the proxy between it and the API server."""

    replica: Replica
    proxy: TcpProxy
    port: int

    async def is_ready(self) -> bool:
        return bool(self.replica.readiness)

    @property
    def envoys(self) -> int:
        return self.replica.server.connections

    @property
    def is_leader(self) -> bool:
        return self.replica.leadership.is_leader()

    @property
    def lack(self) -> str:
        """Why it is not ready though it once was."""
        return self.replica.readiness.missing.get("current", "")

    def versions(self) -> dict[str, str | None]:
        """Of all routes that it serves."""
        found = self.replica.server.fleet(DEFAULT_FLEET).acceptance
        return {name: found.version(Name(ROUTE, name)) for name in found.names(ROUTE)}


@dataclass
class Instance:
    """Replicas in a namespace of a cluster, one Envoy, and what it answers."""

    cluster: Cluster
    namespace: str
    replicas: list[Running]
    service: Service
    browser: envoys.Browser

    async def answers(self, text: str) -> None:
        """The HTTPProxy has this answer from now on."""
        await asyncio.to_thread(self.cluster.apply, proxy(self.namespace, text))

    async def until_answered(self, text: str, before: str) -> None:
        """Asks until Envoy answers so; every answer before that has to be the one before."""
        async with asyncio.timeout(PATIENCE):
            while (answer := await self.answer()) != text:
                assert answer == before
                await asyncio.sleep(0.05)

    async def answer(self) -> str:
        """What Envoy answers now."""
        try:
            return await self.browser.get(HOST)
        except aiohttp.ClientConnectorError:
            return "refused"

    async def until_leading(self) -> tuple[Running, Running]:
        """The leader, and the other one that reports to it."""
        await until(lambda: any(it.is_leader for it in self.replicas), "a leader")
        leader, follower = sorted(self.replicas, key=lambda it: not it.is_leader)
        await until(lambda: follower.replica.reporter.is_reporting, "the other one to report")
        return leader, follower

    async def hang_on(self, it: Running) -> None:
        """Has the Envoy on this replica, as the Service may have chosen."""
        every, self.service.targets = (
            self.service.targets,
            [target for target in self.service.targets if target.port == it.port],
        )
        for other in self.replicas:
            if other is not it:
                other.replica.server.let_go(1)
        await until(lambda: it.envoys == 1, "the Envoy on the replica")
        self.service.targets = every


async def until(is_so: Callable[[], object], wanted: str, seconds: float = PATIENCE) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not is_so():
        assert loop.time() < deadline, f"never came: {wanted}"
        await asyncio.sleep(0.05)


def configuration(namespace: str, port: int) -> dict[str, Any]:
    here = {"address": "127.0.0.1"}
    envoy = {"http": here | {"port": port}, "https": here | {"port": free_ports(1)[0]}}
    return {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": {"name": "contour", "namespace": namespace},
        "spec": {"envoy": envoy},
    }


def proxy(namespace: str, text: str) -> dict[str, Any]:
    route = {"directResponsePolicy": {"statusCode": 200, "body": text}}
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": {"name": "site", "namespace": namespace},
        "spec": {"virtualhost": {"fqdn": HOST}, "routes": [route]},
    }


@asynccontextmanager
async def running(
    cluster: Cluster, namespace: str, folder: Path, state: Path | None = None
) -> AsyncIterator[Running]:
    """A replica of `contour serve`."""
    port, pages, debug = free_ports(3)
    async with TcpProxy.to(cluster.url) as proxy:
        path, token = folder / f"{port}.kubeconfig", cluster.admin_token
        config = write_kubeconfig(path, proxy.url, token, namespace, cluster.authority)
        options = Options(
            access=Kubeconfig(str(config)),
            configuration=NamespacedName(namespace, "contour"),
            address=f"127.0.0.1:{port}",
            advertised=f"127.0.0.1:{port}",
            tls=None,
            fleet_service=NamespacedName(namespace, "envoy"),
            release=Release(Owner(namespace, "contour")),
            scope=Scope((namespace,), namespace),
            state=state,
            election=Election(Place(namespace, "leader-elect"), TIMING),
            sites={
                "health": ListenAddress("127.0.0.1", pages),
                "metrics": ListenAddress("127.0.0.1", pages),
                "debug": ListenAddress("127.0.0.1", debug),
            },
        )
        async with Client(options.access) as client:
            client.reachability.dead = TIMING.renew_deadline
            replica = Replica(client, options)
            replica.server.fallback = DEFAULT_FLEET
            replica.reporter.timings = reporting.Timings(alive=0.3)
            replica.shedding.pace = shedding.Pace(look=0.1, notice=0.3)
            async with replica.open(), asyncio.TaskGroup() as tasks:
                going_on = [tasks.create_task(it) for it in replica.activities()]
                yield Running(replica, proxy, port)
                for it in going_on:
                    it.cancel()


@asynccontextmanager
async def instance(cluster: Cluster, namespace: str, folder: Path) -> AsyncIterator[Instance]:
    """Two replicas that are ready, and an Envoy that answers `one`."""
    (port,) = free_ports(1)
    for it in (configuration(namespace, port), proxy(namespace, "one")):
        await asyncio.to_thread(cluster.apply, it)
    async with AsyncExitStack() as stack:
        replicas = [
            await stack.enter_async_context(running(cluster, namespace, folder)) for _ in range(2)
        ]
        await until(lambda: all(it.replica.readiness for it in replicas), "all to be ready")
        service = Service([Target(it.port, it.is_ready) for it in replicas])
        await stack.enter_async_context(service.at(folder / "service"))
        await stack.enter_async_context(envoys.envoy(folder, str(folder / "service")))
        browser = await stack.enter_async_context(envoys.browser(port))
        found = Instance(cluster, namespace, replicas, service, browser)
        await found.until_answered("one", before="refused")
        yield found


@pytest.mark.parametrize("cut", CUTS)
async def test_a_follower_that_is_cut_off_sends_its_envoys_to_who_is_current(
    cluster: Cluster, namespace: str, tmp_path: Path, cut: str
) -> None:
    async with instance(cluster, namespace, tmp_path) as it:
        leader, follower = await it.until_leading()
        await it.hang_on(follower)
        CUTS[cut](follower.proxy)
        await it.answers("two")
        await it.until_answered("two", before="one")
        assert (leader.envoys, follower.envoys) == (1, 0)
        assert follower.lack
        assert follower.replica.reporter.is_reporting, "its Envoys' words are still wanted"
        assert len(leader.replica.collector.followers) == 1
        assert leader.replica.readiness
        follower.proxy.reopen()
        await until(lambda: follower.replica.readiness, "ready again")
        await until(lambda: follower.versions() == leader.versions(), "the same again")


@pytest.mark.parametrize("cut", CUTS)
async def test_a_leader_that_is_cut_off_finds_the_next_one_and_sends_its_envoys_there(
    cluster: Cluster, namespace: str, tmp_path: Path, cut: str
) -> None:
    async with instance(cluster, namespace, tmp_path) as it:
        first, second = await it.until_leading()
        await it.hang_on(first)
        CUTS[cut](first.proxy)
        await until(lambda: second.is_leader, "another leader")
        await it.answers("two")
        await it.until_answered("two", before="one")
        assert first.lack
        await until(lambda: first.replica.reporter.is_reporting, "it to report to the next one")
        assert (first.envoys, second.envoys) == (0, 1)
        first.proxy.reopen()
        await until(lambda: first.replica.readiness, "ready again")


@pytest.mark.parametrize("cut", CUTS)
async def test_where_all_are_cut_off_all_stay(
    cluster: Cluster, namespace: str, tmp_path: Path, cut: str
) -> None:
    async with instance(cluster, namespace, tmp_path) as it:
        await it.until_leading()
        on = next(replica for replica in it.replicas if replica.envoys)
        (connection,) = on.replica.server.callers
        for replica in it.replicas:
            CUTS[cut](replica.proxy)
        for replica in it.replicas:
            await until(
                lambda it=replica: it.replica.freshness.silence() > 3 * TIMING.renew_deadline,  # type: ignore[misc]
                "a long silence",
            )
            assert replica.replica.readiness
        assert [*on.replica.server.callers] == [connection]
        assert await it.browser.get(HOST) == "one"


async def test_a_watch_that_is_dead_is_noticed_by_what_the_leader_has_had(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    async with instance(cluster, namespace, tmp_path) as it:
        _, follower = await it.until_leading()
        await it.hang_on(follower)
        assert follower.proxy.sever()  # whoever asks anew, as for the Lease, is answered
        await it.answers("two")
        await it.until_answered("two", before="one")
        assert follower.lack.startswith(f"the leader has newer objects: HTTPProxy in {namespace}")


async def test_a_gateway_tells_of_a_policy_whose_status_is_full(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    here = {"namespace": namespace}
    api = "gateway.networking.k8s.io/v1"
    gateway = {
        "apiVersion": api,
        "kind": "Gateway",
        "metadata": here | {"name": "edge"},
        "spec": {
            "gatewayClassName": namespace,
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
        },
    }
    policy = {
        "apiVersion": api,
        "kind": "BackendTLSPolicy",
        "metadata": here | {"name": "policy"},
        "spec": {
            "targetRefs": [{"group": "", "kind": "Service", "name": "one"}],
            "validation": {"hostname": "a.com", "wellKnownCACertificates": "System"},
        },
    }
    backend = {"name": "one", "port": 80}
    route = {
        "apiVersion": api,
        "kind": "HTTPRoute",
        "metadata": here | {"name": "route"},
        "spec": {"parentRefs": [{"name": "edge"}], "rules": [{"backendRefs": [backend]}]},
    }
    service = {"apiVersion": "v1", "kind": "Service", "metadata": here | {"name": "one"}}
    since = "2020-01-01T00:00:00Z"
    told = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""}
    full = [
        {
            "ancestorRef": {"name": f"g{it}"},
            "controllerName": "example.com/other",
            "conditions": [told | {"lastTransitionTime": since}],
        }
        for it in range(16)
    ]
    configured = configuration(namespace, free_ports(1)[0])
    configured["spec"]["gateway"] = {"controllerName": f"example.com/{namespace}"}
    gateway_class = {
        "apiVersion": api,
        "kind": "GatewayClass",
        "metadata": {"name": namespace},
        "spec": {"controllerName": f"example.com/{namespace}"},
    }
    objects = (
        *(configured, gateway_class, gateway, policy, route),
        service | {"spec": {"ports": [{"port": 80}]}},
    )
    for raw in objects:
        await asyncio.to_thread(cluster.apply, raw)
    crowd = {key: policy[key] for key in ("apiVersion", "kind", "metadata")}
    crowd["status"] = {"ancestors": full}
    await asyncio.to_thread(cluster.apply, crowd, "another", "status")

    async def said() -> str:
        found = await asyncio.to_thread(cluster.get, gateway)
        conditions = found.get("status", {}).get("conditions", ())
        return str([it["message"] for it in conditions if it["type"] == "Accepted"])

    async with running(cluster, namespace, tmp_path):
        async with asyncio.timeout(PATIENCE):
            while f"the status of BackendTLSPolicy {namespace}/policy is full" not in await said():
                await asyncio.sleep(0.1)
    await asyncio.to_thread(cluster.delete, gateway_class)


async def test_a_new_leader_tells_at_once_what_depends_on_no_envoy(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    for raw in (configuration(namespace, free_ports(1)[0]), proxy(namespace, "one")):
        await asyncio.to_thread(cluster.apply, raw)

    async def told() -> str:
        found = await asyncio.to_thread(cluster.get, proxy(namespace, "one"))
        return str(found.get("status", {}).get("currentStatus"))

    async with running(cluster, namespace, tmp_path) as it:
        it.replica.collector.timeouts = collector.Timeouts(assembly=3600.0)
        async with asyncio.timeout(PATIENCE):
            while await told() != "valid":
                await asyncio.sleep(0.05)
        assert not it.replica.collector.is_assembled
