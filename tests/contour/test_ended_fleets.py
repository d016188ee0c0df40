"""Fleets of Gateways that come and go leave nothing behind once their last Envoy has gone."""

import asyncio
import json
from pathlib import Path

from grpc import aio

from contour.envoyreports import FleetReports
from contour.envoyreports.collector import Collector
from contour.envoyreports.report import ReportDelta
from contour.instance import Instance
from contour.xds.envoy import Patience
from contour.xds.resources import CLUSTER, LISTENER
from contour.xds.server import Server
from dag import refusals
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from dag.rawconfig import revisions
from tests.contour.rawconfig.documents import document
from tests.contour.test_controller import events
from tests.contour.xds.test_server import SHAPES, Caller, node
from tests.conversations.playbook import DeltaClient
from tests.dag.gateway.manifests import configuration, gateway, gateway_class
from tests.testbed.patience import PATIENCE

EACH = configuration("gateway: {mode: PerGateway}")


def _instance(server: Server, told: list[tuple[str, bool]]) -> Instance:
    made = Instance(server, on_fleet_reports=lambda it, there: told.append((it.fleet, there)))
    made.controller.use_host_ports(HostPorts())
    made.take(events(EACH + gateway_class() + gateway("one") + gateway("two")))
    return made


def _left(of: Instance) -> tuple[set[str], set[str]]:
    """The fleets of Gateways that the server has, and those of which there are reports."""
    rows = {name for name, _ in of.controller.engine.rows(refusals.ENVOYS)}
    assert rows == {*of.fleet_reports}
    return {*of.server.fleets} - {DEFAULT_FLEET}, rows - {DEFAULT_FLEET}


async def test_a_fleet_without_envoys_goes_at_the_next_change() -> None:
    told: list[tuple[str, bool]] = []
    instance = _instance(Server(()), told)
    assert _left(instance) == ({"default/one", "default/two"},) * 2
    instance.take(events(gateway("one"), gone=True))
    instance.take(events(gateway("three")))
    assert _left(instance) == ({"default/two", "default/three"},) * 2
    instance.take(events(gateway("one")))
    assert _left(instance) == ({"default/one", "default/two", "default/three"},) * 2
    assert [there for name, there in told if name == "default/one"] == [True, False, True]


async def test_a_fleet_that_comes_back_at_the_next_change_is_the_same() -> None:
    told: list[tuple[str, bool]] = []
    instance = _instance(Server(()), told)
    before = instance.server.fleets["default/one"]
    for is_gone in (True, False):
        instance.take(events(gateway("one"), gone=is_gone))
    assert instance.server.fleets["default/one"] is before
    assert ("default/one", False) not in told


async def test_a_fleet_with_envoys_is_kept_until_they_have_gone(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/xds"
    server = Server((address,))
    instance = _instance(server, [])
    await server.start()
    async with aio.insecure_channel(address) as channel:
        envoy = Caller(channel, SHAPES[0])
        await envoy.ask(type_url=LISTENER, node=node("default/one"))
        assert (await envoy.answer()).resources
        instance.take(events(gateway("one"), gone=True))
        instance.take(events(gateway("three")))
        assert _left(instance) == ({"default/one", "default/two", "default/three"},) * 2
    async with asyncio.timeout(PATIENCE):
        while server.streams:
            await asyncio.sleep(0.01)
    instance.take(events(gateway("four")))
    assert _left(instance) == ({"default/two", "default/three", "default/four"},) * 2
    await server.stop(0)


async def test_streams_that_end_after_their_envoyconfig_leave_no_report() -> None:
    """Another one of that name and content would count as accepted before an Envoy has it."""
    server = Server((), patience=Patience(comeback=0))
    instance = Instance(server)
    config = json.dumps(document("resources: [{type: cluster, value: {name: a}}]"))
    instance.take(events(config))
    (fleet,) = server.by_node.values()
    envoy = DeltaClient(fleet)
    envoy.stream.receive(envoy.subscribe(CLUSTER, ()), fleet.clock())
    response = envoy.stream.response(fleet.clock())
    assert response is not None
    envoy.stream.receive(envoy.answer(envoy.take(response).type_url, ""), fleet.clock())
    rows = instance.controller.engine.rows
    assert [it.is_taken for _, it in rows(revisions.ACKNOWLEDGEMENTS)] == [True]
    instance.take(events(config, gone=True))
    envoy.stream.close(fleet.clock())
    later = asyncio.Event()
    asyncio.get_running_loop().call_later(0, later.set)
    await later.wait()
    assert not [*rows(revisions.ACKNOWLEDGEMENTS)]


async def test_what_other_replicas_report_is_kept_while_they_have_the_fleet() -> None:
    collector = Collector(frozenset(), "build")

    def told(reports: FleetReports, is_there: bool) -> None:
        collector.add(reports) if is_there else collector.remove(reports.fleet)

    instance = Instance(Server(()), on_fleet_reports=told)
    instance.take(events(EACH + gateway_class() + gateway("one") + gateway("two")))
    for fleet in ("default/one", "default/two"):
        collector._take("other", fleet, ReportDelta(envoys=3))
    collector._take("other", "default/two", ReportDelta(is_whole=True))
    instance.take(events(gateway("one") + gateway("two"), gone=True))
    instance.take(events(gateway("three")))
    row = instance.controller.engine.row
    assert row(refusals.ENVOYS, "default/one") is None
    assert [*collector._early] == ["default/one"]
    instance.take(events(gateway("one")))
    assert row(refusals.ENVOYS, "default/one") == 3
    assert not collector._early
