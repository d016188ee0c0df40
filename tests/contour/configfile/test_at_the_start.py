"""A replica whose configuration is a file, on the double: what it serves at the start."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from contour.configfile.source import Source
from contour.infrastructure.desired import Release
from contour.pages.settings import ListenAddress
from contour.serve import Options, Replica
from crds.meta import NamespacedName
from kube.client import Client
from provisioning.keeping.ownership import Owner
from tests.cluster.double.faults import Rule
from tests.cluster.double.server import Double
from tests.contour.configfile.test_source import NAME, NAMED, path
from tests.contour.kubernetes.test_cluster import double
from tests.kube.followed import At
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports

__all__ = ["double", "path"]


@asynccontextmanager
async def replica(double: Double, path: Path) -> AsyncGenerator[Replica]:
    access, (xds, pages) = At(double.url), free_ports(2)
    site = ListenAddress("127.0.0.1", pages)
    options = Options(
        access=access,
        configuration=NAME,
        address=f"127.0.0.1:{xds}",
        advertised=f"127.0.0.1:{xds}",
        tls=None,
        fleet_service=NamespacedName("default", "envoy"),
        release=Release(Owner("default", "contour")),
        source=Source(path, NAME, "serve"),
        sites={"health": site, "metrics": site, "debug": site},
    )
    async with Client(access) as client:
        it = Replica(client, options)
        async with it.open(), asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(activity) for activity in it.activities()]
            yield it
            for task in running:
                task.cancel()


async def test_a_file_that_changes_before_everything_is_listed_opens_no_port(
    double: Double, path: Path
) -> None:
    """Otherwise Envoys would be served a configuration without any object of the cluster."""
    slow = asyncio.Event()
    double.script.add(Rule("list", "secrets", hold=slow))
    async with replica(double, path) as it:
        path.write_text(NAMED % "a.b/another")
        await asyncio.sleep(1.5)
        assert not it.server.ports
        slow.set()
        async with asyncio.timeout(PATIENCE):
            while not it.server.ports or _name(it) != "a.b/another":
                await asyncio.sleep(0.02)


def _name(it: Replica) -> str | None:
    gateway = it.controller.configuration.gateway
    return gateway.controller_name if gateway is not None else None
