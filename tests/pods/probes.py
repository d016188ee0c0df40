"""Is a container started, ready, alive? Asked as its probes say.

One difference to life: until a container has been ready for the first time it is asked more often
than its period says, so that tests need not wait for it.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

Raw = dict[str, Any]
Execute = Callable[[list[str], float], Awaitable[int]]  # command, seconds: exit code

_EAGER = 0.25  # seconds
_ANY = ssl.create_default_context()
_ANY.check_hostname = False
_ANY.verify_mode = ssl.CERT_NONE


class Prober:
    """Asks one container of a pod."""

    def __init__(
        self, container: Raw, address: str, execute: Execute, awake: asyncio.Event
    ) -> None:
        self._ports = {it.get("name"): it["containerPort"] for it in container.get("ports") or ()}
        self._address = address
        self._execute = execute
        self._awake = awake

    async def watch(self, probe: Raw, told: Callable[[bool], None], is_eager: bool = True) -> None:
        """Tells every change of mind; never ends."""
        await asyncio.sleep(probe.get("initialDelaySeconds", 0))
        period, opinion, row, last = probe.get("periodSeconds", 10), None, 0, None
        while True:
            await self._awake.wait()
            good = await self.succeeds(probe)
            if not self._awake.is_set():
                continue
            row = row + 1 if good is last else 1
            last = good
            needed = probe.get("successThreshold", 1) if good else probe.get("failureThreshold", 3)
            if row >= needed and opinion is not good:
                opinion = good
                told(good)
            is_eager = is_eager and not good
            await asyncio.sleep(min(_EAGER, period) if is_eager else period)

    async def succeeds(self, probe: Raw) -> bool:
        """One question."""
        seconds = probe.get("timeoutSeconds", 1)
        try:
            async with asyncio.timeout(seconds):
                if "exec" in probe:
                    return await self._execute(probe["exec"]["command"], seconds) == 0
                if "tcpSocket" in probe:
                    return await self._connects(probe["tcpSocket"])
                return 200 <= await self.get(probe["httpGet"]) < 400
        except (OSError, TimeoutError, aiohttp.ClientError):
            return False

    async def get(self, action: Raw) -> int:
        """The status code that an httpGet has for an answer."""
        scheme = action.get("scheme", "HTTP").lower()
        host = action.get("host") or self._address
        path = "/" + action.get("path", "/").lstrip("/")
        headers = {it["name"]: it["value"] for it in action.get("httpHeaders") or ()}
        url = f"{scheme}://{host}:{self._port(action['port'])}{path}"
        async with (
            aiohttp.ClientSession(headers={"User-Agent": "kube-probe/1.34"} | headers) as session,
            session.get(url, ssl=_ANY, allow_redirects=False) as response,
        ):
            return response.status

    async def _connects(self, action: Raw) -> bool:
        host = action.get("host") or self._address
        _, writer = await asyncio.open_connection(host, self._port(action["port"]))
        writer.close()
        return True

    def _port(self, named: str | int) -> int:
        return named if isinstance(named, int) else int(self._ports.get(named, named))
