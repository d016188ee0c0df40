"""`contour run` as its users run it: a process of its own, manifests in a folder, a real Envoy."""

import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from time import monotonic
from typing import Any

from tests.free_ports import free_ports

ROOT = Path(__file__).parents[2]
CONTOUR = (sys.executable, "-c", "from contour.cli import main; main()")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `seen` is the request as the backend saw it."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def seen(self) -> dict[str, Any]:
        is_json = self.headers.get("content-type", "").startswith("application/json")
        found: dict[str, Any] = json.loads(self.body) if is_json else {}
        return found

    @property
    def backend(self) -> str:
        return str(self.seen.get("backend", ""))


@dataclass(slots=True)
class Standalone:
    """A running instance."""

    manifests: Path
    state: Path
    ports: Mapping[str, int]
    """Of `http` and `https`, and of the backends."""
    process: subprocess.Popen[bytes]
    log: Path
    trusted: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def ask(
        self, url: str, method: str = "GET", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request on a connection of its own."""
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        with contextlib.closing(self._connection(scheme, host)) as connection:
            connection.putrequest(method, f"/{path}", skip_host=True)
            for name, value in {"Host": host, **(headers or {})}.items():
                connection.putheader(name, value)
            connection.endheaders()
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())

    def _connection(self, scheme: str, host: str) -> http.client.HTTPConnection:
        port = self.ports[scheme]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        if scheme == "https":
            connection.connect()
            connection.sock = self.trusted.wrap_socket(connection.sock, server_hostname=host)
        return connection

    def status(self) -> dict[str, dict[str, Any]]:
        """What `contour status` says of each object, by kind and name."""
        done = subprocess.run(
            [*CONTOUR, "status", "--state-dir", str(self.state), "-o", "json"],
            capture_output=True,
            check=True,
        )
        return {
            "{kind} {namespace}/{name}".format_map(row["subject"]): row
            for row in json.loads(done.stdout)
        }

    def until(self, url: str, backend: str) -> None:
        """Waits until that backend answers."""
        deadline = monotonic() + 10
        while self.ask(url).backend != backend:
            assert monotonic() < deadline, f"{url} is never answered by {backend}"


@contextlib.contextmanager
def standalone(
    folder: Path, manifests: Mapping[str, str], backends: Sequence[str] = ("one", "two")
) -> Iterator[Standalone]:
    """Runs an instance. The manifests are templates with `%(NAME)d` for a backend's port."""
    names = ("http", "https", *backends)
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    (folder / "manifests").mkdir()
    for name, text in manifests.items():
        (folder / "manifests" / name).write_text(text % ports)
    served = {name: ports[name] for name in backends}
    with _backends(served), _contour(folder, ports) as instance:
        yield instance


@contextlib.contextmanager
def _backends(ports: Mapping[str, int]) -> Iterator[None]:
    names = [f"{name}={port}" for name, port in ports.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.backends", *names], cwd=ROOT, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield
        finally:
            process.terminate()


@contextlib.contextmanager
def _contour(folder: Path, ports: Mapping[str, int]) -> Iterator[Standalone]:
    command = [
        *(*CONTOUR, "run", str(folder / "manifests"), "--state-dir", str(folder / "state")),
        *("--map-port", f"80={ports['http']}", "--map-port", f"443={ports['https']}"),
        *("--concurrency", "1", "--drain-time", "1"),
    ]
    log = folder / "contour.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    instance = Standalone(folder / "manifests", folder / "state", ports, process, log)
    with process:
        try:
            _wait_for(instance.state / "ready", instance)
            yield instance
        finally:
            process.send_signal(signal.SIGTERM)


def _wait_for(ready: Path, instance: Standalone) -> None:
    with open(os.pidfd_open(instance.process.pid)) as ended:
        deadline = monotonic() + 20
        while not ready.exists():
            is_over = select([ended], [], [], 0.02)[0] or monotonic() > deadline
            assert not is_over, f"contour run does not serve:\n{instance.log.read_text()}"
