"""Which host a TLS connection reaches: every server name x every host x each version of HTTP.

Nothing that is guarded is ever reached on a connection that was opened for another name or on other
terms, whoever stands for the names that nobody has; and what is asked as it should be is served.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from contour import rundir
from contour.answers import explained
from contour.answers.explained import Explained
from contour.cli import running
from dag.evaluation.requests import Request
from dag.fleetnames import DEFAULT_FLEET
from tests.contour.envoy import clients
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec:
  gateway: {}
  httpproxy: {fallbackCertificate: {name: certificate, namespace: default}}
  envoy: {listener: {http3: true}}
"""
_GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gateway}
spec:
  gatewayClassName: contour
  listeners:
  - name: exact
    protocol: HTTPS
    port: 443
    hostname: gateway.example.com
    tls: {certificateRefs: [{name: certificate}]}
  - name: wild
    protocol: HTTPS
    port: 443
    hostname: "*.gateway.example.com"
    tls: {certificateRefs: [{name: certificate}]}
"""
_STARS = {
    "nobody": _GATEWAY,
    "HTTPProxy": f"""{_GATEWAY}---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: star}}
spec:
  virtualhost: {{fqdn: "*", tls: {{secretName: certificate}}}}
  routes: [{{services: [{{name: two, port: 80}}]}}]
""",
    "Gateway": f"""{_GATEWAY}
  - {{name: all, protocol: HTTPS, port: 443, tls: {{certificateRefs: [{{name: certificate}}]}}}}
""",
}
"""Who takes the hosts that nobody has."""


@dataclass(frozen=True)
class Host:
    """A host, and what guards it."""

    api: str
    status: int = 200
    needs_certificate: bool = False
    is_read: bool = True
    """Somebody reads requests on its connections."""
    over_http3: bool = True
    is_fallback: bool = False
    is_usual: bool = True
    """TLS is terminated on the terms of most hosts."""
    has_certificate: bool = True

    def has_chain(self, version: str) -> bool:
        """Connections that name it are its own."""
        return self.has_certificate and (version != "h3" or self.over_http3)


_HOSTS = {
    "open.example.com": Host("HTTPProxy"),
    "deny.example.com": Host("HTTPProxy", status=403),
    "clients.example.com": Host(
        "HTTPProxy", needs_certificate=True, over_http3=False, is_usual=False
    ),
    "optional.example.com": Host("HTTPProxy", over_http3=False, is_usual=False),
    "new.example.com": Host("HTTPProxy", is_usual=False),
    "passed.example.com": Host("HTTPProxy", is_read=False, over_http3=False),
    "stream.example.com": Host("HTTPProxy", is_read=False, over_http3=False),
    "*.wild.example.com": Host("HTTPProxy"),
    "clients.wild.example.com": Host(
        "HTTPProxy", needs_certificate=True, over_http3=False, is_usual=False
    ),
    "broken.example.com": Host("HTTPProxy", is_read=False, has_certificate=False),
    "broken.wild.example.com": Host("HTTPProxy", is_read=False, has_certificate=False),
    "back.example.com": Host("HTTPProxy", is_fallback=True),
    "ingress.example.com": Host("Ingress"),
    "ingress-new.example.com": Host("Ingress", is_usual=False),
    "gateway.example.com": Host("Gateway"),
    "*.gateway.example.com": Host("Gateway"),
}
_NAMES = [it.replace("*", "x") for it in _HOSTS] + ["unknown.test"]
_ASKED = [*_NAMES, "y.wild.example.com", "y.gateway.example.com", "other.test", "127.0.0.1"]
_STAR = "*"


def _opened_for(sni: str, version: str) -> str:
    """The host that a connection belongs to."""
    return next((it for it in _covering(sni) if _HOSTS[it].has_chain(version)), _STAR)


def _owner(name: str) -> str:
    """The host that stands for a name."""
    return next(_covering(name), _STAR)


def _covering(name: str) -> Iterator[str]:
    return (it for it in (name, f"*.{name.partition('.')[2]}") if it in _HOSTS)


def _expected(star: str, sni: str, asked: str, version: str = "h2") -> int:
    """The answer on a connection that was opened for a server name."""
    mine, wanted = _opened_for(sni, version), _owner(asked)
    if wanted == _STAR:
        return _expected_of_star(star, mine)
    host = _HOSTS[wanted]
    if not host.is_read:
        return 421
    is_own = sni == asked and mine == wanted
    is_fallback = mine == _STAR and host.is_fallback
    is_of_listener = mine == wanted and host.api == "Gateway"
    return host.status if is_own or is_fallback or is_of_listener else 421


def _expected_of_star(star: str, mine: str) -> int:
    if star == "nobody":
        return 404
    if mine == _STAR:
        return 200
    # The listener of a Gateway takes names on its own terms that no other listener of it has.
    is_of_listener = star == "Gateway" and _HOSTS[mine].api != "Gateway"
    return 200 if is_of_listener and _HOSTS[mine].is_usual else 421


@dataclass
class World:
    """An instance, and a client of it."""

    instance: Standalone
    certificate: tuple[Path, Path, Path]
    star: str = ""

    def stands_for_all_others(self, star: str) -> None:
        """Who shall."""
        if self.star == star:
            return
        for it in ("nobody", star):
            self.instance.write("star.yaml", _STARS[it])
            expected = _expected(it, "a.test", "a.test")
            wait(partial(self._is_answered, expected), f"{it} stands for all others")
        self.star = star

    def _is_answered(self, expected: int) -> bool:
        return asyncio.run(self._answer()) == expected

    async def _answer(self) -> int:
        async with self.tcp("h2", "a.test") as connection:
            return await connection.ask("a.test")

    @asynccontextmanager
    async def tcp(
        self, version: str, sni: str, *, certified: bool = False
    ) -> AsyncIterator[clients.Connection]:
        """A connection, perhaps with a client's certificate."""
        context = clients.unverified()
        if certified:
            context.load_cert_chain(*self.certificate[:2])
        port = self.instance.ports["https"]
        async with clients.tcp(port, version, sni, context) as connection:
            yield connection

    def opened(
        self,
        version: str,
        sni: str,
        patience: float = clients.PATIENCE,
        *,
        certified: bool = False,
    ) -> clients.Opened:
        """One for that version of HTTP; with patience in seconds for QUIC."""
        if version == "h3":
            return clients.udp(self.instance.ports["https"], sni, patience)
        return self.tcp(version, sni, certified=certified)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    authority = certificates.authority()
    files = {name: manifest(name) for name in ("services.yaml", "connections.yaml")}
    files["secret.yaml"] = pairs.of("certificate", certificates.issued(authority, "a.test"))
    files["clients.yaml"] = pairs.authority("clients", made=authority)
    files["configuration.yaml"] = _CONFIGURATION
    files["others.yaml"] = pairs.authority("others", made=certificates.authority())
    files["star.yaml"] = _STARS["nobody"]
    folder = tmp_path_factory.mktemp("connections")
    pair = certificates.write(certificates.issued(authority, "client"), authority, folder)
    with standalone(folder, files) as instance:
        yield World(instance, pair)


@pytest.mark.parametrize("version", ["http/1.1", "h2", "h3"])
@pytest.mark.parametrize("star", _STARS)
def test_a_host_is_reached_on_its_own_connections_and_no_others(
    world: World, star: str, version: str
) -> None:
    world.stands_for_all_others(star)
    wrong = asyncio.run(_wrong(world, star, version))
    assert wrong == []


@pytest.mark.parametrize("version", ["h2", "h3"])
@pytest.mark.parametrize("star", _STARS)
def test_what_is_explained_of_a_connection_is_what_it_gets(
    world: World, star: str, version: str
) -> None:
    """Clients show a certificate where one is asked for."""
    world.stands_for_all_others(star)
    inspection = rundir.socket(world.instance.state, rundir.INSPECTION)
    for sni in (*_NAMES, ""):
        has_connection = _has_connection(sni, version, certified=True)
        for asked in _ASKED:
            request = Request(
                asked, port=443, is_secure=True, server_name=sni, is_http3=version == "h3"
            )
            question = explained.written(DEFAULT_FLEET, request)
            found: Explained = running.ask(inspection, "explain", question)
            expected = _expected(star, sni, asked, version) if has_connection else 0
            assert _explained_status(found) == expected, (sni, asked, found)


def _explained_status(found: Explained) -> int:
    """200 if a backend answers, 0 if there is no connection for HTTP."""
    answer = found["answer"]
    if answer["status"] is None:
        return 200 if found["backends"] and not answer.get("stream") else 0
    return answer["status"]


async def _wrong(world: World, star: str, version: str) -> list[str]:
    """Every answer that is not what it should be."""
    opened = [(sni, certified) for sni in (*_NAMES, "") for certified in (False, True)]
    if version == "h3":
        opened = [it for it in opened if not it[1]]
    found = await asyncio.gather(*(_of_connection(world, star, version, *it) for it in opened))
    return [it for wrong in found for it in wrong]


async def _of_connection(
    world: World, star: str, version: str, sni: str, certified: bool
) -> list[str]:
    expected = [_expected(star, sni, it, version) for it in _ASKED]
    has_connection = _has_connection(sni, version, certified=certified)
    if not has_connection:
        expected = [0] * len(_ASKED)
    patience = clients.PATIENCE if has_connection else 2  # only QUIC says nothing
    found = await _answers(world.opened(version, sni, patience, certified=certified))
    for _ in range(3 if has_connection else 0):
        if 0 in found:  # on a busy machine, or as the listener has just changed
            found = await _answers(world.opened(version, sni, patience, certified=certified))
    return [
        f"{version} sni={sni or None} {certified=} {asked}: {got}, not {wanted}"
        for asked, got, wanted in zip(_ASKED, found, expected, strict=True)
        if got != wanted
    ]


def _has_connection(sni: str, version: str, *, certified: bool) -> bool:
    owner = _opened_for(sni, version)
    if owner == _STAR:
        return version != "h3"
    host = _HOSTS[owner]
    return host.is_read and (certified or not host.needs_certificate)


async def _answers(opened: clients.Opened) -> list[int]:
    """To requests for every host on one connection; zeros if there is none."""
    try:
        async with opened as connection:
            return [await connection.ask(it) for it in _ASKED]
    except (ConnectionError, ssl.SSLError, TimeoutError):
        return [0] * len(_ASKED)


_PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: live}
spec:
  virtualhost: {fqdn: live.example.com, tls: {secretName: certificate%s}}
  routes: [{services: [{name: one, port: 80}]}]
"""
_INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: live, annotations: {projectcontour.io/tls-minimum-protocol-version: "%s"}}
spec:
  tls: [{secretName: certificate, hosts: [live.example.com]}]
  rules:
  - host: live.example.com
    http:
      paths: [{path: /, pathType: Prefix, backend: {service: {name: one, port: {number: 80}}}}]
"""
_LISTENERS = f"""{_GATEWAY}
  - name: live
    protocol: HTTPS
    port: 443
    hostname: live.example.com
    tls: {{certificateRefs: [{{name: certificate}}]}}
"""
_FRONTEND = """  tls:
    frontend:
      default: {validation: {caCertificateRefs: [{group: "", kind: Secret, name: clients}]}}
"""
_GUARDS = {
    "clients of an HTTPProxy": (_PROXY % "", _PROXY % ", clientValidation: {caSecret: clients}"),
    "versions of an HTTPProxy": (_PROXY % "", _PROXY % ', minimumProtocolVersion: "1.3"'),
    "versions of an Ingress": (_INGRESS % "1.2", _INGRESS % "1.3"),
    "clients of a Gateway": (_LISTENERS, _LISTENERS + _FRONTEND),
}
"""Objects that serve a host without a guard, and with one."""


@pytest.mark.parametrize("version", ["http/1.1", "h2", "h3"])
@pytest.mark.parametrize("guard", _GUARDS)
def test_a_guard_that_is_switched_on_holds_on_connections_that_are_open(
    world: World, guard: str, version: str
) -> None:
    """Others share the chain of such a connection, so that it is never drained."""
    world.stands_for_all_others("nobody")
    # A name of its own: Envoy may still serve the host of the test before on that one's terms.
    host = f"{re.sub('[^a-z0-9]', '-', f'{guard} {version}'.lower())}.example.com"
    without, with_guard = (it.replace(_LIVE, host) for it in _GUARDS[guard])
    name = "star.yaml" if guard.endswith("Gateway") else "live.yaml"
    world.instance.write(name, without)
    try:
        write = partial(world.instance.write, name, with_guard)
        asyncio.run(_guarded(world, version, host, write))
    finally:
        if name == "live.yaml":
            world.instance.remove(name)
        world.star = ""


async def _guarded(world: World, version: str, host: str, guard: Callable[[], None]) -> None:
    async with await _serving(world, version, host) as connection:
        assert await connection.ask(host) == 200
        guard()
        async with asyncio.timeout(clients.PATIENCE):
            while (status := await connection.ask(host)) == 200:
                await asyncio.sleep(0.01)
        assert status == 421
        if version != "h3":
            assert await _end(connection, host) == {421}
        async with await _serving(world, "h2", host, certified=True) as new:
            assert await new.ask(host) == 200


_LIVE = "live.example.com"


async def _serving(
    world: World, version: str, host: str, *, certified: bool = False
) -> clients.Opened:
    """How a connection is opened on which the host is served."""
    async with asyncio.timeout(clients.PATIENCE):
        while True:
            with suppress(ConnectionError, ssl.SSLError, TimeoutError):
                async with world.opened(version, host, 1, certified=certified) as connection:
                    if await connection.ask(host) == 200:
                        return world.opened(version, host, certified=certified)
            await asyncio.sleep(0.01)


async def _end(connection: clients.Connection, host: str) -> set[int]:
    """The answers until the other side ends the connection."""
    found = {421}
    async with asyncio.timeout(clients.PATIENCE):
        while status := await connection.ask(host):
            found.add(status)
    return found
