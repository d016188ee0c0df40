"""Runs the pods of a cluster, in a thread of its own, for as long as a test wants.

`with running(cluster) as pods:` is all that is needed; `Pods` is what tests then have in hand.
"""

import asyncio
import contextlib
import http.client
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from tests.cluster.cluster import Cluster
from tests.pods import images
from tests.pods.kubelet import Kubelet
from tests.pods.network import Network

Raw = dict[str, Any]
T = TypeVar("T")

_PATIENCE = 60.0  # seconds


class Response(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Pods:
    """The pods that run, from outside."""

    def __init__(self, cluster: Cluster, kubelet: Kubelet, died: Future[None]) -> None:
        self.cluster = cluster
        self._kubelet = kubelet
        self._loop = asyncio.get_running_loop()
        self._died = died

    def add_image(
        self,
        pattern: str,
        *entrypoint: str,
        environment: Mapping[str, str] | None = None,
        shows: tuple[Path, ...] = (),
    ) -> None:
        """What is started for images whose name fits; `shows` is what it sees of this machine."""
        program = Path(entrypoint[0])
        seen = (program, *shows) if program.is_absolute() else shows
        self._kubelet.images.add(pattern, images.Image(entrypoint, environment or {}, seen))

    def known(self, pattern: str, image: images.Image) -> None:
        """The same, for an image that is made already."""
        self._kubelet.images.add(pattern, image)

    def all(self, namespace: str = "", selector: str = "") -> list[Raw]:
        """The pods as the API server has them, by namespace and by labels `a=b,c=d`."""
        return self._ask(self._kubelet.found, namespace, selector)

    def until(
        self,
        is_so: Callable[[list[Raw]], bool],
        namespace: str = "",
        selector: str = "",
        seconds: float = _PATIENCE,
    ) -> list[Raw]:
        """Waits for something to be true of the chosen pods; those."""
        return self._do(self._kubelet.until(is_so, namespace, selector, seconds))

    def until_ready(
        self, namespace: str, selector: str = "", count: int = 1, seconds: float = _PATIENCE
    ) -> list[Raw]:
        """Waits for so many pods to be ready, and for all others of the selection to be gone."""
        return self.until(
            lambda found: len(found) == count and all(map(is_ready, found)),
            namespace, selector, seconds,
        )  # fmt: skip

    def until_logged(
        self, namespace: str, name: str, text: str, container: str = "", seconds: float = _PATIENCE
    ) -> None:
        """Waits for a container to have written something."""
        self.until_so(lambda: text in self.logs(namespace, name, container), seconds)

    def until_served(self, address: str, port: int, seconds: float = _PATIENCE) -> None:
        """Waits for somebody to accept connections there."""

        def is_served() -> bool:
            try:
                socket.create_connection((address, port), 1).close()
            except OSError:
                return False
            return True

        self.until_so(is_served, seconds)

    def until_so(self, is_so: Callable[[], bool], seconds: float = _PATIENCE) -> None:
        """Waits for something to be true that nobody tells of."""
        deadline = monotonic() + seconds
        while not is_so():
            if monotonic() > deadline:
                raise TimeoutError(f"not within {seconds} s")
            sleep(0.02)

    def logs(self, namespace: str, name: str, container: str = "") -> str:
        """What a container has written up to now, over all restarts; also of pods that are gone."""
        folder = self._kubelet.folder / "logs"
        paths = sorted(folder.glob(f"{namespace}_{name}_{container or '*'}.log"))
        return "".join(it.read_text(errors="replace") for it in paths)

    def pid(self, namespace: str, name: str, container: str) -> int:
        """The process of a container."""
        return self._ask(self._kubelet.pid, namespace, name, container)

    def kill(self, namespace: str, name: str, container: str) -> None:
        """Kills the process of a container, as the kernel does when memory is short."""
        os.kill(self.pid(namespace, name, container), signal.SIGKILL)

    def processes(self, session: int) -> list[int]:
        """All processes of a container, which are of the session of its first one."""
        found = []
        for it in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                state, *numbers = it.joinpath("stat").read_text().rpartition(")")[2].split()
                if state != "Z" and int(numbers[2]) == session:
                    found.append(int(it.name))
        return found

    def execute(self, namespace: str, name: str, container: str, *command: str) -> int:
        """Runs a command beside a container's process; its exit code. It writes to the log."""
        return self._do(self._kubelet.execute(namespace, name, container, list(command)))

    def request(
        self,
        address: str,
        port: int,
        path: str = "/",
        host: str = "",
        method: str = "GET",
        seconds: float = 5.0,
    ) -> Response:
        """One HTTP request from this host to a pod, a balancer or a node; no retries."""
        connection = http.client.HTTPConnection(address, port, timeout=seconds)
        try:
            connection.request(method, path, headers={"Host": host or f"{address}:{port}"})
            response = connection.getresponse()
            return Response(response.status, dict(response.headers), response.read())
        finally:
            connection.close()

    def address(self, namespace: str, service: str) -> str:
        """Waits for the address of a balancer; it."""
        return self._do(self._kubelet.balancer_address(namespace, service))

    @property
    def spare_address(self) -> str:
        """Of a balancer: a Service gets it that asks for it (`loadBalancerIP`), and no other."""
        return self._kubelet.network.spare_balancer

    def name(self, name: str, address: str) -> None:
        """Makes a name known to all pods that is none of the cluster's."""
        self._ask(self._kubelet.balancing.extra_names.__setitem__, name, address)

    @contextmanager
    def cut(self, one: str, other: str) -> Iterator[None]:
        """Drops all packets between two addresses, new and old connections."""
        pair = (one, other)
        self._ask(self._kubelet.set_cut, pair, True)
        try:
            yield
        finally:
            self._ask(self._kubelet.set_cut, pair, False)

    @contextmanager
    def frozen(self, node: str) -> Iterator[None]:
        """Stops a node with all its processes, without a word to anybody."""
        self._ask(self._kubelet.set_frozen, node, True)
        try:
            yield
        finally:
            self._ask(self._kubelet.set_frozen, node, False)

    def node_address(self, name: str) -> str:
        """Where its node ports are."""
        return self._ask(self._kubelet.node_address, name)

    @property
    def api_server(self) -> str:
        """The address behind which pods reach the API server."""
        return self._kubelet.network.api_server[0]

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        answer = asyncio.run_coroutine_threadsafe(work, self._loop)
        both: list[Future[Any]] = [answer, self._died]
        wait(both, return_when=FIRST_COMPLETED)
        if self._died.done():
            self._died.result()
        return answer.result()

    def _ask(self, question: Callable[..., T], *arguments: Any) -> T:
        async def answer() -> T:
            return question(*arguments)

        return self._do(answer())


def is_ready(pod: Raw) -> bool:
    """Its condition says so, and it is not being deleted."""
    conditions = pod.get("status", {}).get("conditions") or ()
    told = any(it["type"] == "Ready" and it["status"] == "True" for it in conditions)
    return told and "deletionTimestamp" not in pod["metadata"]


def missing() -> str:
    """Why pods cannot run here; empty if they can."""
    if os.geteuid() != 0:
        return "pods need root: network namespaces and mounts"
    programs = ("ip", "nft", "nsenter", "unshare", "setpriv")
    absent = [it for it in programs if not any(
        Path(folder, it).exists() for folder in ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
    )]  # fmt: skip
    if absent:
        return f"pods need {', '.join(absent)} (iproute2, nftables, util-linux)"
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "--uts", "nft", "add", "table", "ip", "tried"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return f"pods need namespaces and nftables: {tried.stderr.strip()}" if tried.returncode else ""


@contextmanager
def running(cluster: Cluster, nodes: int = 1) -> Iterator[Pods]:
    """Runs all pods of this cluster on so many nodes; at the end nothing of it is left."""
    port = urlsplit(cluster.url).port
    assert port is not None
    with tempfile.TemporaryDirectory(prefix="pods-") as folder, Network(port) as network:
        started: Future[Pods] = Future()
        ending, died = Future[None](), Future[None]()

        async def run() -> None:
            async with Kubelet(cluster, network, Path(folder), nodes) as kubelet:
                started.set_result(Pods(cluster, kubelet, died))
                await asyncio.wrap_future(ending)

        def work() -> None:
            try:
                asyncio.run(run())
            except BaseException as error:
                (died if started.done() else started).set_exception(error)
            else:
                died.set_result(None)

        thread = threading.Thread(target=work, name="pods", daemon=True)
        thread.start()
        try:
            yield started.result()
        finally:
            with contextlib.suppress(InvalidStateError):  # cancelled, if something has failed
                ending.set_result(None)
            thread.join()
            if died.done():
                died.result()
