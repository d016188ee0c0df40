"""`contour serve` as in a cluster: replicas with rights of their own, a real API server, Envoys.

What a pod would give a process comes from here: a kubeconfig of a ServiceAccount with the shipped
rights, certificates, ports. Everything a test makes is in a namespace of its own, and an instance
looks at that namespace only, so that the tests can share an API server.
"""

import contextlib
import http.client
import json
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import yaml

from contour.host import installation
from provisioning import rights
from tests.cluster.cluster import Cluster
from tests.e2e.standalone import Answer, exchange
from tests.testbed import commands, processes
from tests.testbed.ports import free_ports
from tests.testbed.processes import CONTOUR, ROOT, Process

LEASE = "leader-elect"


def own_address() -> str:
    """Of this machine, but not its loopback, which no EndpointSlice may have."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: it only chooses a route
        return str(probe.getsockname()[0])


@dataclass(slots=True)
class Served(Process):
    """A replica, or an Envoy."""

    ports: dict[str, int]

    def page(self, site: str, path: str) -> tuple[int, str]:
        """What one of its pages says."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[site], timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()

    @property
    def is_ready(self) -> bool:
        assert self.code is None, f"{self.name} has ended:\n{self.last_words}"
        try:
            return self.page("pages", "/readyz" if "xds" in self.ports else "/ready")[0] == 200
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Fleet:
    """Which one an Envoy is of."""

    ports: dict[str, int]
    name: str = "contour"
    certificates: str = "certificates"
    """The folder with the authority's and its own."""


@dataclass(slots=True)
class Instance:
    """An instance of ours in a namespace of a cluster, and what a user does to it."""

    cluster: Cluster
    namespace: str
    folder: Path
    ports: dict[str, int]
    """Where Envoys take connections: `http`, `https`; and the backends."""
    processes: list[Served] = field(default_factory=list)

    @property
    def controller_name(self) -> str:
        """Of its GatewayClasses."""
        return f"example.com/{self.namespace}"

    def apply(self, text: str) -> None:
        """`kubectl apply`."""
        manifest = {"apiVersion": "v1", "kind": "List", "items": [*self.objects(text)]}
        found = self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
        assert found.returncode == 0, found.stderr

    def delete(self, text: str) -> None:
        """Removes what the text names."""
        for raw in self.objects(text):
            self.cluster.delete(raw)

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """An object as it is now."""
        return self.cluster.get(
            {
                "apiVersion": _API_VERSIONS[kind],
                "kind": kind,
                "metadata": {"name": name, "namespace": self.namespace},
            }
        )

    def condition(self, kind: str, name: str, type_: str) -> dict[str, Any]:
        """A condition of an object, or of the one parent of a route; empty if it has none."""
        status = self.get(kind, name).get("status", {})
        found = [
            *status.get("conditions", ()),
            *(it for parent in status.get("parents", ()) for it in parent["conditions"]),
        ]
        return next((it for it in found if it["type"] == type_), {})

    def objects(self, text: str) -> Iterator[dict[str, Any]]:
        """The objects of a manifest, in our namespace; `$NAME` is a port, or `$namespace`."""
        names = {"namespace": self.namespace, "controller": self.controller_name}
        names |= {name: str(port) for name, port in self.ports.items()} | {"ip": own_address()}
        for raw in yaml.load_all(Template(text).substitute(names), yaml.CSafeLoader):
            raw["metadata"].setdefault("namespace", self.namespace)
            yield raw

    def ask(self, host: str, path: str = "/", envoy: int = 0) -> Answer:
        """One request to an Envoy."""
        port = self.envoys[envoy].ports["http"]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with contextlib.closing(connection):
            return exchange(connection, host, path)

    def until_answered(self, host: str, backend: str) -> None:
        """Waits until that backend answers."""
        self.until(lambda: self._backend(host) == backend, f"{host} answered by {backend}")

    def until_condition(
        self, kind: str, name: str, type_: str, seconds: float = 60.0, **wanted: str
    ) -> dict[str, Any]:
        """Waits until a condition says that, of the newest generation; the condition."""
        found: dict[str, Any] = {}

        def is_so() -> bool:
            found.clear()
            found.update(self.condition(kind, name, type_))
            return wanted.items() <= found.items()

        self.until(is_so, f"{type_} of {kind} {name} to say {wanted}", seconds, found)
        return found

    def until(
        self, condition: Callable[[], bool], wanted: str, seconds: float = 60.0, got: object = ""
    ) -> None:
        """Asks again and again until it is so."""
        found = f"{wanted}; got {got}" if got else wanted
        processes.wait(condition, found, seconds, self.processes)

    @property
    def envoys(self) -> list[Served]:
        return [it for it in self.processes if "http" in it.ports]

    @property
    def replicas(self) -> list[Served]:
        return [it for it in self.processes if "xds" in it.ports]

    @property
    def leader(self) -> Served | None:
        """The replica that leads, as the Lease tells."""
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        found = self.cluster.get(lease | {"metadata": {"name": LEASE, "namespace": self.namespace}})
        address = found["metadata"].get("annotations", {}).get("projectcontour.io/xds-address", "")
        holder = found["spec"].get("holderIdentity")
        at = {f"127.0.0.1:{it.ports['xds']}": it for it in self.replicas}
        return at.get(address) if holder else None

    def start_replica(self, *flags: str) -> Served:
        """Runs `contour serve`; it may have to wait for its configuration."""
        ports = dict(zip(("xds", "pages", "debug"), free_ports(3), strict=True))
        given = commands.serve(
            self.folder / "kubeconfig", self.folder / "certificates", [*ports.values()]
        )
        watched = ("--watch-namespaces", self.namespace)
        name = f"replica-{len(self.replicas)}"
        return self._start(name, (*CONTOUR, *given, *watched, *commands.FAST, *flags), ports)

    def start_envoy(self, of: Served, fleet: Fleet | None = None) -> Served:
        """Runs an Envoy that hangs on a replica."""
        fleet = fleet or Fleet(ports={it: self.ports[it] for it in ("http", "https")})
        name = f"envoy-{len(self.envoys)}"
        here = self.folder / name
        here.mkdir()
        (ready,) = free_ports(1)
        ports = {**fleet.ports, "pages": ready}
        path, admin = here / "envoy.json", here / "admin.sock"
        certificates = self.folder / fleet.certificates
        processes.called(
            *commands.bootstrap(path, of.ports["xds"], admin, here, certificates),
            *("--node", name, "--fleet", fleet.name),
            *("--stats-address", "127.0.0.1", "--stats-port", str(ready)),
        )
        program = installation.binary()
        arguments = ("--concurrency", "1", "--use-dynamic-base-id", "--drain-time-s", "1")
        command = (str(program), "-c", str(here / "envoy.json"), *arguments)
        return self._start(name, command, ports)

    def _start(self, name: str, command: tuple[str, ...], ports: dict[str, int]) -> Served:
        it = processes.start(name, command, self.folder, where=ROOT)
        self.processes.append(Served(it.name, it.popen, it.log, ports))
        return self.processes[-1]

    def until_ready(self, *processes: Served) -> None:
        """Waits until they serve."""
        for it in processes or self.processes:
            self.until(lambda it=it: it.is_ready, f"{it.name} ready", 90)  # type: ignore[misc]

    def _backend(self, host: str) -> str:
        try:
            return self.ask(host).backend
        except OSError:
            return ""


_API_VERSIONS = {
    "HTTPProxy": "projectcontour.io/v1",
    "ContourConfiguration": "projectcontour.io/v1alpha1",
    "Gateway": "gateway.networking.k8s.io/v1",
    "HTTPRoute": "gateway.networking.k8s.io/v1",
    "EnvoyConfig": "marin3r.3scale.net/v1alpha1",
    "Ingress": "networking.k8s.io/v1",
    "GatewayClass": "gateway.networking.k8s.io/v1",
}


@contextlib.contextmanager
def instance(
    cluster: Cluster, namespace: str, folder: Path, further: Sequence[dict[str, Any]] = ()
) -> Iterator[Instance]:
    """The place for an instance, with backends and perhaps further rights; nothing runs yet."""
    backends = ("one", "two")
    ports = dict(zip(("http", "https", *backends), free_ports(4), strict=True))
    found = Instance(cluster, namespace, folder, ports)
    home = [*rights.in_a_watched_namespace(), *rights.at_home(LEASE, watches_everything=False)]
    every = [*rights.everywhere(), *further]
    token = cluster.service_account(namespace, "contour", home, every)
    (folder / "kubeconfig").write_bytes(cluster.kubeconfig(token, namespace).read_bytes())
    processes.called(*commands.certgen(folder / "certificates", namespace))
    with processes.backends({it: ports[it] for it in backends}, own_address()):
        try:
            yield found
        finally:
            for it in found.processes:
                it.kill()
