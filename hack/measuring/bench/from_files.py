"""`contour run` on a folder: from its start until it serves, and from a saved file to an answer.

And `contour analyze` of a file.
"""

import asyncio
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from hack.measuring import program
from tests.testbed import probe, world
from tests.testbed.envoys import backends
from tests.testbed.figures import Figure, percentile, spread
from tests.testbed.load import Connection, Request
from tests.testbed.measuring import Options, measures
from tests.testbed.replicas import COMMAND
from tests.testbed.world import World

EDITED_HOSTS, EDITED_SERVICES = 1_000, 500  # 3,000 documents


@measures("cold-start", "bench")
def cold_start(options: Options) -> Iterator[Figure]:
    """From the start of the process until `ready`, one file per 100 objects."""
    for hosts, target in ((1_000, None), (10_000, 20)):
        runs = [asyncio.run(_started(World.of(hosts))) for _ in range(options.times(3, 1))]
        label = f"{hosts:,} hosts, {2 * hosts:,} HTTPProxies"
        yield Figure(
            f"{label}: start to ready", percentile([it for it, _ in runs], 0.5), "s", target
        )
        limit = 600 if hosts == 10_000 else None
        yield Figure(f"{label}: memory of contour run", max(it for _, it in runs), "MiB", limit)


@measures("file-edit", "bench")
def file_edit(options: Options) -> Iterator[Figure]:
    """From a saved file to the answer that shows it, through a real Envoy, at 1,000 hosts."""
    times = options.times(100, 30)
    for label, per_file, target in (
        ("one object per file", 1, 50),
        ("3,000 documents in one file", 3_000, 150),
    ):
        chance = options.random("file-edit")
        yield from spread(label, asyncio.run(_edited(per_file, times, chance)), target)


@measures("analyze-files", "bench")
def analyze_files(options: Options) -> Iterator[Figure]:
    """`contour analyze -f` of one file with 10,000 objects: processor time of the process."""
    hosts = 450 if options.quick else 4_500
    with tempfile.TemporaryDirectory(prefix="manifests-") as folder:
        documents = list(World.of(hosts).documents())
        world.write(Path(folder), documents, per_file=len(documents))
        took = [_analyzed(folder) for _ in range(options.times(5, 3))]
    target = None if options.quick else 5
    yield Figure(f"{len(documents):,} objects in one file", percentile(took, 0.5), "s", target)


def _analyzed(folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run((COMMAND, "analyze", "-f", folder), check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


async def _started(of: World) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="manifests-") as folder:
        world.write(Path(folder), of.documents(), per_file=100)
        async with program.running(Path(folder)) as it:
            return it.seconds, it.resident


async def _edited(per_file: int, times: int, chance: Random) -> list[float]:
    async with backends(1) as ports:
        of = World(EDITED_HOSTS, EDITED_SERVICES, backends=ports)
        with tempfile.TemporaryDirectory(prefix="manifests-") as path:
            folder = Path(path)
            world.write(folder, of.documents(), per_file)
            async with program.running(folder) as it:
                connection = Connection(it.port)
                save = _one_object if per_file == 1 else _all_in_one
                return [await _saved(connection, of, folder, save, chance) for _ in range(times)]


Save = Callable[[World, Path, int, str], Callable[[], None]]
"""Prepares the new text of the file with a host's HTTPProxy; returns a function that saves it."""


async def _saved(
    connection: Connection, of: World, folder: Path, save: Save, chance: Random
) -> float:
    host, shown = chance.randrange(of.hosts), f"edit {chance.random()}"
    write = save(of, folder, host, shown)
    start = asyncio.get_running_loop().time()
    write()
    request = Request(world.fqdn(host), "/api/v1")
    seen = await probe.observed(connection, request, lambda it: it.headers.get("x-edit") == shown)
    return seen - start


def _one_object(of: World, folder: Path, host: int, shown: str) -> Callable[[], None]:
    text = world.text([of.child(host, header=shown)])
    (file,) = (it for it in folder.iterdir() if _heading(host) in it.read_text())
    return lambda: _save(file, text)


def _all_in_one(of: World, folder: Path, host: int, shown: str) -> Callable[[], None]:
    (file,) = folder.iterdir()
    before = file.read_text()
    old = next(it for it in before.split("---\n") if _heading(host) in it)
    new = world.text([of.child(host, header=shown)])
    return lambda: _save(file, before.replace(old, new))


def _heading(host: int) -> str:
    return f"metadata:\n  name: child-{host}\n"


def _save(file: Path, text: str) -> None:
    """Saves as an editor does: the whole file at once, in place."""
    file.write_text(text)
