"""F71, F72, F74: Envoys and control planes are replaced under load, as pods from our manifests.

There are an operator, an instance of two replicas, and a fleet of three Envoys behind a load
balancer that learns of endpoints a second late. No request at a steady rate over kept connections,
and no response that lasts 8 seconds, may fail while each of these pods is replaced, by a restart or
by a new release.
"""

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

from tests.cluster import assets, prepared
from tests.testbed import longlived
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Load, Request, Tally
from tests.testbed.longlived import Lasting, Target
from tests.testbed.measuring import Options, measures
from tests.workflows import expectations
from tests.workflows.instances import CONTROLLER, Instance, provisioned
from tests.workflows.site import MANIFESTS, Site, opened

RATE = 300
TIMES = 4
"""How often all pods are replaced."""
REQUESTS = 10_000
"""How many requests are sent meanwhile, at least; it takes some 50 s."""
ENVOYS = 3
SPEC = {
    "contour": {"replicas": 2},
    "envoy": {"networkPublishing": {"type": "LoadBalancerService"}},
    "gateway": {"controllerName": CONTROLLER},
}
ASKED = [
    Request("shop.example.com"),
    Request("shop.example.com", "/pay"),
    Request("blog.example.com"),
]

Replacement = Callable[[Instance, int], None]
"""Replaces pods, given the number of this time; returns when that is over."""


@measures("rolling-restarts")
def rolling_restarts(options: Options) -> Iterator[Figure]:
    """F74, with F72 for each of the pods."""
    return _measured("rolling-restarts", options, _restart)


@measures("upgrades")
def upgrades(options: Options) -> Iterator[Figure]:
    """F71: the operator of a new release; it replaces the control plane, which replaces Envoys."""
    return _measured("upgrades", options, _upgrade)


def _measured(name: str, options: Options, replace: Replacement) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="rollouts-") as folder, _instance(folder) as instance:
        times = options.times(TIMES, 1)
        seconds, tally, lasting = asyncio.run(_loaded(instance, times, replace))
    options.note(name, failures=dict(tally.failures), cut=dict(lasting.cut), seconds=seconds)
    yield Figure("times that all were replaced", len(seconds), "")
    yield Figure("of which one took, median", percentile(seconds, 0.5), "s")
    yield Figure("requests sent", tally.sent, "", times * REQUESTS, at_least=True)
    yield Figure("requests lost", tally.lost, "", 0)
    yield Figure("slowest request", tally.slowest, "s")
    yield Figure("responses of 8 s that were whole", lasting.whole.total(), "")
    yield Figure("of these cut", lasting.cut.total(), "", 0)


@contextlib.contextmanager
def _instance(folder: str) -> Iterator[Instance]:
    with (
        prepared.running(Path(folder), assets.gateway_api_crds()) as cluster,
        opened(cluster, nodes=ENVOYS) as site,
    ):
        instance = provisioned(site, SPEC, gateway=True)
        expectations.serves_routes(site, instance.address, gateway=True)
        instance.require_available(contours=2, envoys=ENVOYS)
        yield instance


async def _loaded(
    instance: Instance, times: int, replace: Replacement
) -> tuple[list[float], Tally, Lasting]:
    seconds: list[float] = []
    loop = asyncio.get_running_loop()
    async with _load(instance) as (tally, lasting):
        for number in range(times):
            start = loop.time()
            await asyncio.to_thread(replace, instance, number)
            seconds.append(loop.time() - start)
    return seconds, tally, lasting


@contextlib.asynccontextmanager
async def _load(instance: Instance) -> AsyncIterator[tuple[Tally, Lasting]]:
    load = Load(80, ASKED, RATE, address=instance.address)
    target = Target(80, "shop.example.com", address=instance.address)
    # No WebSocket, because a drain would wait for it as long as possible.
    async with load.running() as tally, longlived.running(target, sockets=0) as lasting:
        yield tally, lasting


def _restart(instance: Instance, _: int) -> None:
    for it in ("daemonset/envoy", "deployment/contour"):
        instance.site.kubectl("rollout", "restart", it, "-n", instance.namespace)
        _rolled_out(instance.site, it, instance.namespace)


def _upgrade(instance: Instance, number: int) -> None:
    """Upgrades to a release of another name, with the same programs."""
    site, tag = instance.site, f"0.1.0-next{number}"
    contour, envoy = f"contour-ingress:{tag}", f"docker.io/envoyproxy/envoy:{tag}"
    text = (MANIFESTS / "operator.yaml").read_text().replace("contour-ingress:0.1.0", contour)
    text = text.replace("- run\n", f"- run\n            - --envoy-image={envoy}\n")
    site.kubectl("apply", "-f", "-", stdin=text)
    _become(instance, "deployment/contour", [contour])
    _become(instance, "daemonset/envoy", [contour, envoy])


def _become(instance: Instance, what: str, images: list[str]) -> None:
    instance.site.until(partial(_images, instance, what), lambda found: found == images, 300.0)
    _rolled_out(instance.site, what, instance.namespace)


def _rolled_out(site: Site, what: str, namespace: str) -> None:
    site.kubectl("rollout", "status", what, "-n", namespace, "--timeout=300s")


def _images(instance: Instance, what: str) -> list[str]:
    found = instance.site.kubectl("get", what, "-n", instance.namespace, "-o", "json")
    pod = json.loads(found)["spec"]["template"]["spec"]
    return [it["image"] for it in pod["containers"]]
