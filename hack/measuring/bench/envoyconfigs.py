"""The cost of EnvoyConfigs: an edit of one of many, and the memory that deleted ones leave; and
whether random histories of them end as the rules say."""

import asyncio
import gc
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from contour.instance import Instance
from contour.xds.server import Server
from dag.ports import HostPorts
from tests.contour.discovery import histories
from tests.testbed import world
from tests.testbed.figures import Figure, spread
from tests.testbed.measuring import Options, measures
from tests.testbed.programs import resident
from tests.testbed.world import Document

ROUTES = 60
"""The routes of one EnvoyConfig, which then has about 10 KB."""


@measures("envoyconfig-edits", "bench")
def envoyconfig_edits(options: Options) -> Iterator[Figure]:
    """One EnvoyConfig of 10 KB among many is edited, a route of it or all: processor time."""
    number = 100 if options.quick else 1_000
    times = options.times(200, 50)
    for edited, words in ((1, "one route"), (ROUTES, "every route")):
        seconds = asyncio.run(_edited(number, times, edited))
        yield from spread(f"{words} of one of {number:,} EnvoyConfigs edited", seconds, 5.0)


@measures("envoyconfigs-come-and-go", "bench")
def envoyconfigs_come_and_go(options: Options) -> Iterator[Figure]:
    """So many are added and removed, twice as warm-up and then again and again: memory."""
    number = 1_000 if options.quick else 10_000
    sizes = asyncio.run(_come_and_gone(number, options.times(4, 3)))
    yield Figure(f"memory after {number:,} came and went twice", sizes[1], "MiB")
    growth = (sizes[-1] - sizes[1]) / (len(sizes) - 2)
    yield Figure("growth for each further time", growth, "MiB", 2)


@measures("envoyconfig-histories", "bench")
def envoyconfig_histories(options: Options) -> Iterator[Figure]:
    """Random histories of an EnvoyConfig: edits, refusals, revisions deleted, restarts, leaders
    that die. Each has to end as the rules say."""
    number, failed, start = options.times(10_000, 200), list[int](), time.process_time()
    for seed in range(number):
        try:
            histories.check(seed)
        except AssertionError as error:
            failed.append(seed)
            options.note("envoyconfig-histories", seed=seed, error=str(error))
    yield Figure("histories", number, "")
    yield Figure("that end otherwise than the rules say", len(failed), "", 0)
    yield Figure("processor time of each", 1000 * (time.process_time() - start) / number, "ms")


async def _edited(number: int, times: int, routes: int) -> list[float]:
    with TemporaryDirectory() as folder:
        instance = _instance(Path(folder))
        instance.take(world.batch(*(_config(it, "0") for it in range(number))))
        seconds: list[float] = []
        for it in range(times):
            batch = world.batch(_config(it % number, f"edit {it}", edited=routes))
            start = time.process_time()
            instance.take(batch)
            seconds.append(time.process_time() - start)
            await asyncio.sleep(0)
        assert len(instance.server.by_node) == number
        return seconds


async def _come_and_gone(number: int, times: int) -> list[float]:
    with TemporaryDirectory() as folder:
        instance, sizes = _instance(Path(folder)), list[float]()
        for _ in range(times):
            for some in _slices(number):
                instance.take(world.batch(*(_config(it, "0", 1, 1) for it in some)))
                await asyncio.sleep(0)
            assert len(instance.server.by_node) == number
            for some in _slices(number):
                instance.take(world.batch(gone=[_config(it, "0", 1, 1) for it in some]))
                await asyncio.sleep(0)
            assert not instance.server.by_node
            gc.collect()
            sizes.append(resident())
        return sizes


def _slices(number: int) -> Iterable[range]:
    return (range(it, min(it + 500, number)) for it in range(0, number, 500))


def _instance(folder: Path) -> Instance:
    instance = Instance(Server((f"unix:{folder}/xds.sock",)))
    instance.controller.use_host_ports(HostPorts("127.0.0.1", ()))
    return instance


def _config(number: int, text: str, routes: int = ROUTES, edited: int = ROUTES) -> Document:
    """One with so many routes, of which the first `edited` answer with the text."""
    several = [
        {"match": {"path": f"/{it}"}, "direct_response": _answer(said), "name": f"route-{it}" * 6}
        for it, said in enumerate([text] * edited + ["0"] * (routes - edited))
    ]
    host = {"name": "all", "domains": ["*"], "routes": several}
    values = [
        ("cluster", {"name": "one", "connect_timeout": "1s"}),
        ("route", {"name": "local", "virtual_hosts": [host]}),
    ]
    return {
        "apiVersion": "marin3r.3scale.net/v1alpha1",
        "kind": "EnvoyConfig",
        "metadata": {"name": f"config-{number}", "namespace": "default"},
        "spec": {
            "nodeID": f"node-{number}",
            "resources": [{"type": type_, "value": value} for type_, value in values],
        },
    }


def _answer(text: str) -> Document:
    return {"status": 200, "body": {"inline_string": text}}
