"""Requests without pause while something happens; what is lost is lost: nothing is sent twice.

A connection is used as long as the server allows. One that it closes after it has said so is
replaced; one that breaks under a request has lost that request.
"""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_PAUSE = 0.01  # seconds between the requests of one client


@dataclass(slots=True)
class Tally:
    """What became of all requests."""

    answered: int = 0
    lost: Counter[str] = field(default_factory=Counter)  # by what happened instead


@contextmanager
def running(address: str, port: int, host: str, clients: int = 4) -> Iterator[Tally]:
    """So many clients ask, one request at a time each; all answers are to be 200."""
    tally, ending, lock = Tally(), threading.Event(), threading.Lock()

    def note(outcome: str) -> None:
        with lock:
            if outcome == "200":
                tally.answered += 1
            else:
                tally.lost[f"{outcome} at {time.strftime('%H:%M:%S')}"] += 1

    def work() -> None:
        connection = http.client.HTTPConnection(address, port, timeout=10)
        while not ending.wait(_PAUSE):
            note(_ask(connection, host))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for it in threads:
        it.start()
    try:
        yield tally
    finally:
        ending.set()
        for it in threads:
            it.join()


def _ask(connection: http.client.HTTPConnection, host: str) -> str:
    try:
        connection.request("GET", "/", headers={"Host": host})
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException) as error:
        with suppress(OSError):
            connection.close()
        return type(error).__name__
    return str(response.status)
