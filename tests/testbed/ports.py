"""Free ports that nothing else takes before the test listens on them.

A port that the kernel picks for a socket that is closed again is from the ephemeral range, which
outgoing connections use, too: under load another process soon has it. These are below that range,
drawn at random among those of this worker, so that parallel tests do not draw the same. None is
drawn again soon: whoever drew it may not listen on it yet.
"""

import os
import random
import socket
from collections import deque
from collections.abc import Iterator
from itertools import islice

_CHANCE = random.SystemRandom()
_DRAWN: deque[int] = deque(maxlen=500)
"""The last ones."""


def free_port() -> int:
    """One port of 127.0.0.1."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """So many different ones."""
    return list(islice(_free(), count))


def _free() -> Iterator[int]:
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    for port in _CHANCE.sample(range(12_000 + worker, 32_000, workers), 1000):
        if port in _DRAWN:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _DRAWN.append(port)
            yield port
