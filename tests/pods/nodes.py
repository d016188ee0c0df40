"""The Node objects of a runner, and the Leases by which a cluster sees that they are alive."""

import asyncio
import contextlib
from time import gmtime, strftime
from typing import Any

import aiohttp

from tests.testbed.apiserver import Client, RefusedError

Raw = dict[str, Any]

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_BEAT = 10.0  # seconds


class Node:
    """One node; it says that it is alive while it is awake."""

    def __init__(
        self, api: Client, name: str, address: str, logs: tuple[str, int], awake: asyncio.Event
    ) -> None:
        self.name = name
        self.address = address
        self._api = api
        self.awake = awake
        self._logs = logs  # where they are asked for; the API server prefers a Hostname

    async def join(self) -> None:
        """Makes the Node, ready from the beginning."""
        path = f"/api/v1/nodes/{self.name}"
        with contextlib.suppress(RefusedError):
            await self._api.ask("POST", "/api/v1/nodes", self._object())
        await self._api.ask("PATCH", path, {"spec": {"taints": None}}, "merge")
        await self._beat()

    async def leave(self) -> None:
        """Takes the Node away."""
        with contextlib.suppress(RefusedError, aiohttp.ClientError, OSError, TimeoutError):
            await self._api.ask("DELETE", f"/api/v1/nodes/{self.name}")

    async def stay_alive(self) -> None:
        """Never ends."""
        while True:
            await asyncio.sleep(_BEAT)
            with contextlib.suppress(RefusedError, aiohttp.ClientError, OSError, TimeoutError):
                await self.awake.wait()
                await self._beat()

    async def _beat(self) -> None:
        await self._api.ask(
            "PATCH", f"/api/v1/nodes/{self.name}/status", {"status": self._status()}, "merge"
        )
        spec = {
            "holderIdentity": self.name,
            "leaseDurationSeconds": 40,
            "renewTime": strftime("%Y-%m-%dT%H:%M:%S.000000Z", gmtime()),
        }
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": "kube-node-lease"},
            "spec": spec,
        }
        query = {"fieldManager": "node", "force": "true"}
        await self._api.ask("PATCH", f"{_LEASES}/{self.name}", lease, "apply", **query)

    def _object(self) -> Raw:
        labels = {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        }
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels},
            "spec": {"providerID": f"local://{self.name}"},
        }

    def _status(self) -> Raw:
        now = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
        room = {"cpu": "64", "memory": "64Gi", "pods": "500", "ephemeral-storage": "64Gi"}
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        return {
            "capacity": room,
            "allocatable": room,
            "conditions": [ready],
            "addresses": [
                {"type": "Hostname", "address": self._logs[0]},
                {"type": "InternalIP", "address": self.address},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._logs[1]}},
        }
