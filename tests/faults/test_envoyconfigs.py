"""EnvoyConfigs in a cluster: faults between a refusal and what is written of it.

The leader dies, or is frozen for longer than its Lease, or the API server is away. Two replicas
over one Lease, an Envoy of one node ID on each. No request is lost, both Envoys are served the
revision before, no Envoy refuses the same twice, and in the end the objects say so.
"""

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from provisioning import secrets
from tests.cluster.double.faults import Request as Asked
from tests.cluster.double.resources import Name
from tests.faults.rows import Limit, NotInjectedError, Run, fault
from tests.faults.test_leadership import other_leads, the_leader, until_frozen
from tests.testbed import doubled, processes
from tests.testbed.doubled import Site
from tests.testbed.envoys import Envoy
from tests.testbed.load import Connection, Load, Request
from tests.testbed.ports import free_ports
from tests.testbed.replicas import NAMESPACE, Replica
from tests.testbed.world import Document, configuration

REVISIONS = Name("marin3r.3scale.net", "envoyconfigrevisions")
SECRETS = Name("", "secrets")
ENVOY_SECRET = (NAMESPACE, "envoy-node-edge")
ASKED = Request("any.example.com")
HCM = (
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3"
    ".HttpConnectionManager"
)
ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"

pair = doubled.stage(5, number=2)


def _config(port: int, version: str, *, is_bad: bool) -> Document:
    """One whose answers say which version it is; Envoy refuses two hosts that take everything."""
    answer = {"status": 200, "body": {"inline_string": '{"backend": "edge"}'}}
    host = {
        "name": "all",
        "domains": ["*", "*"] if is_bad else ["*"],
        "response_headers_to_add": [{"header": {"key": "x-version", "value": version}}],
        "routes": [{"match": {"prefix": "/"}, "direct_response": answer}],
    }
    manager = {
        "@type": HCM,
        "stat_prefix": "http",
        "rds": {
            "route_config_name": "all",
            "config_source": {"ads": {}, "resource_api_version": "V3"},
        },
        "http_filters": [{"name": "router", "typed_config": {"@type": ROUTER}}],
    }
    listener = {
        "name": "http",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "enable_reuse_port": True,
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }
    resources = [
        {"type": "route", "value": {"name": "all", "virtual_hosts": [host]}},
        {"type": "listener", "value": listener},
    ]
    return {
        "apiVersion": "marin3r.3scale.net/v1alpha1",
        "kind": "EnvoyConfig",
        "metadata": {"name": "edge", "namespace": NAMESPACE},
        "spec": {"nodeID": "edge", "resources": resources},
    }


class _NodeEnvoy(Envoy):
    """One with the certificate of the node ID, on a replica."""

    def __init__(self, site: Site, of: Replica) -> None:
        here = site.folder / f"edge-{of.name}"
        here.mkdir()
        super().__init__(here, "edge")
        found = site.double.store.get(SECRETS, ENVOY_SECRET)
        assert found is not None
        for file, data in found["data"].items():
            (here / file).write_bytes(base64.b64decode(data))
        processes.called(
            *("bootstrap", str(self.configuration), "--node-id", "edge", "--namespace", NAMESPACE),
            *("--xds-address", "127.0.0.1", "--xds-port", str(of.port)),
            *("--admin-address", str(self.admin), "--resources-dir", str(here)),
            *("--envoy-cafile", str(here / "ca.crt"), "--envoy-cert-file", str(here / "tls.crt")),
            *("--envoy-key-file", str(here / "tls.key")),
        )


@dataclass(slots=True)
class Edge:
    """Both replicas, both Envoys, and the EnvoyConfig."""

    site: Site
    port: int
    envoys: list[_NodeEnvoy] = field(default_factory=list)

    async def write(self, version: str, *, is_bad: bool = False) -> None:
        """Edits it, as a user would."""
        await self.site.write(_config(self.port, version, is_bad=is_bad))

    def revisions(self) -> list[Document]:
        """The objects that there are."""
        return [it for _, it in self.site.double.store.all(REVISIONS)]

    def is_told(self, served: str, refused: str = "") -> bool:
        """Whether the objects say that one version is served, and the other one refused."""
        published = [it for it in self.revisions() if it.get("status", {}).get("published")]
        is_refused = self.is_tainted(refused) or not refused
        return [_says(it, served) for it in published] == [True] and is_refused

    def is_tainted(self, version: str) -> bool:
        """Whether the objects say that it is refused."""
        return any(
            it.get("status", {}).get("tainted") and _says(it, version) for it in self.revisions()
        )

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits for something in the objects."""
        async with asyncio.timeout(60):
            while not condition():
                await self.site.double.news()

    async def served(self, version: str, seconds: float = 60.0) -> None:
        """Waits until both Envoys answer so (they share a port)."""
        async with asyncio.timeout(seconds):
            while {await self._answer() for _ in range(12)} != {version}:
                await asyncio.sleep(0.02)

    async def good(self, run: Run) -> str:
        """A new version that both serve, and of which everything is written."""
        version = f"good-{run.number}"
        await self.write(version)
        await self.served(version)
        await self.until(lambda: self.is_told(version))
        return version

    def has(self, version: str) -> bool:
        """Whether there is a revision of it."""
        return any(_says(it, version) for it in self.revisions())

    def refusals(self) -> int:
        """How often Envoys have refused something until now, as the logs of both replicas say."""
        return sum(it.log.read_text().count(" rejects edition ") for it in self.site.replicas)

    def load(self) -> Load:
        """Requests to both."""
        return Load(self.port, [ASKED], 100, a_connection=5)

    async def _answer(self) -> str:
        connection = Connection(self.port)
        try:
            return (await connection.ask(ASKED)).headers.get("x-version", "")
        except OSError:
            return ""
        finally:
            connection.close()


def _says(found: Document, version: str) -> bool:
    return f"'value': '{version}'" in str(found["spec"])


@contextlib.asynccontextmanager
async def edge() -> AsyncIterator[Edge]:
    """The stage: an instance with an authority, which serves EnvoyConfigs."""
    async with pair() as site:
        (port,) = free_ports(1)
        of = Edge(site, port)
        authority: dict[str, Any] = {"name": "contour-authority", "namespace": NAMESPACE}
        keys = {"ca.crt": "CAcert.pem", "ca.key": "CAkey.pem"}
        data = {it: (site.folder / "certificates" / name) for it, name in keys.items()}
        encoded = {it: base64.b64encode(path.read_bytes()).decode() for it, path in data.items()}
        site.double.put(
            {"apiVersion": "v1", "kind": "Secret", "metadata": authority}
            | {"type": secrets.AUTHORITY_TYPE, "data": encoded}
        )
        await site.write(configuration(discovery={}))
        await of.write("first")
        await of.until(lambda: site.double.store.get(SECRETS, ENVOY_SECRET))
        try:
            for it in site.replicas:
                of.envoys.append(_NodeEnvoy(site, it))
                await of.envoys[-1].start()
            await of.served("first")
            yield of
        finally:
            for envoy in of.envoys:
                await envoy.end()


@fault("envoyconfig-killed", edge, together=1, patience=120, complete=Limit("s", 30))
async def killed(run: Run, of: Edge) -> None:
    """The leader is killed before any, or between two, of the writes that follow a refusal."""
    good, bad = await of.good(run), f"bad-{run.number}"
    number, site = await the_leader(of.site), of.site
    async with of.load().running() as tally:
        await _in_the_middle(run, of, number, bad)
        await site.replicas[number].end()
        start = time.monotonic()
        await of.until(lambda: of.is_told(good, bad))
        run.figures["complete"] = time.monotonic() - start
        await of.served(good)
        await site.replicas[number].start()
        await of.served(good)
    run.count(tally)


@fault(
    "envoyconfig-alone",
    edge,
    patience=180,
    complete=Limit("s", 30),
    refusals=Limit("", 2),
)
async def alone(run: Run, of: Edge) -> None:
    """The API server is away before the taint is written: Envoys that start get what is good."""
    good = await of.good(run)
    async with of.load().running() as tally:
        bad, before = await _cut_off(run, of, good)
        async with asyncio.timeout(60):
            while of.refusals() == before:
                await asyncio.sleep(0.05)
        await asyncio.sleep(run.chance.uniform(1.0, 4.0))
    run.count(tally)
    for it in of.envoys:
        await it.end()
        await it.start()
    await of.served(good)
    run.expect(not of.is_tainted(bad), "somebody has written although nobody answers")
    run.prove("refused", of.refusals() - before)
    run.figures["refusals"] = of.refusals() - before
    await of.site.double.start()
    start = time.monotonic()
    await of.until(lambda: of.is_told(good, bad))
    run.figures["complete"] = time.monotonic() - start


async def _cut_off(run: Run, of: Edge, good: str) -> tuple[str, int]:
    """Writes what is refused, and stops the API server before it is told so; returns the version,
    and how often Envoys had refused something before."""
    for attempt in range(10):
        bad, before = f"bad-{run.number}-{attempt}", of.refusals()
        await of.write(bad, is_bad=True)
        await of.until(partial(of.has, bad))
        await of.site.double.stop()
        if not of.is_tainted(bad):
            return bad, before
        await of.site.double.start()
        await of.until(partial(of.is_told, good, bad))
    raise NotInjectedError("the taint was always written before")


@fault(
    "envoyconfig-two-leaders",
    edge,
    patience=120,
    complete=Limit("s", 30),
    late=Limit("", 0),
    refusals=Limit("", 2),
)
async def two_leaders(run: Run, of: Edge) -> None:
    """The leader is frozen in between, and awakes when another one leads: it writes no more."""
    good, bad = await of.good(run), f"bad-{run.number}"
    number, site, before = await the_leader(of.site), of.site, of.refusals()
    old = site.replicas[number]
    async with of.load().running() as tally:
        await _in_the_middle(run, of, number, bad)
        old.freeze()
        start = time.monotonic()
        await until_frozen(old)
        await other_leads(site, number)
        run.prove("frozen", old.is_frozen)
        await asyncio.sleep(run.chance.uniform(0.0, 2.0))
        old.thaw()
        thawed = time.monotonic()
        await of.until(lambda: of.is_told(good, bad))
        run.figures["complete"] = time.monotonic() - start
        await of.served(good)
        await asyncio.sleep(1)  # whatever it had in mind
    run.count(tally)
    run.figures["late"] = sum(it.time > thawed for it in _writes(of, number))
    run.figures["refusals"] = of.refusals() - before
    run.expect(of.is_told(good, bad), "the old one has changed what the next one wrote")
    specs = [str(it["spec"]) for it in of.revisions()]
    run.expect(len(specs) == len(set(specs)), "two revisions are the same")


async def _in_the_middle(run: Run, of: Edge, number: int, bad: str) -> None:
    """Writes what is refused; returns when the leader has made none, one or two writes for that:
    the revision, and its taint."""
    before, writes = _written(of, number), run.chance.randrange(3)
    await of.write(bad, is_bad=True)
    await of.until(lambda: _written(of, number) >= before + writes)
    run.proofs |= {"writes before": writes, "left undone": not of.is_tainted(bad)}


def _written(of: Edge, number: int) -> int:
    return len(_writes(of, number))


def _writes(of: Edge, number: int) -> list[Asked]:
    every = (of.site.asked(number, verb, REVISIONS.plural) for verb in ("create", "patch"))
    return [it for some in every for it in some]
