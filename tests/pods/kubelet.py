"""All nodes of a runner: binds pods, lives their lives, answers what tests ask about them."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self

from tests.cluster.cluster import Cluster
from tests.pods import binding, images, names, services
from tests.pods.balancing import Balancing
from tests.pods.collections import Collection, Key
from tests.pods.journal import Journal
from tests.pods.network import KUBERNETES, Network
from tests.pods.nodes import Node
from tests.pods.pod import Pod, Site
from tests.pods.processes import Log
from tests.pods.wakeups import Wakeup
from tests.testbed.apiserver import Client, RefusedError

Raw = dict[str, Any]

_COLLECTIONS = {
    "Pod": "/api/v1/pods",
    "Node": "/api/v1/nodes",
    "Secret": "/api/v1/secrets",
    "ConfigMap": "/api/v1/configmaps",
    "Service": "/api/v1/services",
    "EndpointSlice": "/apis/discovery.k8s.io/v1/endpointslices",
}


class Kubelet:
    """`async with` joins the cluster and leaves it."""

    def __init__(self, cluster: Cluster, network: Network, folder: Path, count: int) -> None:
        self.folder = folder
        self.network = network
        self.images = images.Images()
        self._api = Client(cluster.url, cluster.admin_token, cluster.tls)
        self._lists = {kind: Collection(self._api, path) for kind, path in _COLLECTIONS.items()}
        self._site = Site(self._api, network, self.images, self._find, folder)
        self._count = count
        self._nodes: list[Node] = []
        self._journal = Journal(folder, self._log, self._network_of)
        self._pods: dict[str, Pod] = {}
        self._bound: set[str] = set()
        self._changed = Wakeup()
        self._tasks = asyncio.TaskGroup()
        self._running: list[asyncio.Task[None]] = []
        self.balancing: Balancing

    async def __aenter__(self) -> Self:
        await self._api.__aenter__()
        logs = self.network.host, await self._journal.open(self.network.host)
        for i in range(1, self._count + 1):
            self._nodes.append(self._node(i, logs))
        lists = (self._lists["Service"], self._lists["EndpointSlice"])
        self.balancing = Balancing(self._api, self.network, lists)
        self.balancing.nodes = [it.address for it in self._nodes]
        api_server = services.Front(KUBERNETES, "tcp", 443)
        self.balancing.extra = {api_server: (self.network.api_server,)}
        for kind in ("Secret", "ConfigMap"):
            self._lists[kind].listen(lambda *_: self._site.news.wake())
        self._lists["Pod"].listen(self._note)
        self._lists["Node"].listen(lambda *_: self._bind_all())
        await self._tasks.__aenter__()
        loop = asyncio.get_running_loop()
        self._names, _ = await loop.create_datagram_endpoint(
            lambda: names.NameServer(self.balancing.lookup), (self.network.host, names.PORT)
        )
        for node in self._nodes:
            await node.join()
            self._start(node.stay_alive())
        for it in self._lists.values():
            self._start(it.follow())
        for it in self._lists.values():
            await it.listed.wait()
        self._start(self.balancing.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._running:
            task.cancel()
        for pod in self._pods.values():
            pod.kill()
        try:
            await self._tasks.__aexit__(None, None, None)
        finally:
            for node in self._nodes:
                await node.leave()
            self._names.close()
            await self._journal.close()
            await self._api.__aexit__()

    # What tests ask

    def found(self, namespace: str, selector: str) -> list[Raw]:
        """The pods of a namespace or all, with these labels."""
        wanted = dict(it.split("=") for it in selector.split(",") if it)
        return [
            pod
            for (its, _), pod in self._lists["Pod"].objects.items()
            if (not namespace or its == namespace)
            and wanted.items() <= (pod["metadata"].get("labels") or {}).items()
        ]

    async def until(
        self, is_so: Callable[[list[Raw]], bool], namespace: str, selector: str, seconds: float
    ) -> list[Raw]:
        """Waits until it is so; raises with what there is if that takes too long."""
        try:
            async with asyncio.timeout(seconds):
                while not is_so(found := self.found(namespace, selector)):
                    await self._changed.wait()
                return found
        except TimeoutError:
            told = [_told(it) for it in self.found(namespace, selector)]
            raise TimeoutError("\n".join([f"not within {seconds} s:", *told])) from None

    async def balancer_address(self, namespace: str, name: str, seconds: float = 60) -> str:
        """Waits for it."""
        async with asyncio.timeout(seconds):
            while True:
                service = self._lists["Service"].objects.get((namespace, name), {})
                found = service.get("status", {}).get("loadBalancer", {}).get("ingress")
                if found:
                    return str(found[0]["ip"])
                await asyncio.sleep(0.05)

    def pid(self, namespace: str, name: str, container: str) -> int:
        """Of a container's process."""
        process = self._of(namespace, name).containers[container].process
        assert process is not None
        return process.pid

    async def execute(self, namespace: str, name: str, container: str, command: list[str]) -> int:
        """Runs it beside the container's process."""
        return await self._of(namespace, name).containers[container].execute(command, 60)

    def node_address(self, name: str) -> str:
        """Of one of the nodes."""
        return next(it.address for it in self._nodes if it.name == name)

    def set_cut(self, pair: tuple[str, str], is_cut: bool) -> None:
        """Two addresses that do not reach one another, or do again."""
        (self.balancing.cut.add if is_cut else self.balancing.cut.discard)(pair)
        self.balancing.refresh_now()

    def set_frozen(self, name: str, is_frozen: bool) -> None:
        """Stops all that runs on a node, or lets it go on."""
        node = next(it for it in self._nodes if it.name == name)
        pods = [it for it in self._pods.values() if it.obj["spec"]["nodeName"] == name]
        (node.awake.clear if is_frozen else node.awake.set)()
        for pod in pods:
            pod.signal(signal.SIGSTOP if is_frozen else signal.SIGCONT)
        addresses = {it.address for it in pods} | {node.address}
        (self.balancing.dark.update if is_frozen else self.balancing.dark.difference_update)(
            addresses
        )
        self.balancing.refresh_now()

    def _node(self, number: int, logs: tuple[str, int]) -> Node:
        address = self.network.add_node(number)
        return Node(self._api, f"node-{number}", address, logs, self._site.awake(address))

    def _log(self, namespace: str, name: str, container: str) -> Log | None:
        pod = self._lists["Pod"].objects.get((namespace, name), {"metadata": {"uid": ""}})
        found = self._pods.get(pod["metadata"]["uid"])
        return found.containers[container].log if found and container in found.containers else None

    def _network_of(self, namespace: str, name: str) -> str:
        """The network namespace of a pod that runs; empty if there is none."""
        pod = self._lists["Pod"].objects.get((namespace, name), {"metadata": {"uid": ""}})
        found = self._pods.get(pod["metadata"]["uid"])
        return found.netns if found else ""

    def _of(self, namespace: str, name: str) -> Pod:
        return self._pods[self._lists["Pod"].objects[namespace, name]["metadata"]["uid"]]

    # What happens by itself

    def _find(self, kind: str, namespace: str, name: str) -> Raw | None:
        found = self._lists[kind].objects.get((namespace, name))
        return found and {"kind": kind, **found}

    def _note(self, key: Key, obj: Raw | None) -> None:
        """A pod has come, changed or gone."""
        for pod in list(self._pods.values()):
            metadata = pod.obj["metadata"]
            if (metadata["namespace"], metadata["name"]) == key and (
                obj is None or obj["metadata"]["uid"] != pod.uid
            ):
                pod.observe(None)
        if obj is not None:
            self._take(obj)
        self._changed.wake()

    def _take(self, obj: Raw) -> None:
        uid, node = obj["metadata"]["uid"], obj["spec"].get("nodeName")
        if uid in self._pods:
            self._pods[uid].observe(obj)
        elif not node:
            self._bind(obj)
        else:
            address = next((it.address for it in self._nodes if it.name == node), None)
            is_over = obj["status"].get("phase") in {"Succeeded", "Failed"}
            if address and (not is_over or "deletionTimestamp" in obj["metadata"]):
                pod = Pod(self._site, address, obj, self._changed.wake)
                self._pods[uid] = pod
                self._start(self._live(pod))

    async def _live(self, pod: Pod) -> None:
        try:
            await pod.live()
        finally:
            self._pods.pop(pod.uid, None)
            self._changed.wake()

    def _bind_all(self) -> None:
        for obj in list(self._lists["Pod"].objects.values()):
            if not obj["spec"].get("nodeName"):
                self._bind(obj)

    def _bind(self, obj: Raw) -> None:
        uid = obj["metadata"]["uid"]
        ours = {it.name for it in self._nodes}
        nodes = [
            it for it in self._lists["Node"].objects.values() if it["metadata"]["name"] in ours
        ]
        if uid in self._bound or "deletionTimestamp" in obj["metadata"]:
            return
        node = binding.choice(obj, nodes, list(self._lists["Pod"].objects.values()))
        if node is not None:
            self._bound.add(uid)
            obj["spec"]["nodeName"] = node  # so that the next one is placed with this one in view
            self._start(self._write_binding(obj, node))

    async def _write_binding(self, obj: Raw, node: str) -> None:
        metadata = {it: obj["metadata"][it] for it in ("name", "namespace", "uid")}
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/binding"
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        try:
            await self._api.ask("POST", path, body)
        except RefusedError:
            self._bound.discard(metadata["uid"])

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks.create_task(work)
        self._running.append(task)
        task.add_done_callback(self._running.remove)


def _told(pod: Raw) -> str:
    status = pod.get("status", {})
    states = {it["name"]: it["state"] for it in status.get("containerStatuses") or ()}
    return f"{pod['metadata']['name']}: {status.get('phase')} {states}"
