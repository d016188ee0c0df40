"""A real API server with an instance, on which the figures of a cluster are measured.

etcd, kube-apiserver, a replica with the rights that we ship, an Envoy and backends share the
machine, so `Shares` has how much of it each one took. Kubernetes controllers run only where a
measurement needs one.
"""

import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from provisioning import rights
from tests.cluster import controlplane
from tests.cluster.cluster import Cluster, default_crds
from tests.testbed import caller, replicas
from tests.testbed.caller import Caller
from tests.testbed.envoys import backends as backends_of
from tests.testbed.ports import free_ports
from tests.testbed.programs import processor
from tests.testbed.replicas import NAMESPACE, Envoy, Replica, own_address
from tests.testbed.world import Document

LEASE = "leader-elect"


@dataclass(slots=True)
class Ground:
    """An API server with our CRDs, and its clients; no ingress controller runs yet."""

    folder: Path
    control_plane: controlplane.ControlPlane
    cluster: Cluster
    api: Caller
    port: int
    """The port on which an Envoy takes requests."""
    https: int

    async def write(self, documents: Iterable[Document]) -> float:
        """Creates all of these; returns the seconds that took."""
        start = time.monotonic()
        await self.api.all(map(caller.created, adapted(documents)))
        return time.monotonic() - start


@dataclass(slots=True)
class Site(Ground):
    """The same, with a replica of ours, its Envoy, and backends."""

    backends: tuple[int, ...]
    replica: Replica
    envoy: Envoy

    @property
    def pids(self) -> Mapping[str, int]:
        """The processes that share the machine, by name."""
        return {
            **self.control_plane.pids,
            "contour": self.replica.pid,
            "Envoy": self.envoy.pid,
        }


@contextlib.asynccontextmanager
async def ground(controllers: Sequence[str] = ()) -> AsyncIterator[Ground]:
    """A cluster with the configuration of an instance, of which nothing runs."""
    with (
        tempfile.TemporaryDirectory(prefix="measured-") as path,
        controlplane.ControlPlane(Path(path, "cluster"), controllers) as control_plane,
    ):
        cluster = Cluster(control_plane.folder)
        cluster.install_crds(*default_crds())
        with caller.calling(cluster.url, cluster.admin_token, cluster.tls) as api:
            port, https = free_ports(2)
            for document in replicas.installation(port, https):
                await api.ask(caller.created(document))
            yield Ground(Path(path), control_plane, cluster, api, port, https)


@contextlib.asynccontextmanager
async def running(
    backends: int = 1, controllers: Sequence[str] = (), flags: Sequence[str] = ()
) -> AsyncIterator[Site]:
    """A cluster with a replica, an Envoy and backends; the caller has to start the first two."""
    async with (
        ground(controllers) as it,
        backends_of(backends, own_address()) as ports,
        placed(it, ports, flags) as site,
    ):
        yield site


@contextlib.asynccontextmanager
async def placed(
    it: Ground, backends: tuple[int, ...], flags: Sequence[str] = ()
) -> AsyncIterator[Site]:
    """A replica and an Envoy of ours, on these backends; the caller starts them, and they end
    here."""
    replicas.make_certificates(it.folder)
    replica = Replica(it.folder, "contour", _kubeconfig(it.cluster), *flags)
    envoy = Envoy(it.folder, "envoy", replica)
    known = {field.name: getattr(it, field.name) for field in fields(Ground)}
    try:
        yield Site(**known, backends=backends, replica=replica, envoy=envoy)
    finally:
        await envoy.end()
        await replica.end()


def _kubeconfig(cluster: Cluster) -> Path:
    """A kubeconfig with the rights that we ship."""
    home = rights.at_home(LEASE, watches_everything=True)
    token = cluster.service_account(NAMESPACE, "contour", home, rights.everywhere())
    return cluster.kubeconfig(token, NAMESPACE)


class Shares:
    """How much of the machine's two cores each process took while this was open."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._before = {name: processor(pid) for name, pid in pids.items()}
        self._pids, self._start = pids, time.monotonic()
        self.seconds: dict[str, float] = {}
        self.lasted = 0.0

    def close(self) -> None:
        """Ends the measurement."""
        self.lasted = time.monotonic() - self._start
        self.seconds = {
            name: processor(pid) - self._before[name] for name, pid in self._pids.items()
        }

    @property
    def percent(self) -> dict[str, float]:
        """The percentage of one core, by process."""
        return {name: 100 * it / self.lasted for name, it in self.seconds.items()}


@contextlib.contextmanager
def shares(pids: Mapping[str, int]) -> Iterator[Shares]:
    """Measures while the context lasts."""
    found = Shares(pids)
    try:
        yield found
    finally:
        found.close()


def adapted(documents: Iterable[Document]) -> Iterator[Document]:
    """The same documents for a real API server.

    Services are headless: the API server would have to allocate and store an address for each,
    which takes longer than everything else.
    """
    address = own_address()
    for document in documents:
        if document["kind"] == "EndpointSlice":
            endpoints = [it | {"addresses": [address]} for it in document["endpoints"]]
            yield document | {"endpoints": endpoints}
        elif document["kind"] == "Service":
            yield document | {"spec": document["spec"] | {"clusterIP": "None"}}
        else:
            yield document
