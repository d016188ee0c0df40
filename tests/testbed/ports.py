"""Free ports that nothing else takes before the test listens on them.

A port that the kernel picks for a socket that is closed again is from the ephemeral range, which
outgoing connections use, too: under load another process soon has it. These are below that range,
drawn at random among those of this worker, so that parallel tests do not draw the same. None is
drawn again soon: whoever drew it may not listen on it yet. A lock on a byte of one file keeps other
test runs of this user from drawing a port that this process has drawn.
"""

import fcntl
import os
import random
import socket
from collections import deque
from collections.abc import Iterator
from functools import cache as cached
from itertools import islice

from tests import cache

_CHANCE = random.SystemRandom()
_DRAWN: deque[int] = deque()
"""The last ports that this process has drawn, of which it holds the locks."""
_KEPT = 500
_STEP = 2
"""The port after a drawn one is not drawn: a Gateway whose port another one has gets the next."""


def free_port() -> int:
    """One port of 127.0.0.1."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """So many different ones."""
    return list(islice(_free(), count))


def _free() -> Iterator[int]:
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    numbers = range(12_000 + _STEP * worker, 32_000, _STEP * workers)
    for port in _CHANCE.sample(numbers, min(1000, len(numbers))):
        if port not in _DRAWN and _is_free(port) and _is_locked(port):
            _DRAWN.append(port)
            if len(_DRAWN) > _KEPT:
                fcntl.lockf(_locks(), fcntl.LOCK_UN, 1, _DRAWN.popleft())
            yield port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _is_locked(port: int) -> bool:
    """Whether this process now has the lock of a port."""
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cached
def _locks() -> int:
    """The file of the locks, open as long as this process runs."""
    path = cache.folder("ports", "locks")
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
