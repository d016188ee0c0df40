"""Pushes generated objects through an Envoy, and tells how much it saw: `hack/fuzz --envoy`."""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from tests.agreement import live, pushing
from tests.agreement.coverage import Coverage


def main() -> None:
    """The exit code is 1 if Envoy refused anything."""
    parser = argparse.ArgumentParser(prog="hack/fuzz --envoy", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many HTTPProxies")
    parser.add_argument("--configurations", type=int, default=500, help="how many of these")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    started = time.monotonic()
    words, found = asyncio.run(_pushed(arguments))
    print("\n".join(found.table()))
    print(f"refused by Envoy: {len(words)}, after {time.monotonic() - started:.0f} s")
    print("\n".join(words))
    raise SystemExit(1 if words else 0)


async def _pushed(arguments: argparse.Namespace) -> tuple[list[str], Coverage]:
    found = Coverage()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        async with live.live(Path(folder)) as running:
            words = await pushing.push_proxies(running, arguments.count, arguments.seed, found)
        Path(folder, "second").mkdir()
        async with live.live(Path(folder, "second")) as running:
            # A few objects of every sort, so that a change of the settings reaches all of them.
            words += await pushing.push_proxies(running, 20, arguments.seed, Coverage())
            count = arguments.configurations
            words += await pushing.push_configurations(running, count, arguments.seed, found)
    return words, found


if __name__ == "__main__":
    main()
