"""A leader that keeps fleets at a real API server, with the shipped rights; what it is asked for is
said by the test, and what it tells is written down."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from contour.infrastructure.children import FleetScope
from contour.infrastructure.desired import Release
from contour.infrastructure.term import Infrastructure
from crds import workloads
from dag.fleets import Fleet, FleetProblem, Port
from kube import kubeconfig
from kube.client import Client
from provisioning import rights
from provisioning.keeping.ownership import Owner
from provisioning.templating import Document
from tests.cluster.cluster import Cluster
from tests.testbed.apiserver import RefusedError

Raw = dict[str, Any]

PORTS = (Port("http", "TCP", 80, 8080), Port("https", "TCP", 443, 8443))
SHARED = Fleet(
    gateway=None,
    ports=PORTS,
    publishing=workloads.NetworkPublishing(type="LoadBalancerService"),
    is_managed=True,
)
"""A DaemonSet behind a load balancer."""

VERSIONS = {
    "ServiceAccount": "v1",
    "Service": "v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "PodDisruptionBudget": "policy/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
}
AS_A_DAEMON_SET = {"ServiceAccount", "Service", "DaemonSet", "NetworkPolicy"}
AS_A_DEPLOYMENT = {*VERSIONS} - {"DaemonSet", "HorizontalPodAutoscaler"}


def of(fleet: Fleet = SHARED, *, publishing: Raw | None = None, **workload: Any) -> Fleet:
    """A fleet whose Service and workload are other ones, read as from a configuration."""
    found = replace(fleet, workload=_WORKLOAD.validate_python(workload))
    if publishing is None:
        return found
    return replace(found, publishing=_PUBLISHING.validate_python(publishing))


_WORKLOAD = TypeAdapter(workloads.Workload)
_PUBLISHING = TypeAdapter(workloads.NetworkPublishing)


@dataclass(slots=True)
class Rig:
    """The leader's world: `contour.infrastructure.term.Instance`; and what a user does."""

    cluster: Cluster
    namespace: str
    release: Release
    wanted: dict[str, Fleet] = field(default_factory=dict)
    told: dict[str, tuple[FleetProblem, ...]] = field(default_factory=dict)
    services: dict[str, Document | None] = field(default_factory=dict)
    infrastructure: Infrastructure | None = None

    def want(self, fleet: Fleet) -> None:
        """The shared fleet is to be so."""
        self.wanted = {"contour": fleet}
        if self.infrastructure is not None:
            self.infrastructure.notice()

    # What the leader asks.

    def fleets(self) -> Mapping[str, Fleet]:
        return self.wanted

    def scope(self) -> FleetScope | None:
        is_kept = any(it.is_managed for it in self.wanted.values())
        return FleetScope((self.namespace,)) if is_kept else None

    def knows_gateways(self) -> bool:
        return True

    def tell(self, fleet: str, found: Sequence[FleetProblem]) -> None:
        self.told[fleet] = tuple(found)

    def set_entrance(self, fleet: str, entrance: Document | None) -> None:
        self.services[fleet] = entrance

    def forget(self, fleet: str) -> None:
        self.told.pop(fleet, None)
        self.services.pop(fleet, None)

    # What there is.

    def made(self) -> dict[str, Raw]:
        """The objects of that name, by kind."""
        found = {}
        for kind in VERSIONS:
            with suppress(RefusedError):
                found[kind] = self.cluster.get(self.named(kind))
        return found

    def named(self, kind: str, name: str = "envoy") -> Raw:
        """An object's identity."""
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": metadata}

    def edit(self, kind: str, change: Raw, manager: str = "kubectl-edit") -> Raw:
        """As a user or a controller does."""
        media = "application/strategic-merge-patch+json"
        path = self.cluster.path(self.named(kind))
        return self.cluster.ask("PATCH", path, change, media, fieldManager=manager)

    def change(self, kind: str, patch: Sequence[Raw], manager: str = "kubectl-patch") -> Raw:
        """Likewise, by a JSON patch."""
        media = "application/json-patch+json"
        path = self.cluster.path(self.named(kind))
        return self.cluster.ask("PATCH", path, patch, media, fieldManager=manager)

    async def until(self, condition: Callable[[], bool], seconds: float = 45.0) -> float:
        """Waits until it is so; the seconds that took."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        while not await asyncio.to_thread(condition):
            if loop.time() - start > seconds:
                raise AssertionError(f"never came; told {self.told}; there is {[*self.made()]}")
            await asyncio.sleep(0.02)
        return loop.time() - start

    async def until_kinds(self, kinds: set[str]) -> None:
        """Waits until there are these, and no others."""
        await self.until(lambda: set(self.made()) == kinds)

    async def until_told(self, words: str) -> None:
        """Waits until it is told so; nothing, if there are no words."""

        def is_told() -> bool:
            found = self.told.get("contour", (FleetProblem(""),) if words else ())
            return any(words in it.message for it in found) if words else not found

        await self.until(is_told)


def rig(cluster: Cluster, namespace: str) -> Rig:
    """Nothing runs yet."""
    return Rig(cluster, namespace, Release(Owner(namespace, "contour")))


@asynccontextmanager
async def leading(it: Rig) -> AsyncIterator[Infrastructure]:
    """One term."""
    async with client(it) as connected:
        found = it.infrastructure = Infrastructure(connected, it.release, it)
        running = asyncio.ensure_future(found.run())
        try:
            yield found
        finally:
            running.cancel()
            await asyncio.wait([running])
            it.infrastructure = None
            if not running.cancelled():
                running.result()


def client(it: Rig) -> Client:
    """With the rights of the Role that is shipped."""
    token = _token(it)
    access = kubeconfig.Kubeconfig(str(it.cluster.kubeconfig(token, it.namespace)))
    return Client(access, "tests")


def _token(it: Rig) -> str:
    try:
        return it.cluster.token(it.namespace, "leader")
    except RefusedError:
        rules = rights.at_home("leader-elect", watches_everything=True)
        return it.cluster.service_account(it.namespace, "leader", rules)
