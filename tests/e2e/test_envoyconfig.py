"""EnvoyConfigs with `contour run`: Envoys that their users start, by node ID."""

import contextlib
import http.client
import itertools
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from contour import rundir
from contour.host import installation
from contour.run import XDS_SOCKET
from tests.e2e.standalone import (
    Standalone,
    contour,
    exchange,
    manifest,
    standalone,
    wait_until_ready,
)
from tests.testbed import certificates, pairs, processes
from tests.testbed.envoyconfigs import LOSING, REFUSED, Written
from tests.testbed.load import Load, Request
from tests.testbed.ports import free_ports
from tests.testbed.processes import Process, wait

pytestmark = pytest.mark.envoy

EDGE, SEED = "EnvoyConfig default/edge", "EnvoyConfig default/test"
SECRET = "my-certificate-secret-resource"


@contextlib.contextmanager
def envoys(
    instance: Standalone, folder: Path, node: str, number: int = 1
) -> Iterator[list[Process]]:
    """Envoys of a node ID, as their users start them."""
    folder.mkdir(exist_ok=True)
    xds = rundir.socket(instance.state, XDS_SOCKET)
    running: list[Process] = []
    try:
        for it in range(number):
            file = folder / f"{node}-{it}.json"
            processes.called(
                *("bootstrap", str(file), "--node-id", node, "--xds-socket", str(xds)),
                *("--admin-address", str(folder / f"{node}-{it}.sock")),
            )
            command = (
                *(str(installation.binary()), "--config-path", str(file), "--concurrency", "1"),
                *("--use-dynamic-base-id", "--log-level", "warning", "--drain-time-s", "10"),
            )
            running.append(processes.start(f"{node}-{it}", command, folder))
        yield running
    finally:
        for process in running:
            process.kill()


@dataclass
class Edge:
    """The instance, two Envoys of node ID `edge`, and the EnvoyConfig that they are served."""

    instance: Standalone
    envoys: Sequence[Process]
    written: Written = field(init=False)

    def save(self) -> None:
        self.instance.write("envoyconfig.yaml", yaml.safe_dump(self.written.document))

    def reset(self) -> None:
        self.written = Written(_filled(self.instance, "envoyconfig.yaml"))

    def ask(self) -> tuple[int, str]:
        """The status, and the version that the configuration says it is; 0 if nobody listens."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.instance.ports["edge"], timeout=10
        )
        with contextlib.closing(connection):
            try:
                answer = exchange(connection, "any.example.com", "/")
            except ConnectionRefusedError:
                return 0, ""
            return answer.status, answer.headers.get("x-version", "")

    def until(self, version: str) -> None:
        """Waits until every worker of every Envoy answers so (they share a port)."""
        seen: set[tuple[int, str]] = set()

        def is_answered() -> bool:
            seen.clear()
            seen.update(self.ask() for _ in range(12))
            return seen == {(200, version)}

        try:
            wait(is_answered, f"version {version}", processes=self.envoys)
        except AssertionError as error:
            raise AssertionError(f"{error}\nanswers {seen}; {self.state()}") from None

    def state(self) -> str:
        """What `contour status` says first of it."""
        row = self.instance.status()[EDGE]
        return f"{row['state']}: {row['summary']}"


def _filled(instance: Standalone, name: str) -> str:
    text = manifest(name)
    for port, number in instance.ports.items():
        text = text.replace(f"${port}\n", f"{number}\n").replace(f"${port}}}", f"{number}}}")
    return text


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    ports = dict(zip(("edge", "seed"), free_ports(2), strict=True))
    names = ("services.yaml", "live.yaml", "envoyconfig.yaml", "envoyconfig-seed.yaml")
    files = {name: manifest(name) for name in names}
    with standalone(tmp_path_factory.mktemp("raw"), files, ports) as running:
        yield running


@pytest.fixture(scope="module")
def edge(instance: Standalone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    with envoys(instance, tmp_path_factory.mktemp("edge"), "edge", 2) as running:
        yield Edge(instance, running)


@pytest.mark.parametrize("everything", [False, True], ids=["one type", "all types"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_envoy_refuses_is_rolled_back_and_loses_no_request(
    edge: Edge, name: str, everything: bool
) -> None:
    change, words = REFUSED[name]
    edge.reset()
    before, after = f"before {name} {everything}", f"after {name} {everything}"
    edge.written.version(before)
    edge.save()
    edge.until(before)
    wait(lambda: edge.state().startswith("ok"), "in sync")
    load = Load(edge.instance.ports["edge"], [Request("any.example.com")], 50)
    with load.in_background() as tally:
        if everything:
            edge.written.change_everything(f"refused {name}")
        change(edge.written)
        edge.save()
        edge.instance.until_told(EDGE, words)
        edge.until(before)
        edge.reset()
        edge.written.version(after)
        edge.save()
        edge.until(after)
    lost = tally.failures if (name, everything) not in LOSING else ()
    assert not lost, lost
    wait(lambda: edge.state().startswith("ok"), "in sync again")


def test_the_terminal_says_that_an_edit_is_for_envoys_of_node_ids(edge: Edge) -> None:
    edits = itertools.count()
    line = f"~ {EDGE} changed (for Envoys of node IDs)\n"

    def is_said() -> bool:
        """Edits again: of more than 19 lines in a second, the terminal only counts the others."""
        known, version = len(edge.instance.log.read_text()), f"edit {next(edits)}"
        edge.reset()
        edge.written.version(version)
        edge.save()
        edge.until(version)
        return line in edge.instance.log.read_text()[known:]

    wait(is_said, "the line")


def test_the_example_of_the_seed_is_served_and_a_renewed_certificate_comes_alone(
    instance: Standalone, tmp_path: Path
) -> None:
    authority = certificates.authority()
    context = ssl.create_default_context(cadata=authority.pem.decode())

    def answer() -> tuple[bytes, bytes]:
        """The body, and the certificate that it came with."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", instance.ports["seed"], context=context, timeout=10
        )
        with contextlib.closing(connection):
            connection.request("GET", "/")
            certificate = connection.sock.getpeercert(binary_form=True)
            return connection.getresponse().read(), certificate or b""

    first = certificates.issued(authority, "127.0.0.1")
    instance.until_told(SEED, "Secret default/my-certificate-secret-resource not found")
    instance.write("certificate.yaml", pairs.of(SECRET, first))
    with envoys(instance, tmp_path, "my-proxy") as (envoy,):
        envoy.wait_until(lambda: _body(answer) == b"ok")
        published = instance.status()[SEED]
        second = certificates.issued(authority, "127.0.0.1")
        instance.write("certificate.yaml", pairs.of(SECRET, second))
        renewed = ssl.PEM_cert_to_DER_cert(second.pem.decode())
        wait(lambda: answer()[1] == renewed, "the renewed certificate")
        assert instance.status()[SEED] == published
        instance.remove("envoyconfig-seed.yaml")
        wait(lambda: SEED not in instance.status(), "the EnvoyConfig gone")
        assert answer()[0] == b"ok"  # Envoy keeps what it has


def test_a_run_that_follows_serves_what_was_good_and_tries_nothing_again(tmp_path: Path) -> None:
    ports = dict(zip(("edge", "seed"), free_ports(2), strict=True))
    names = ("services.yaml", "live.yaml", "envoyconfig.yaml")
    with standalone(tmp_path, {it: manifest(it) for it in names}, ports) as instance:
        with envoys(instance, tmp_path / "first", "edge") as running:
            edge = Edge(instance, running)
            edge.reset()
            edge.written.version("good")
            edge.save()
            edge.until("good")
            change, words = REFUSED["two catch-all hosts"]
            edge.written.version("bad")
            change(edge.written)
            edge.save()
            instance.until_told(EDGE, words)
        instance.process.kill()
        with contour(tmp_path, instance.ports) as again:
            wait_until_ready(again)
            assert words in again.reasons(EDGE)  # nobody has refused it
            with envoys(again, tmp_path / "second", "edge") as running:
                Edge(again, running).until("good")
                assert words not in running[0].log.read_text()


def _body(answer: Callable[[], tuple[bytes, bytes]]) -> bytes:
    try:
        return answer()[0]
    except OSError:
        return b""
