"""The CRDs of the Gateway API are replaced by those of the next release, and back, under load.

There are an operator, an instance of two replicas and two Envoys as pods, and a real API server. No
request at a steady rate over kept connections may fail while each of the CRDs is replaced. A change
is over when the status of the GatewayClass lists the features of the new release.
"""

import asyncio
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hack.measuring.chaos.rollouts import ASKED, RATE, SPEC
from tests.cluster import prepared
from tests.cluster.cluster import OURS, Cluster
from tests.conformance.programs import RELEASES
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Load, Tally
from tests.testbed.measuring import Options, measures
from tests.workflows import expectations
from tests.workflows.instances import Instance, provisioned
from tests.workflows.site import opened

NAME = "crds-changed"
REQUESTS = 50_000
ENVOYS = 2
CHANNELS = ("standard", "experimental")
_FEATURES = {"v1.7.0": "HTTPRouteRetryCodes", "v1.6.1": "GatewayInfrastructurePropagation"}
"""By release: a feature of a GatewayClass that only this release has, in both channels."""


@measures(NAME)
def crds_changed(options: Options) -> Iterator[Figure]:
    """From v1.6.1 to v1.7.0 and back, in both channels."""
    for channel in CHANNELS:
        with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as folder:
            seconds, tally = _measured(folder, channel, options.times(REQUESTS, 3_000))
        options.note(NAME, channel=channel, failures=dict(tally.failures), seconds=seconds)
        yield Figure(f"{channel}: times that all CRDs were changed", len(seconds), "")
        yield Figure(f"{channel}: of which one took, median", percentile(seconds, 0.5), "s")
        yield Figure(f"{channel}: requests sent", tally.sent, "")
        yield Figure(f"{channel}: requests lost", tally.lost, "", 0)
        yield Figure(f"{channel}: slowest request", tally.slowest, "s")


def _measured(folder: str, channel: str, requests: int) -> tuple[list[float], Tally]:
    with (
        prepared.running(Path(folder), OURS, RELEASES["v1.6.1"].crds(channel)) as cluster,
        opened(cluster, nodes=ENVOYS) as site,
    ):
        instance = provisioned(site, SPEC, gateway=True)
        expectations.serves_routes(site, instance.address, gateway=True)
        instance.require_available(contours=2, envoys=ENVOYS)
        return asyncio.run(_loaded(instance, cluster, channel, requests))


async def _loaded(
    instance: Instance, cluster: Cluster, channel: str, requests: int
) -> tuple[list[float], Tally]:
    seconds: list[float] = []
    loop, versions = asyncio.get_running_loop(), itertools.cycle(("v1.7.0", "v1.6.1"))
    async with Load(80, ASKED, RATE, address=instance.address).running() as tally:
        while tally.sent < requests:
            start = loop.time()
            await asyncio.to_thread(_change, instance, cluster, next(versions), channel)
            seconds.append(loop.time() - start)
    return seconds, tally


def _change(instance: Instance, cluster: Cluster, version: str, channel: str) -> None:
    cluster.install_crds(RELEASES[version].crds(channel))

    def features() -> frozenset[str]:
        found = instance.site.get("gatewayclass", "", "contour")["status"]
        return frozenset(it["name"] for it in found["supportedFeatures"])

    instance.site.until(features, lambda found: _FEATURES[version] in found, 120.0)
