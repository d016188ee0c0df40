"""A running instance without a provider: documents in, and what its Envoy says of them out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from contour import bootstrap, host, sockets
from contour.events import Batch, Event
from contour.host import state
from contour.instance import Instance
from contour.xds.envoy import Patience
from contour.xds.server import Server
from crds.decode import Decoded, decode
from crds.meta import ObjectRef
from dag import nodes, ratelimitclient
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from dag.references import discovery, keysets
from dag.statuses import BackendStatus, ContourStatus, PolicyStatus, RouteStatus
from tests.agreement import configurations
from tests.dag.httpproxy import surroundings
from tests.testbed import tokens

Document = dict[str, Any]

_ASKED = """
---
apiVersion: projectcontour.io/v1alpha1
kind: ExtensionService
metadata: {name: auth}
spec: {protocol: h2c, services: [{name: s1, port: 80}]}
"""

_PATIENCE = Patience(warming=0.3, absence=0.1, grace=0.05)
"""Nobody answers at the endpoints, so what is checked never gets healthy."""


def has_keys(instance: Instance) -> None:
    """Every server of keys and every issuer has answered."""

    def write(source: keysets.Source, how: keysets.Wanted | None) -> bool:
        keys = tokens.jwks()
        if isinstance(source, nodes.Discovery):
            keys = discovery.assumed(source)
        row = keysets.KeySet(keys) if how is not None else None
        keysets.write(instance.controller.engine, source, row)
        return True

    instance.controller.on_key_set = write


@dataclass
class Live:
    """The instance."""

    instance: Instance
    server: Server

    def take(self, documents: Iterable[Document], gone: Iterable[Document] = ()) -> None:
        """Writes objects as a provider would, and removes others; what is no object is left out."""
        events = [Event(it.kind, it.key, it.object) for it in _decoded(documents)]
        events += [Event(it.kind, it.key, None) for it in _decoded(gone)]
        self.instance.take(Batch(tuple(events), {}))
        failures = self.instance.controller.engine.failures
        assert not failures, failures

    async def settled(self) -> None:
        """Until Envoy has answered all that it is to be sent."""
        async with asyncio.timeout(60):
            while not self._is_settled():
                await asyncio.sleep(0.005)

    def _is_settled(self) -> bool:
        fleet = self.server.fleet(DEFAULT_FLEET)
        return bool(fleet.envoys) and fleet.acceptance.is_settled

    def refusals(self) -> list[str]:
        """Envoy's words, by the resource and its part."""
        fleet = self.server.fleet(DEFAULT_FLEET)
        found = [f"{name.name} {part}: {it.words[:300]}" for name, part, it in fleet.quarantine]
        count = sum(count for (what, _), count in fleet.counts.items() if what == "refused")
        return found or [f"{count} responses"] * bool(count)

    def is_accepted(self, document: Document) -> bool:
        """Whether the rules have nothing against an object, warnings aside."""
        metadata = document["metadata"]
        subject = ObjectRef(document["kind"], metadata["namespace"], metadata["name"])
        board = self.instance.controller.board
        told = board.told.get(subject)
        return isinstance(told, ContourStatus) and not told.errors and not board.faults(subject)

    def is_route_accepted(self, name: str) -> bool:
        """Whether its only parent accepts an HTTPRoute and all that it refers to."""
        told = self.instance.controller.board.told.get(ObjectRef("HTTPRoute", "default", name))
        assert isinstance(told, RouteStatus)
        return all(it.status == "True" for each in told.parents for it in each.conditions)

    def is_met(self, policy: ObjectRef) -> bool:
        """Whether a policy, XBackend or Backend is accepted, and all that it refers to."""
        told = self.instance.controller.board.told.get(policy)
        if isinstance(told, BackendStatus):
            return all(it.status == "True" for it in told.conditions)
        assert isinstance(told, PolicyStatus)
        return all(it.status == "True" for each in told.ancestors for it in each.conditions)


def _decoded(documents: Iterable[Document]) -> list[Decoded]:
    return [it for it in map(decode, documents) if isinstance(it, Decoded) and it.object]


@contextlib.asynccontextmanager
async def live(folder: Path, ports: Sequence[int], *, is_pod: bool = False) -> AsyncIterator[Live]:
    """An instance with its Envoy, over the things that generated objects refer to.

    On one machine ports are said from outside; in a pod the configuration says them.
    """
    with state.claimed(folder / "state") as directory:
        server = Server((f"unix:{directory.socket('xds.sock')}",), _PATIENCE)
        found = Live(Instance(server), server)
        has_keys(found.instance)
        socket = str(directory.socket(ratelimitclient.SOCKET_NAME))
        found.instance.controller.engine.write(ratelimitclient.SOCKET, (), socket)
        if not is_pod:
            found.instance.controller.use_host_ports(
                HostPorts("127.0.0.1", ((80, ports[0]), (443, ports[1])))
            )
        found.take(yaml.load_all(surroundings.MANIFESTS + _ASKED, yaml.CSafeLoader))
        found.take([configurations.usual(ports)])
        if not is_pod:
            sockets.hold(found.instance.controller.engine)
        await server.start()
        options = host.EnvoyOptions(concurrency=1, drain_seconds=0)
        try:
            async with host.EnvoyProcess(directory, _bootstrap(directory), options) as envoy:
                await envoy.live()
                yield found
        finally:
            await server.stop()


def _bootstrap(directory: state.StateDirectory) -> str:
    return bootstrap.text(
        bootstrap.Settings(
            node="envoy",
            fleet=DEFAULT_FLEET,
            control_plane=bootstrap.Pipe(directory.socket("xds.sock")),
            admin=directory.socket(host.ADMIN),
        )
    )
