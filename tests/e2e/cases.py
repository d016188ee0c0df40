"""A request and what must come of it, in one line."""

from dataclasses import dataclass, field

from tests.e2e.standalone import Standalone


@dataclass(frozen=True)
class Case:
    """A request, and what must come of it: empty means that it does not matter."""

    url: str
    status: int = 200
    backend: str = ""
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    path: str = ""  # as the backend saw it
    host: str = ""  # likewise
    seen: dict[str, str | None] = field(default_factory=dict)  # request headers, likewise
    answered: dict[str, str | None] = field(default_factory=dict)  # response headers
    body: bytes = b""

    def __str__(self) -> str:
        headers = (f"{name}:{value}" for name, value in self.headers.items())
        return " ".join([self.method, self.url, *headers])


def check(instance: Standalone, case: Case) -> None:
    """Sends the request and compares."""
    answer = instance.ask(case.url, case.method, case.headers)
    assert answer.status == case.status, answer
    assert answer.backend == case.backend or not case.backend
    assert answer.seen.get("path") == case.path or not case.path
    assert answer.seen.get("host") == case.host or not case.host
    assert {name: answer.seen["headers"].get(name) for name in case.seen} == case.seen
    assert {name: answer.headers.get(name) for name in case.answered} == case.answered
    assert answer.body == case.body or not case.body
