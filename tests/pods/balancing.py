"""Keeps Services working: gives balancers their addresses, and the routing namespace its rules.

ClusterIPs and node ports follow the EndpointSlices at once, addresses of balancers a second later,
as in life, where somebody else's machines have to learn of it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import aiohttp

from tests.pods import names, network, services
from tests.pods.collections import Collection, Key
from tests.pods.wakeups import Wakeup
from tests.testbed.apiserver import Client, RefusedError

Raw = dict[str, Any]

LAG = 1.0  # seconds
_TOGETHER = 0.03  # seconds in which changes come together
_SLICE_OF = "kubernetes.io/service-name"


class Balancing:
    """What kube-proxy and a cloud do for Services; also what their names mean."""

    def __init__(
        self, api: Client, net: network.Network, lists: tuple[Collection, Collection]
    ) -> None:
        self.services, self.slices = lists
        self.extra_names: dict[str, str] = {}
        self.extra: services.Table = {}
        self.nodes: list[str] = []
        self.cut: set[tuple[str, str]] = set()
        self.dark: set[str] = set()
        self._api = api
        self._network = net
        self._wakeup = Wakeup()
        self._given: dict[str, str] = {}  # uid: address
        self._count = 0
        self._slices: dict[Key, dict[Key, Raw]] = defaultdict(dict)  # by Service
        self._balanced: services.Table = {}
        self.services.listen(self._service_changed)
        self.slices.listen(self._slice_changed)

    def refresh_now(self) -> None:
        """Has the rules written anew, before it returns."""
        self._network.translate(self._rules())
        self._wakeup.wake()

    async def run(self) -> None:
        """Never ends."""
        told = ""
        while True:
            rules = self._rules()
            if rules != told:
                self._network.translate(rules)
                told = rules
            await self._give_addresses()
            await self._wakeup.wait()
            await asyncio.sleep(_TOGETHER)

    def lookup(self, name: str) -> Sequence[str] | None:
        """The addresses of a name, None if there is no such name."""
        if name in self.extra_names:
            return [self.extra_names[name]]
        if not name.endswith(f".svc.{names.ZONE}"):
            return None
        labels = name.removesuffix(f".svc.{names.ZONE}").split(".")
        if len(labels) < 2:
            return None
        key = labels[-1], labels[-2]
        service = self.services.objects.get(key)
        if service is None or (len(labels) > 2 and service["spec"].get("clusterIP") != "None"):
            return None
        if service["spec"].get("clusterIP") != "None":
            return [service["spec"]["clusterIP"]] if service["spec"].get("clusterIP") else []
        return self._headless(key, labels[:-2])

    def _headless(self, key: Key, host: list[str]) -> list[str] | None:
        slices = self._slices[key].values()
        if not host:
            return sorted(set(services.endpoints(slices)))
        endpoints = [it for each in slices for it in each.get("endpoints") or ()]
        found = [it for it in endpoints if it.get("hostname") == host[0]]
        return [a for it in found for a in it["addresses"]] or None

    def _service_changed(self, key: Key, service: Raw | None) -> None:
        self._change()

    def _slice_changed(self, key: Key, obj: Raw | None) -> None:
        if obj is None:
            for held in self._slices.values():
                held.pop(key, None)
        elif name := (obj["metadata"].get("labels") or {}).get(_SLICE_OF):
            self._slices[key[0], name][key] = obj
        self._change()

    def _change(self) -> None:
        self._wakeup.wake()
        asyncio.get_running_loop().call_later(LAG, self._learn)

    def _learn(self) -> None:
        self._balanced = {
            front: targets for front, targets in self._table().items() if self._is_balancer(front)
        }
        self._wakeup.wake()

    def _rules(self) -> str:
        table = {
            front: targets
            for front, targets in self._table().items()
            if not self._is_balancer(front)
        }
        table |= self._balanced
        table |= self.extra
        return services.rules(
            table,
            network.services_range(),
            self._network.balancers,
            sorted(self.cut),
            sorted(self.dark),
        )

    def _table(self) -> dict[services.Front, tuple[services.Target, ...]]:
        return {
            front: targets
            for key, service in self.services.objects.items()
            for front, targets in services.fronts(
                service, self._slices.get(key, {}).values(), self.nodes
            )
        }

    def _is_balancer(self, front: services.Front) -> bool:
        return front.address in self._given.values()

    async def _give_addresses(self) -> None:
        for (namespace, name), service in list(self.services.objects.items()):
            told = service.get("status", {}).get("loadBalancer", {}).get("ingress") or []
            address = self._address(service)
            if [it.get("ip") for it in told] == ([address] if address else []):
                continue
            ingress = [{"ip": address}] if address else None
            path = f"/api/v1/namespaces/{namespace}/services/{name}/status"
            body = {"status": {"loadBalancer": {"ingress": ingress}}}
            try:
                await self._api.ask("PATCH", path, body, "merge")
            except (RefusedError, aiohttp.ClientError, OSError, TimeoutError):
                self._wakeup.wake()

    def _address(self, service: Raw) -> str:
        """As clouds do: the one that is asked for, if there is such a one; never another."""
        spec, uid = service["spec"], service["metadata"]["uid"]
        if spec.get("type") != "LoadBalancer" or spec.get("loadBalancerClass"):
            return ""
        if wanted := str(spec.get("loadBalancerIP") or ""):
            if not self._network.has_balancer(wanted):
                self._given.pop(uid, None)
                return ""
            self._given[uid] = wanted
        elif uid not in self._given:
            self._given[uid] = self._network.balancer(self._count)
            self._count += 1
        return self._given[uid]
