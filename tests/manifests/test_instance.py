"""What the manifests say is run, as a kubelet would run it, and a request gets its answer.

Commands, arguments, rights and certificates are those of the rendered objects; only what a machine
without pods cannot have is another: paths, ports and addresses.
"""

import asyncio
import base64
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from click.testing import CliRunner

from contour.cli import main
from contour.demo import backends
from contour.host import installation
from provisioning import folders
from tests.cluster.cluster import Cluster
from tests.e2e import incluster
from tests.testbed.ports import free_port

pytestmark = [pytest.mark.cluster, pytest.mark.envoy]

Raw = dict[str, Any]

_MOUNTS = {"certificates": "certs", "configuration": "config", "administration": "admin"}


@dataclass
class Node:
    """A machine that runs the containers of an instance, one of each."""

    cluster: Cluster
    namespace: str
    folder: Path
    documents: list[Raw]
    ports: dict[int, int]

    def pod(self, kind: str) -> Raw:
        """The pod that an object of this kind makes."""
        (found,) = [it for it in self.documents if it["kind"] == kind]
        spec: Raw = found["spec"]["template"]["spec"]
        return spec

    def container(self, kind: str, name: str) -> list[str]:
        """The command of a container of that pod, at home on this machine."""
        spec = self.pod(kind)
        every = [*spec.get("initContainers", ()), *spec["containers"]]
        (found,) = [it for it in every if it["name"] == name]
        command = [*found["command"], *found["args"]]
        if "--incluster" in command:
            token = self.cluster.token(self.namespace, spec["serviceAccountName"])
            config = self.cluster.kubeconfig(token, self.namespace)
            command[command.index("--incluster")] = f"--kubeconfig={config}"
        return [self._localised(it, self.folder / kind) for it in command]

    def _localised(self, argument: str, folder: Path) -> str:
        argument = re.sub(r"/(certs|config|admin)/", rf"{folder}/\1/", argument)
        argument = argument.replace("--xds-address=contour", "--xds-address=127.0.0.1")
        argument = argument.replace("0.0.0.0", "127.0.0.1").replace("$(POD_NAME)", "envoy-1")
        return re.sub(
            r"port=(\d+)$", lambda it: f"port={self.ports.get(int(it[1]), it[1])}", argument
        )

    def mount(self, kind: str) -> None:
        """As a kubelet mounts the volumes of that pod."""
        for volume in self.pod(kind)["volumes"]:
            folder = self.folder / kind / _MOUNTS.get(volume["name"], volume["name"])
            folder.mkdir(parents=True)
            if "secret" in volume:
                self._write(volume["secret"]["secretName"], folder)

    def _write(self, secret: str, folder: Path) -> None:
        found = self.cluster.get(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": secret, "namespace": self.namespace},
            }
        )
        contents = {name: base64.b64decode(it) for name, it in found["data"].items()}
        folders.write(folder, contents)


@pytest.fixture(params=["everywhere", "namespaced"])
def node(
    request: pytest.FixtureRequest, cluster: Cluster, namespace: str, tmp_path: Path
) -> Iterator[Node]:
    options = ["--watch-namespaces", namespace] if request.param == "namespaced" else []
    text = CliRunner().invoke(main, ["manifests", "--namespace", namespace, *options]).stdout
    done = cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    assert done.returncode == 0, done.stderr
    ports = {it: free_port() for it in (8000, 8001, 8002, 8080, 8443, 8090)}
    documents = list(yaml.load_all(text, yaml.CSafeLoader))
    yield Node(cluster, namespace, tmp_path, documents, ports)
    for it in documents:
        if it["kind"] == "ClusterRoleBinding":
            cluster.delete(it)


async def test_an_instance_that_was_installed_serves(node: Node) -> None:
    cluster, namespace = node.cluster, node.namespace
    _configure(node)
    assert await _ended(node.container("Job", "certgen"), namespace) == 0
    node.mount("Deployment")
    pages = [f"--{it}-port={free_port()}" for it in ("http", "debug-http")]
    health = ["--health-address=127.0.0.1", f"--health-port={node.ports[8000]}"]
    async with (
        backends.serving({"one": 0}, incluster.own_address()) as served,
        running([*node.container("Deployment", "contour"), *pages, *health], namespace),
        aiohttp.ClientSession() as client,
    ):
        await _until_ok(client, f"http://127.0.0.1:{node.ports[8000]}/readyz")
        node.mount("DaemonSet")
        assert await _ended(node.container("DaemonSet", "envoy-initconfig"), namespace) == 0
        envoy = node.container("DaemonSet", "envoy")
        beside = node.container("DaemonSet", "shutdown-manager")
        async with (
            running([str(installation.binary()), *envoy[1:]], namespace),
            running([*beside, "--drain-delay=0", "--idle-grace=0.2"], namespace) as manager,
        ):
            await _until_ok(client, f"http://127.0.0.1:{node.ports[8002]}/ready")
            for it in _site(namespace, served["one"]):
                cluster.create(it)
            url, host = f"http://127.0.0.1:{node.ports[8080]}/", f"{namespace}.example.com"
            await _until_ok(client, url, host)
            await _until_valid(cluster, namespace)
            await _until_ok(client, f"http://127.0.0.1:{node.ports[8090]}/healthz")
            manager.terminate()
            assert await manager.wait() == 0
            async with client.get(f"http://127.0.0.1:{node.ports[8002]}/ready") as answer:
                assert answer.status == 503


def _configure(node: Node) -> None:
    """Envoy's ports, which others on this machine have, too."""
    (configuration,) = [it for it in node.documents if it["kind"] == "ContourConfiguration"]
    addresses = {
        name: {"address": "127.0.0.1", "port": node.ports[port]}
        for name, port in (("http", 8080), ("https", 8443))
    }
    body = {"spec": {"envoy": addresses}}
    path = node.cluster.path(configuration)
    node.cluster.ask("PATCH", path, body, "application/merge-patch+json")


@contextlib.asynccontextmanager
async def running(command: list[str], namespace: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A container while the block lasts."""
    process = await _started(command, namespace)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _ended(command: list[str], namespace: str) -> int:
    return await (await _started(command, namespace)).wait()


async def _started(command: list[str], namespace: str) -> asyncio.subprocess.Process:
    if command[0] == "contour":
        command = [sys.executable, "-c", "from contour.cli import main; main()", *command[1:]]
    environment = os.environ | {"CONTOUR_NAMESPACE": namespace, "POD_IP": "127.0.0.1"}
    return await asyncio.create_subprocess_exec(*command, env=environment)


async def _until_ok(client: aiohttp.ClientSession, url: str, host: str = "") -> None:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with client.get(url, headers={"Host": host} if host else {}) as answer:
                    if answer.status == 200:
                        return
            await asyncio.sleep(0.05)


async def _until_valid(cluster: Cluster, namespace: str) -> None:
    proxy = {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": {"name": "one", "namespace": namespace},
    }
    async with asyncio.timeout(60):
        while cluster.get(proxy).get("status", {}).get("currentStatus") != "valid":
            await asyncio.sleep(0.05)


def _site(namespace: str, port: int) -> list[Raw]:
    """An HTTPProxy, and the Service behind it."""
    metadata = {"name": "one", "namespace": namespace}
    slices = metadata | {"labels": {"kubernetes.io/service-name": "one"}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"ports": [{"name": "http", "port": 80}]},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": slices,
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": port}],
            "endpoints": [{"addresses": [incluster.own_address()], "conditions": {"ready": True}}],
        },
        {
            "apiVersion": "projectcontour.io/v1",
            "kind": "HTTPProxy",
            "metadata": metadata,
            "spec": {
                "virtualhost": {"fqdn": f"{namespace}.example.com"},
                "routes": [{"services": [{"name": "one", "port": 80}]}],
            },
        },
    ]
