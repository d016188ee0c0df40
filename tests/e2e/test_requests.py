"""Manifests in, answers out: one instance, one real Envoy, a host for each thing that is shown."""

import base64
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import pytest

from tests.contour.xds import certificates
from tests.e2e import manifests
from tests.e2e.standalone import Standalone, standalone

pytestmark = pytest.mark.envoy


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    authority = certificates.authority()
    pair = certificates.issued(authority, "secure.example.com")
    folder = tmp_path_factory.mktemp("standalone")
    files = {
        "services.yaml": manifests.SERVICES,
        "ingress.yaml": manifests.INGRESS,
        "httpproxy.yaml": manifests.HTTPPROXY,
        "gateway.yaml": manifests.GATEWAY,
        "layers.yaml": manifests.LAYERS,
        "live.yaml": manifests.LIVE,
        "secret.yaml": _secret(pair),
    }
    with standalone(folder, files) as running:
        running.trusted = ssl.create_default_context(cadata=authority.pem.decode())
        yield running


def _secret(pair: certificates.Pair) -> str:
    return (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: secure}\ntype: kubernetes.io/tls\n"
        f"data: {{tls.crt: {base64.b64encode(pair.pem).decode()}, "
        f"tls.key: {base64.b64encode(pair.key_pem).decode()}}}\n"
    )


@dataclass(frozen=True)
class Case:
    """A request, and what must come of it: empty means that it does not matter."""

    url: str
    status: int = 200
    backend: str = ""
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    path: str = ""  # as the backend saw it
    seen: dict[str, str | None] = field(default_factory=dict)  # request headers, likewise
    answered: dict[str, str] = field(default_factory=dict)  # response headers
    body: bytes = b""

    def __str__(self) -> str:
        return " ".join([self.method, self.url, *self.headers])


_CASES = [
    Case("http://ingress.example.com/", backend="one"),
    Case("http://ingress.example.com/exact", backend="two"),
    Case("http://ingress.example.com/exact/more", backend="one"),
    Case("http://ingress.example.com/segments/more", backend="two"),
    Case("http://ingress.example.com/segmentsmore", backend="one"),
    Case("http://some.ingress.example.com/", backend="two"),
    Case("http://INGRESS.example.com/", backend="one"),
    Case("http://ingress.example.com:8080/", backend="one"),
    Case("http://nobody.example.com/", 404),
    Case("http://conditions.example.com/", backend="one"),
    Case("http://conditions.example.com/exact", backend="two"),
    Case("http://conditions.example.com/exact/more", backend="one"),
    Case("http://conditions.example.com/42/items", backend="two"),
    Case("http://conditions.example.com/4x2/items", backend="one"),
    Case("http://conditions.example.com/", backend="two", headers={"X-Beta": "yes"}),
    Case("http://conditions.example.com/", backend="one", headers={"X-Beta": "no"}),
    Case("http://conditions.example.com/?beta=yes", backend="two"),
    Case("http://conditions.example.com/?beta=no", backend="one"),
    Case(
        "http://changes.example.com/old/page?q=1",
        headers={"X-Secret": "s"},
        path="/new/page?q=1",
        seen={"x-added": "100% pure", "x-secret": None},
        answered={"x-answered": "proxy"},
    ),
    Case(
        "http://changes.example.com/moved/away",
        302,
        answered={"location": "http://new.example.com/here"},
    ),
    Case("http://changes.example.com/teapot", 418, body=b"short and stout"),
    Case("http://changes.example.com/slow", backend="one"),
    Case("http://broken.example.com/", backend="one"),
    Case("http://broken.example.com/asleep", 503),
    Case("http://broken.example.com/missing", 503),
    Case("https://secure.example.com/", backend="one"),
    Case(
        "http://secure.example.com/page",
        301,
        answered={"location": "https://secure.example.com/page"},
    ),
    Case("http://secure.example.com/open", backend="two"),
    Case("http://routes.example.com/", backend="one"),
    Case("http://routes.example.com/", backend="two", method="POST"),
    Case("http://routes.example.com/", backend="two", headers={"X-Beta": "yes"}),
    Case(
        "http://routes.example.com/old/page",
        path="/new/page",
        seen={"x-added": "route"},
        answered={"x-answered": "route"},
    ),
    Case(
        "http://routes.example.com/moved/away",
        301,
        answered={"location": "http://new.example.com/moved/away"},
    ),
    Case("http://routes.example.com/nowhere", 500),
    Case("http://routes.example.com/granted", backend="two"),
    Case("http://routes.example.com/refused", 500),
    Case("http://layers.example.com/", backend="one"),
    Case("http://layers.example.com/proxy", backend="two"),
    Case("http://layers.example.com/route", backend="two"),
]


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_a_request_is_answered_as_the_manifests_say(instance: Standalone, case: Case) -> None:
    answer = instance.ask(case.url, case.method, case.headers)
    assert answer.status == case.status, answer
    assert answer.backend == case.backend or not case.backend
    assert answer.seen.get("path") == case.path or not case.path
    assert {name: answer.seen["headers"].get(name) for name in case.seen} == case.seen
    assert {name: answer.headers.get(name) for name in case.answered} == case.answered
    assert answer.body == case.body or not case.body


def test_a_slow_answer_is_cut_at_its_timeout(instance: Standalone) -> None:
    answer = instance.ask("http://changes.example.com/slow/wait?seconds=10")
    assert answer.status == 504


def test_a_saved_file_is_served(instance: Standalone) -> None:
    path = instance.manifests / "live.yaml"
    assert instance.ask("http://live.example.com/").backend == "one"
    path.write_text(manifests.LIVE.replace("name: one,", "name: two,"))
    instance.until("http://live.example.com/", "two")


def test_a_broken_file_changes_nothing_and_is_told(instance: Standalone) -> None:
    path = instance.manifests / "live.yaml"
    path.write_text(manifests.LIVE)
    instance.until("http://live.example.com/", "one")
    path.write_text(manifests.LIVE.replace("services:", "services"))
    _until_told(instance.log, str(path.name))
    assert instance.ask("http://live.example.com/").backend == "one"
    assert instance.process.poll() is None
    path.write_text(manifests.LIVE.replace("name: one,", "name: two,"))
    instance.until("http://live.example.com/", "two")


def test_the_status_names_what_is_wrong_and_nothing_else(instance: Standalone) -> None:
    rows = instance.status()
    wrong = {name for name, row in rows.items() if row["state"] != "ok"}
    assert wrong == {"HTTPProxy default/broken", "HTTPRoute default/matches"}
    assert "nowhere" in str(rows["HTTPProxy default/broken"]["reasons"])


def _until_told(log: Path, word: str) -> None:
    deadline = monotonic() + 10
    while word not in log.read_text():
        assert monotonic() < deadline, f"the log never says {word!r}"
