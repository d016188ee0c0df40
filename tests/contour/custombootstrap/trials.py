"""Envoys that are started with bootstraps, and whether they hear of changes afterwards.

Command line: `hack/bootstraps`.
"""

import argparse
import asyncio
import contextlib
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple, Self

import aiohttp

from contour import bootstrap, custombootstrap, host
from contour.custombootstrap import applying
from contour.host import administration, installation, state, validating
from contour.xds.server import Server
from tests.contour.custombootstrap.generated import Generated, generated
from tests.contour.xds import world
from tests.testbed.ports import free_port
from tests.testbed.programs import PATIENCE, Program

SERVES = "serves"
NEVER = "runs, and is not configured"


class Trial(NamedTuple):
    """What became of one."""

    given: Generated
    refusal: str
    """Ours, or Envoy's own validation; empty if it was accepted."""
    outcome: str
    """`SERVES`, `NEVER`, Envoy's last words, or empty if it was not started."""


class Trials:
    """One control plane for all of them."""

    def __init__(self, directory: state.StateDirectory) -> None:
        self._directory = directory
        self._server = Server((f"unix:{directory.socket('xds.sock')}",))
        self._port = free_port()
        self._changes = 0
        self.settings = bootstrap.Settings(
            node="envoy",
            fleet="contour",
            control_plane=bootstrap.Pipe(directory.socket("xds.sock")),
            admin=directory.socket(host.ADMIN),
        )

    async def __aenter__(self) -> Self:
        site = [*world.site("example.com", "one", 1), world.route_head("web")]
        listener = world.listener("web", self._port, "web")
        self._server.fleet("contour").publish([*site, listener])
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop()

    async def of(self, given: Generated, patience: float) -> Trial:
        """Starts an Envoy with what we make of it, also if that is refused for what must stay."""
        try:
            found = custombootstrap.applied(given.custom, self.settings)
        except custombootstrap.RefusedBootstrapError as refused:
            if not given.is_protected:
                return Trial(given, str(refused), "")
            rendered = bootstrap.message(self.settings)
            wanted, _ = applying.changed(given.custom, rendered)
            text = applying.text(wanted)
            admin = wanted.admin.address.socket_address.port_value
            said, patience = str(refused), min(patience, 3.0)
        else:
            text, said = found.text, ""
            admin = found.admin.port if found.admin else 0
            if words := validating.refusal(self._directory.write("envoy.json", text)):
                return Trial(given, f"Envoy: {words}", "")
        return Trial(given, said, await self._started(text, admin, patience))

    async def _started(self, text: str, admin: int, patience: float) -> str:
        path, envoy = self._directory.write("envoy.json", text), Program()
        socket = self._directory.socket(host.ADMIN)
        socket.unlink(missing_ok=True)
        log = self._directory.path / "envoy.log"
        with log.open("wb") as output:
            await envoy.spawn(
                *(str(installation.binary()), "--config-path", str(path), "--concurrency", "1"),
                *("--disable-hot-restart", "--log-level", "error", "--log-format", "%v"),
                stdout=output,
                stderr=output,
            )
        asked = administration.Administration(f"127.0.0.1:{admin}" if admin else socket)
        try:
            async with asyncio.timeout(patience):
                while envoy.status is None and not await asked.is_live():
                    await asyncio.sleep(0.02)
                if envoy.status is None:
                    await self._heard()
        except TimeoutError:
            return NEVER
        finally:
            status = envoy.status
            await envoy.end()
        return SERVES if status is None else log.read_text(errors="replace").strip()[:300]

    async def _heard(self) -> None:
        """Returns when Envoy serves a host that is made only now: 503, for it has no endpoint."""
        self._changes += 1
        fqdn = f"host-{self._changes}.example.com"
        self._server.fleet("contour").publish([world.host("web", fqdn, "one")])
        async with aiohttp.ClientSession() as session:
            url, status = f"http://127.0.0.1:{self._port}/", 0
            while status != 503:
                with contextlib.suppress(aiohttp.ClientConnectionError):
                    async with session.get(url, headers={"Host": fqdn}) as answer:
                        status = answer.status
                await asyncio.sleep(0.01)


async def tried(folder: Path, count: int, seed: int, patience: float = PATIENCE) -> list[Trial]:
    """So many of them, one after the other."""
    found: list[Trial] = []
    with state.claimed(folder) as directory:
        async with Trials(directory) as trials:
            source = generated(trials.settings, seed)
            while len(found) < count:
                found.append(await trials.of(next(source), patience))
    return found


REASONS = {
    "admin": "whoever reaches the administration interface can stop Envoy, and without it nobody"
    " can drain Envoy",
    "dynamic_resources": "everything that is served comes through them, and an Envoy that waits for"
    " listeners no longer than a second is ready without them",
    "layered_runtime.layers[name=dynamic]": "limits of connections come through this layer",
    "layered_runtime.layers[name=hardening]": "rules count on its size of regular expressions",
    "node": "by it the control plane knows what to serve",
    "stats_config": "draining is read from the statistics",
    "static_resources.clusters[name=contour]": "it is the control plane",
    "static_resources.clusters[name=envoy-admin]": "readiness and metrics are read through it",
}
"""Why a part must stay although Envoy gets configuration without it."""


def _part(refusal: str) -> str:
    """The part that the first words of a refusal are about."""
    return next(it for it in REASONS if refusal.startswith(it))


def main() -> None:
    """Starts many, and prints what became of them; fails if we accepted what does not serve."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many (default: 2000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random ones (default: 1)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(tried(Path(folder, "state"), given.count, given.seed))
    accepted = [it for it in found if not it.refusal]
    wrong = [it for it in accepted if it.outcome != SERVES]
    guarded = [it for it in found if it.refusal and it.outcome]
    print(f"{len(found)} bootstraps: {len(accepted)} accepted, {len(wrong)} of these do not serve")
    for it in wrong:
        print(f"  {', '.join(it.given.changes)}: {it.outcome}")
    serving = [it for it in guarded if it.outcome == SERVES]
    print(f"{len(guarded)} refused for what must stay, {len(serving)} of these would serve:")
    for part, count in Counter(_part(it.refusal) for it in serving).most_common():
        print(f"  {count:4} {part}: {REASONS[part]}")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
