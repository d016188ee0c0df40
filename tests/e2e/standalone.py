"""`contour run` as its users run it: a process of its own, manifests in a folder, a real Envoy."""

import contextlib
import http.client
import json
import socket
import ssl
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

from contour import host, rundir
from contour.cli import running
from tests.testbed import certificates, processes
from tests.testbed.load import Load, Request
from tests.testbed.ports import free_ports
from tests.testbed.processes import Process, wait

BACKENDS = ("one", "two")


def manifest(name: str) -> str:
    """One of the manifests beside this file: a template with `$NAME` for a backend's port."""
    return Path(__file__).with_name("manifests").joinpath(name).read_text()


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
    process: Process
    authority: certificates.Pair = field(default_factory=certificates.authority)
    """Who signs the certificates that clients trust."""

    @property
    def log(self) -> Path:
        """What it has logged."""
        return self.process.log

    def ask(
        self, url: str, method: str = "GET", headers: Mapping[str, str] | None = None, sni: str = ""
    ) -> Answer:
        """One request on a connection of its own."""
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        with contextlib.closing(self.connection(scheme, sni or host)) as connection:
            return exchange(connection, host, f"/{path}", method, headers)

    def load(self, url: str, a_connection: int = 5) -> Load:
        """Requests that go on while something changes; none is sent twice."""
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        request, sni = Request(host, f"/{path}"), host if scheme == "https" else ""
        how: Any = {"tls": self.trusting(), "a_connection": a_connection, "clients": 1}
        return Load(self.ports[scheme], [request], 100, sni, **how)

    def connection(self, scheme: str, sni: str) -> http.client.HTTPConnection:
        """A connection to Envoy; the name matters with `https` only."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[scheme], timeout=10)
        connection.connect()
        if scheme == "https":
            connection.sock = self.trusting().wrap_socket(connection.sock, server_hostname=sni)
        return connection

    def trusting(self) -> ssl.SSLContext:
        """What a client that trusts the authority, and it alone, connects with."""
        return ssl.create_default_context(cadata=self.authority.pem.decode())

    def write(self, name: str, text: str) -> None:
        """Saves a manifest, as an editor does."""
        (self.manifests / name).write_text(Template(text).safe_substitute(self.ports))

    def remove(self, name: str) -> None:
        """Deletes a manifest."""
        (self.manifests / name).unlink()

    def written(self) -> Mapping[str, str]:
        """The manifests, by the names of their files."""
        return {it.name: it.read_text() for it in self.manifests.iterdir()}

    def write_all(self, manifests: Mapping[str, str]) -> None:
        """Makes these the only manifests; a file that says the same already is left alone."""
        found = self.written()
        for name in found.keys() - manifests.keys():
            self.remove(name)
        for name, text in manifests.items():
            if found.get(name) != text:
                self.write(name, text)

    def status(self) -> dict[str, dict[str, Any]]:
        """What `contour status` says of each object, by kind and name."""
        socket = rundir.socket(self.state, rundir.INSPECTION)
        rows = running.ask(socket, "status")
        return {"{kind} {namespace}/{name}".format_map(row["subject"]): row for row in rows}

    def reasons(self, subject: str) -> str:
        """Why an object is not fine; empty if it is, or is not there."""
        return "\n".join(self.status().get(subject, {}).get("reasons", ()))

    def until(self, url: str, backend: str) -> None:
        """Waits until that backend answers."""
        wait(lambda: self.ask(url).backend == backend, f"{url} answered by {backend}")

    def until_status(self, url: str, status: int) -> None:
        """Waits until the answer has that status."""
        wait(lambda: self.ask(url).status == status, f"{url} answered with {status}")

    def until_logged(self, word: str) -> None:
        """Waits until `contour run` says it."""
        wait(lambda: word in self.log.read_text(), f"{word!r} in the log")

    def until_told(self, subject: str, word: str) -> None:
        """Waits until the status of an object says it."""
        wait(lambda: word in self.reasons(subject), f"{word!r} in the status of {subject}")

    def statistic(self, name: str) -> int:
        """A number that Envoy counts."""
        (found,) = self.statistics(f"^{name}$").values()
        return found

    def statistics(self, pattern: str) -> Mapping[str, int]:
        """The numbers with such names that Envoy has counted."""
        found = self._of_envoy(f"/stats?format=json&filter={pattern}")["stats"]
        return {it["name"]: it["value"] for it in found if "value" in it}

    def filter_chains(self) -> Collection[str]:
        """The names of the filter chains of Envoy's listeners."""
        listeners = self._of_envoy("/config_dump?resource=dynamic_listeners")["configs"]
        served = [it["active_state"]["listener"] for it in listeners if "active_state" in it]
        return {chain["name"] for it in served for chain in it.get("filter_chains", ())}

    def _of_envoy(self, path: str) -> dict[str, Any]:
        """What Envoy's admin interface answers."""
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.connect(str(rundir.socket(self.state, host.ADMIN)))
            client = http.client.HTTPConnection("envoy")
            client.sock = connection
            client.request("GET", path)
            found: dict[str, Any] = json.loads(client.getresponse().read())
            return found


def exchange(
    connection: http.client.HTTPConnection,
    host: str,
    path: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request on a connection that is there already."""
    connection.putrequest(method, path, skip_host=True)
    for name, value in {"Host": host, **(headers or {})}.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    found = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, found, response.read())


@contextlib.contextmanager
def standalone(
    folder: Path,
    manifests: Mapping[str, str],
    others: Mapping[str, int] | None = None,
    drain_seconds: int = 1,
    options: Sequence[str] = (),
    resolver: str = "",
) -> Iterator[Standalone]:
    """Runs an instance and the backends; others are the ports of backends that run already.

    It asks no DNS server for Services without endpoints, unless a resolver is given.
    """
    names = ("http", "https", *BACKENDS)
    ports = dict(zip(names, free_ports(len(names)), strict=True)) | dict(others or {})
    (folder / "manifests").mkdir()
    for name, text in manifests.items():
        (folder / "manifests" / name).write_text(Template(text).safe_substitute(ports))
    backends = {it: ports[it] for it in BACKENDS}
    started = contour(folder, ports, drain_seconds, options, resolver)
    with processes.backends(backends), started as instance:
        wait_until_ready(instance)
        yield instance


@contextlib.contextmanager
def contour(
    folder: Path,
    ports: Mapping[str, int],
    drain_seconds: int = 1,
    options: Sequence[str] = (),
    resolver: str = "",
) -> Iterator[Standalone]:
    """`contour run` on the manifests in the folder, told to end when the caller is done."""
    asks = "--host-dns" if resolver else "--no-host-dns"
    given = (*arguments(folder, ports, drain_seconds), asks, *options)
    process = processes.contour("contour", folder, *given, resolver=resolver)
    try:
        yield Standalone(folder / "manifests", folder / "state", ports, process)
    finally:
        process.stop()


def arguments(folder: Path, ports: Mapping[str, int], drain_seconds: int = 1) -> Sequence[str]:
    """The command line of `contour run`, without the program."""
    return (
        *("run", str(folder / "manifests"), "--state-dir", str(folder / "state")),
        *("--map-port", f"80={ports['http']}", "--map-port", f"443={ports['https']}"),
        *("--concurrency", "1", "--drain-time", str(drain_seconds)),
    )


def wait_until_ready(instance: Standalone) -> None:
    """Waits until Envoy serves."""
    instance.process.wait_until((instance.state / "ready").exists)
