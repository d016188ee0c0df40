"""Real Envoys, of several releases: what one cannot load is left out for it, and nobody is lost."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import aiohttp
import pytest
from envoy.config.route.v3 import route_components_pb2, route_pb2

from contour import bootstrap
from contour.host import installation
from contour.host.administration import Administration
from contour.instance import Instance
from contour.xds import resources
from contour.xds.resources import CLUSTER, ROUTE
from contour.xds.server import Server
from crds.meta import ObjectRef
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from tests import older_envoys
from tests.contour.test_controller import events
from tests.dag.gateway import manifests
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_port

pytestmark = pytest.mark.envoy
PAGES = "errorPages: [{statuses: [{start: 500, end: 600}], body: sorry}]"
CURRENT = ""


def proxy(name: str, more: str = "", body: str = "here") -> str:
    """A host with a route that answers 503 and one that answers 200."""
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: {name}}}
spec:
  virtualhost: {{fqdn: {name}.com}}
  routes:
  - directResponsePolicy: {{statusCode: 503}}
    {more}
  - conditions: [{{prefix: /ok}}]
    directResponsePolicy: {{statusCode: 200, body: {body}}}
"""


@dataclass
class Site:
    """A control plane, and the Envoys that somebody starts."""

    folder: Path
    port: int = field(default_factory=free_port)
    spoilt: Callable[[resources.Change], resources.Change] = lambda it: it

    def __post_init__(self) -> None:
        self.server = Server((f"unix:{self.folder}/xds",))
        self.instance = Instance(self.server)
        self.instance.controller.use_host_ports(HostPorts("127.0.0.1", ((80, self.port),)))
        self.fleet = self.server.fleet(DEFAULT_FLEET)
        publish = self.fleet.publish
        self.instance.controller._publish = lambda _, changes: publish(map(self.spoilt, changes))

    def take(self, *texts: str) -> None:
        self.instance.take(events("".join(texts)))

    def told(self, name: str) -> list[str]:
        self.instance.controller.settle()
        subject = ObjectRef("HTTPProxy", "default", name)
        rows = self.instance.controller.board.rows()
        return [reason for it in rows if it.subject == subject for reason in it.reasons]

    async def until_told(self, name: str, text: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not any(text in it for it in self.told(name)):
                await asyncio.sleep(0.02)

    @asynccontextmanager
    async def envoy(self, release: str = CURRENT) -> AsyncIterator[None]:
        """An Envoy while the block runs, which has begun to serve; all listen on the same port."""
        program = older_envoys.found(release) if release else installation.binary()
        name = f"envoy-{release or 'current'}"
        admin = self.folder / f"{name}.sock"
        settings = bootstrap.Settings(
            node=name,
            fleet=DEFAULT_FLEET,
            control_plane=bootstrap.Pipe(self.folder / "xds"),
            admin=admin,
        )
        (self.folder / f"{name}.json").write_text(bootstrap.text(settings))
        process = await asyncio.create_subprocess_exec(
            *(str(program), "-c", str(self.folder / f"{name}.json"), "--concurrency", "1"),
            *("--use-dynamic-base-id", "-l", "warning"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                while not await Administration(admin).is_live():
                    await asyncio.sleep(0.001)
            yield
        finally:
            process.kill()
            await process.wait()

    async def ask(self, name: str, path: str = "/ok") -> tuple[int, str]:
        """On a connection of its own: any Envoy may get it."""
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session,
            session.get(f"http://127.0.0.1:{self.port}{path}", headers={"host": f"{name}.com"})
            as answer,
        ):  # fmt: skip
            return answer.status, await answer.text()


@asynccontextmanager
async def site(
    folder: Path, *texts: str, **how: Callable[..., resources.Change]
) -> AsyncIterator[Site]:
    made = Site(folder, **how)  # type: ignore[arg-type]
    made.take(*texts)
    await made.server.start()
    try:
        yield made
    finally:
        await made.server.stop(0)


def hosts(number: int) -> Iterable[str]:
    """Each tenth has error pages, which Envoys before 1.40 refuse."""
    return [proxy(f"h{it}", PAGES if it % 10 == 0 else "") for it in range(number)]


@pytest.mark.parametrize("release", older_envoys.RELEASES)
async def test_what_an_older_envoy_cannot_load_is_left_out_of_the_route_and_told(
    tmp_path: Path, release: str
) -> None:
    async with site(tmp_path, *hosts(30)) as it, it.envoy(release):
        assert [await it.ask(f"h{n}") for n in range(30)] == [(200, "here")] * 30
        assert await it.ask("h0", "/") == (503, "")
        assert not it.fleet.counts["refused", ROUTE]
        await it.until_told("h0", f"errorPages: left out on 1 of 1 Envoys ({release})")
        assert not it.told("h1")


BOUNDED = (
    manifests.gateway_class()
    + manifests.configuration("gateway: {}")
    + manifests.gateway("gw")
    + manifests.service("s1")
    + manifests.route("r", hosts=("bounded.com",))
    + manifests.xbackend_traffic_policy("p", "retryConstraint: {budget: {interval: 5s}}")
)


@pytest.mark.parametrize("release", older_envoys.RELEASES)
async def test_an_older_envoy_takes_a_budget_for_retries(tmp_path: Path, release: str) -> None:
    async with site(tmp_path, BOUNDED) as it, it.envoy(release):
        assert await it.ask("bounded", "/") == (503, "no healthy upstream")
        assert not it.fleet.counts["refused", CLUSTER]


async def test_an_envoy_whose_first_response_is_refused_is_not_ready_while_hosts_are_404(
    tmp_path: Path,
) -> None:
    bad = {f"h{it}" for it in range(0, 100, 10)}
    async with site(tmp_path, *(proxy(f"h{it}") for it in range(100)), spoilt=_spoilt) as it:
        async with it.envoy():
            answers = Counter([(await it.ask(f"h{n}"))[0] for n in range(100)])
        assert it.fleet.counts["refused", ROUTE] > len(bad) // 2
    assert answers == {200: 100 - len(bad), 503: len(bad)}


def _spoilt(change: resources.Change) -> resources.Change:
    """Each tenth host has its domain twice, which Envoy refuses."""
    host = change.part
    if change.name.type_url != ROUTE or not host.endswith("0.com") or change.value is None:
        return change
    twice = route_components_pb2.VirtualHost(name=host, domains=[host, host.upper()])
    body = route_pb2.RouteConfiguration(virtual_hosts=[twice]).SerializeToString()
    digest = resources.digest(body)
    return change._replace(value=replace(change.value, body=body, digest=digest))


async def test_a_fleet_of_two_releases_loses_no_request_and_answers_no_404(tmp_path: Path) -> None:
    seen: Counter[tuple[str, int, str]] = Counter()
    async with site(tmp_path, *hosts(40)) as it, it.envoy(), asyncio.TaskGroup() as tasks:
        asking = [tasks.create_task(_load(it, seen, n)) for n in range(4)]
        async with it.envoy("1.39.3"):
            await it.until_told("h0", "errorPages: left out on 1 of 2 Envoys (1.39.3)")
            for number in range(20):
                name = f"h{number}"
                pages = PAGES if number % 2 == 0 else ""
                it.take(proxy(name, pages, body="edited"))
                await _until_edited(it, name)
            for task in asking:
                task.cancel()
            await asyncio.wait(asking)
    assert {status for _, status, _ in seen} == {200, 503}
    assert {text for path, status, text in seen if path == "/ok"} <= {"here", "edited"}
    assert {(status, text) for path, status, text in seen if path == "/"} <= {
        (503, ""), (503, "sorry"),
    }  # fmt: skip
    assert not it.fleet.counts["refused", ROUTE]


async def _until_edited(it: Site, name: str) -> None:
    """Every Envoy has it: so many answers in a row cannot all come from one of two."""
    async with asyncio.timeout(PATIENCE):
        while {await it.ask(name) for _ in range(12)} != {(200, "edited")}:
            pass


async def _load(it: Site, seen: Counter[tuple[str, int, str]], number: int) -> None:
    while True:
        for host in range(number, 40, 4):
            for path in ("/ok", "/"):
                status, text = await it.ask(f"h{host}", path)
                seen[path, status, text] += 1


async def test_what_is_told_goes_with_the_last_older_envoy(tmp_path: Path) -> None:
    async with site(tmp_path, proxy("h0", PAGES)) as it:
        it.fleet.patience = replace(it.fleet.patience, comeback=0.1)
        async with it.envoy():
            async with it.envoy("1.39.3"):
                await it.until_told("h0", "1 of 2 Envoys (1.39.3)")
                assert await it.ask("h0") == (200, "here")
            async with asyncio.timeout(PATIENCE):
                while it.told("h0"):
                    await asyncio.sleep(0.02)
