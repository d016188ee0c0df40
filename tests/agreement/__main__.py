"""Pushes generated objects through an Envoy, and tells how much it saw: `hack/fuzz --envoy`."""

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from tests.agreement import configurations, live, pushing
from tests.agreement.coverage import Coverage
from tests.testbed.ports import free_ports

_SHARE = 200


def main() -> None:
    """The exit code is 1 if Envoy refused anything."""
    parser = argparse.ArgumentParser(prog="hack/fuzz --envoy", description=__doc__)
    parser.add_argument(
        "--count", type=int, default=2000, help="number of HTTPProxies; default: %(default)s"
    )
    parser.add_argument(
        "--configurations",
        type=int,
        default=650,
        help="number of ContourConfigurations; default: %(default)s",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first object; default: %(default)s"
    )
    arguments = parser.parse_args()
    started = time.monotonic()
    words, found = asyncio.run(_pushed(arguments))
    print("\n".join(found.table()))
    print(f"refused by Envoy: {len(words)}, after {time.monotonic() - started:.0f} s")
    print("\n".join(words))
    raise SystemExit(1 if words else 0)


async def _pushed(given: argparse.Namespace) -> tuple[list[str], Coverage]:
    found, words = Coverage(), []
    for count, seed in _shares(given.count, given.seed):
        async with _live() as (running, _):
            words += await pushing.push_proxies(running, count, seed, found)
    for count, seed in _shares(given.configurations, given.seed):
        async with _live(is_pod=True) as (running, ports):
            # A few objects of every sort, so that a change of the settings reaches all of them.
            words += await pushing.push_proxies(running, 8, seed, Coverage())
            seeds = range(seed, seed + count)
            words += await pushing.push_configurations(running, ports, seeds, found)
    return words, found


def _shares(count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Each for an Envoy of its own: one keeps what it drains for ten minutes."""
    for start in range(0, count, _SHARE):
        yield min(_SHARE, count - start), seed + start


@contextlib.asynccontextmanager
async def _live(*, is_pod: bool = False) -> AsyncIterator[tuple[live.Live, Sequence[int]]]:
    ports = free_ports(configurations.PORTS)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        async with live.live(Path(folder), ports, is_pod=is_pod) as running:
            yield running, ports


if __name__ == "__main__":
    main()
