"""Every certificate between Envoy and the control plane is replaced, and no request is lost.

As in a cluster: each side has a folder that is swapped as a kubelet swaps it, at a time of its own;
after every swap both meet again, as after the restart of a replica.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from contour import bootstrap
from contour.host import state
from contour.xds import credentials
from contour.xds.server import Server
from provisioning import certificates, folders, pem, rotation
from provisioning.rotation import Holdings
from tests.contour.bootstrap.conftest import live, settings, until
from tests.contour.xds import envoys, world
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_port

pytestmark = pytest.mark.envoy

_CONNECTED = "control_plane.connected_state"


def steps() -> list[Holdings]:
    """From an old authority to a new one, each certificate still valid now."""
    now, want = datetime.now(UTC), rotation.wanted()
    old = certificates.authority(now - timedelta(days=300))
    leaves = {
        name: certificates.leaf(old, subject, want.lifetime, now - timedelta(hours=5))
        for name, subject in want.subjects.items()
    }
    found = [Holdings((old,), leaves)]
    for hours in (4, 3, 1):
        found.append(rotation.renewed(found[-1], want, now - timedelta(hours=hours)))
    assert [len(it.authorities) for it in found] == [1, 2, 2, 1]
    return found


@pytest.mark.parametrize("first", ["contour", "envoy"])
async def test_an_authority_is_replaced_under_traffic(
    directory: state.StateDirectory, tmp_path: Path, first: str
) -> None:
    rig = Rig(tmp_path / "contour", tmp_path / "envoy", free_port(), free_port())
    sides = (first, "envoy" if first == "contour" else "contour")
    begin, *later = steps()
    for side in sides:
        rig.write(begin, side)
    async with (
        envoys.backend("served") as backend,
        rig.met(backend),
        live(directory, rig.bootstrap(directory)) as admin,
        asking(rig.listener) as answers,
    ):
        await until(admin, _CONNECTED, 1)
        serial = _serial(begin, "envoy")
        for held in later:
            for side in sides:
                rig.write(held, side)
                if side == "envoy":
                    await _until_shown(admin, {_serial(held, "envoy")})
                    serial = _serial(held, "envoy")
                await rig.meet_again(backend, admin)
        assert serial == _serial(later[-1], "envoy") != _serial(begin, "envoy")
        async with asyncio.timeout(60):  # a busy machine asks less often
            while len(answers) <= 50:
                await asyncio.sleep(0.05)
        # Without an overlap they would never meet again.
        rig.write(rotation.renewed(Holdings(), rotation.wanted(), datetime.now(UTC)), "contour")
        await rig.part(admin)
        with pytest.raises(TimeoutError):
            await rig.meet(backend, admin, 1)
    assert answers.count("200") == len(answers) > 50


class Rig:
    """A control plane and an Envoy, each with a folder of certificates."""

    def __init__(self, contour: Path, envoy: Path, port: int, listener: int) -> None:
        self.folders = {"contour": contour, "envoy": envoy}
        self.port, self.listener = port, listener
        self.server: Server | None = None

    def write(self, held: Holdings, side: str) -> None:
        """What the kubelet does with a Secret."""
        leaf = held.leaves[side]
        contents = {
            "ca.crt": pem.bundle(held.authorities),
            "tls.crt": pem.certificate(leaf.certificate),
            "tls.key": pem.key(leaf.key),
        }
        folders.write(self.folders[side], contents)

    def bootstrap(self, directory: state.StateDirectory) -> str:
        """Of an Envoy that shows what is in its folder."""
        folder = self.folders["envoy"]
        given = bootstrap.Credentials(
            certificate=folder / "tls.crt",
            key=folder / "tls.key",
            authority=folder / "ca.crt",
            server_name="contour",
            secrets=directory.path,
        )
        for name, text in bootstrap.secret_documents(given).items():
            directory.write(name, text)
        address = bootstrap.SocketAddress("127.0.0.1", self.port)
        return bootstrap.text(settings(directory, address, given))

    @asynccontextmanager
    async def met(self, backend: int) -> AsyncIterator[None]:
        """While the control plane serves, whichever of those it is."""
        await self._start(backend)
        try:
            yield
        finally:
            if self.server is not None:
                await self.server.stop()

    async def meet_again(self, backend: int, admin: aiohttp.ClientSession) -> None:
        """The replica restarts; Envoy has to greet it anew."""
        await self.part(admin)
        await self.meet(backend, admin, 10)

    async def part(self, admin: aiohttp.ClientSession) -> None:
        """The replica goes."""
        assert self.server is not None
        await self.server.stop(0)
        self.server = None
        await until(admin, _CONNECTED, 0)

    async def meet(self, backend: int, admin: aiohttp.ClientSession, seconds: float) -> None:
        """A replica comes. Raises TimeoutError if Envoy has not found it by then.

        Envoy calls itself connected while it only tries; so the other side is asked first.
        """
        await self._start(backend)
        assert self.server is not None
        fleet = self.server.fleet("contour")
        async with asyncio.timeout(seconds):
            while not fleet.envoys:
                await asyncio.sleep(0.01)
            await until(admin, _CONNECTED, 1)

    async def _start(self, backend: int) -> None:
        folder = self.folders["contour"]
        files = credentials.Files(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")
        self.server = Server((f"127.0.0.1:{self.port}",), tls=files)
        fleet = self.server.fleet("contour")
        fleet.identities = frozenset(rotation.wanted().subjects["envoy"].names)
        site = [*world.site("example.com", "one", backend), world.route_head("web")]
        fleet.publish([*site, world.listener("web", self.listener, "web")])
        await self.server.start()


@asynccontextmanager
async def asking(port: int) -> AsyncIterator[list[str]]:
    """Requests without a pause, each on a connection of its own, while the block lasts."""
    found: list[str] = []

    async def ask() -> None:
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as client:
            while True:
                try:
                    async with client.get(
                        f"http://127.0.0.1:{port}/", headers={"Host": "example.com"}
                    ) as answer:
                        found.append(str(answer.status))
                except aiohttp.ClientError as error:
                    found.append(repr(error))
                await asyncio.sleep(0.01)

    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(ask())
        try:
            yield found
        finally:
            asking.cancel()


def _serial(held: Holdings, name: str) -> int:
    return held.leaves[name].certificate.serial_number


async def _until_shown(admin: aiohttp.ClientSession, serials: set[int]) -> None:
    """Until these are the certificates that Envoy shows to others."""
    shown: set[int] = set()
    async with asyncio.timeout(PATIENCE):
        while shown != serials:
            async with admin.get("/certs") as answer:
                found = json.loads(await answer.text())["certificates"]
            shown = {
                int(it["serial_number"], 16)
                for entry in found
                for it in entry.get("cert_chain", ())
            }
            await asyncio.sleep(0.01)
