"""The first build with an extension that gets calls for all four hooks, and takes a millisecond for
each reply.

Its target is in elapsed time, because most of it is waiting: other load on the machine makes it
longer. The extension runs in a process of its own, and counts how many calls are open at once.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hack.measuring import fresh, metered
from tests.testbed import world
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.world import Document, World

HOOKS = ("Route", "VirtualHost", "HTTPListener", "Translation")
KIND = {"group": "example.com", "version": "v1", "kind": "Tag"}
PATIENCE = 600.0
MOST_SECONDS, MOST_AT_ONCE = 60, 64


class _Built(NamedTuple):
    """Times in seconds."""

    took: float
    processor: float
    most: int
    asked: dict[str, int]


@measures("extension-build", "bench")
def extension_build(options: Options) -> Iterator[Figure]:
    """A tenth of the hosts belong to the Gateway API, and refer to an object of the extension."""
    hosts = 1_000 if options.quick else 10_000
    found = fresh.fresh(_built, hosts)
    said = f"{hosts:,} hosts, all hooks, 1 ms an answer"
    yield Figure(f"{said}: first build", found.took, "s", MOST_SECONDS)
    yield Figure(f"{said}: processor time of the control plane", found.processor, "s")
    yield Figure(f"{said}: most questions at once", found.most, "", MOST_AT_ONCE)
    for hook, number in found.asked.items():
        yield Figure(f"{said}: questions of the hook {hook}", number, "")


async def _built(hosts: int) -> _Built:
    of = World.of(hosts - hosts // 10)
    with tempfile.TemporaryDirectory(prefix="tags-") as folder:
        path = Path(folder, "tags.sock")
        server = subprocess.Popen(
            [sys.executable, "-m", "hack.measuring.tagging", str(path), "1"],
            stdout=subprocess.PIPE,
        )
        try:
            while not path.exists():
                await asyncio.sleep(0.05)
            start, began = time.monotonic(), time.process_time()
            made, _ = metered.built([_configuration(path), *of.documents(), *_routes(hosts // 10)])
            await made.asker.begin(patience=PATIENCE)
            took, processor = time.monotonic() - start, time.process_time() - began
            await made.asker.close()
        finally:
            server.terminate()
            told, _ = server.communicate()
    found = json.loads(told)
    return _Built(took, processor, found["most"], found["asked"])


def _configuration(path: Path) -> Document:
    entry = {
        "name": "tags", "hooks": {"post": list(HOOKS)}, "service": {"unix": str(path)},
        "timeout": "60s", "resources": [KIND],
    }  # fmt: skip
    gateway = {"controllerName": "projectcontour.io/gateway-controller"}
    return world.configuration(extensions=[entry], gateway=gateway)


def _routes(number: int) -> Iterator[Document]:
    """Hosts of the Gateway API, each with an object of the extension."""
    yield from world.gateway()
    metadata = {"name": "one", "namespace": world.namespace(0)}
    yield {"apiVersion": "example.com/v1", "kind": "Tag", "metadata": metadata, "spec": {}}
    reference = {"group": KIND["group"], "kind": KIND["kind"], "name": "one"}
    for it in range(number):
        route = world.http_route(it, 0)
        route["spec"]["rules"][0]["filters"] = [{"type": "ExtensionRef", "extensionRef": reference}]
        yield route
