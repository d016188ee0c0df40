"""Mutual TLS with the control plane, and its rotation under a running Envoy."""

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from contour import bootstrap, host
from contour.host import state
from contour.xds import credentials
from contour.xds.server import Server
from tests.contour.bootstrap.conftest import live, serving, settings
from tests.testbed import certificates
from tests.testbed.patience import PATIENCE

pytestmark = pytest.mark.envoy


async def test_a_rotated_certificate_is_used_without_a_restart(
    directory: state.StateDirectory, tmp_path: Path
) -> None:
    authority = certificates.authority()
    server = _server(certificates.issued(authority, "contour"), authority, tmp_path)
    first = certificates.issued(authority, "contour")
    own = certificates.write(first, authority, _folder(tmp_path / "client"))
    async with (
        serving(server),
        live(directory, _bootstrap(directory, server, own)) as session,
    ):
        assert await _serials(session) == {first.certificate.serial_number}
        second = certificates.issued(authority, "contour")
        fresh = certificates.write(second, authority, _folder(tmp_path / "fresh"))
        for old, new in zip(own, fresh, strict=True):
            new.replace(old)
        async with asyncio.timeout(PATIENCE):
            while await _serials(session) != {second.certificate.serial_number}:
                await asyncio.sleep(0.01)


async def test_a_control_plane_of_another_name_is_not_believed(
    directory: state.StateDirectory, tmp_path: Path
) -> None:
    authority = certificates.authority()
    server = _server(certificates.issued(authority, "impostor"), authority, tmp_path)
    own = certificates.write(
        certificates.issued(authority, "contour"), authority, _folder(tmp_path / "client")
    )
    log = directory.write("envoy.log", "")
    async with serving(server):
        async with (
            host.EnvoyProcess(directory, _bootstrap(directory, server, own)),
            asyncio.timeout(PATIENCE),
        ):
            while "CERTIFICATE_VERIFY_FAILED" not in log.read_text():
                await asyncio.sleep(0.01)
        assert not server.fleet("contour").envoys


def _server(pair: certificates.Pair, authority: certificates.Pair, path: Path) -> Server:
    files = certificates.write(pair, authority, _folder(path / "server"))
    return Server(("127.0.0.1:0",), tls=credentials.Files(*files))


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _bootstrap(
    directory: state.StateDirectory, server: Server, own: tuple[Path, Path, Path]
) -> str:
    certificate, key, authority = own
    given = bootstrap.Credentials(
        certificate=certificate,
        key=key,
        authority=authority,
        server_name="contour",
        secrets=directory.path,
    )
    for name, text in bootstrap.secret_documents(given).items():
        directory.write(name, text)
    address = bootstrap.SocketAddress("127.0.0.1", server.ports[0])
    return bootstrap.text(settings(directory, address, given))


async def _serials(session: aiohttp.ClientSession) -> set[int]:
    """The serial numbers of the certificates that Envoy shows to others."""
    async with session.get("/certs") as answer:
        found = json.loads(await answer.text())["certificates"]
    return {int(it["serial_number"], 16) for entry in found for it in entry.get("cert_chain", ())}
