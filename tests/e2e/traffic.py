"""Requests that go on while something changes: every answer is kept, none is asked for twice."""

import contextlib
import http.client
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event, Thread

from tests.e2e.standalone import Answer, Standalone, exchange


@dataclass
class Answers:
    """What came back so far."""

    found: list[Answer] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Requests without an answer: why."""

    def require_all(self, *backends: str) -> None:
        """Each was answered with 200, and each of the backends was seen."""
        assert self.lost == []
        assert Counter(it.status for it in self.found) == {200: len(self.found)}
        assert {it.backend for it in self.found} == set(backends)


@contextlib.contextmanager
def traffic(instance: Standalone, url: str, requests_a_connection: int = 5) -> Iterator[Answers]:
    """Asks one request after the other, a few on each connection, until the caller is done."""
    answers, over = Answers(), Event()
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")

    def run() -> None:
        while not over.is_set():
            try:
                with contextlib.closing(instance.connection(scheme, host)) as connection:
                    for _ in range(requests_a_connection):
                        answers.found.append(exchange(connection, host, f"/{path}"))
            except (OSError, http.client.HTTPException) as error:
                answers.lost.append(repr(error))

    thread = Thread(target=run)
    thread.start()
    try:
        yield answers
    finally:
        over.set()
        thread.join()
