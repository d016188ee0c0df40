"""Where the API server asks a node: what containers have written, and the ports of pods.

So `kubectl logs` works, and whoever reads `pods/log` or asks for `pods/portforward`. A kubelet's
certificate is not verified by an API server that was not told by whom it is signed; ours is
nobody's.
"""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import time

from aiohttp import web

from tests.pods.forwarding import FindNetwork, Forwarding
from tests.pods.processes import Log
from tests.testbed import certificates, webservers

Find = Callable[[str, str, str], Log | None]  # namespace, pod, container

_CLIENTS_WAIT = 1.0  # seconds at the end


class Journal:
    """A server on a free port."""

    def __init__(self, folder: Path, find: Find, network: FindNetwork) -> None:
        self._find = find
        shown = certificates.authority("node")
        self._tls = certificates.show(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), shown)
        application = web.Application()
        application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._answer)
        ports = Forwarding(network)
        application.router.add_get("/portForward/{namespace}/{pod}", ports.answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=_CLIENTS_WAIT)

    async def open(self, address: str) -> int:
        """The port."""
        await self._runner.setup()
        await web.TCPSite(self._runner, address, 0, ssl_context=self._tls).start()
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """Nobody is answered any more."""
        await webservers.end(self._runner)

    async def _answer(self, request: web.Request) -> web.Response:
        of = request.match_info
        log = self._find(of["namespace"], of["pod"], of["container"])
        if log is None:
            return web.Response(status=404, text="no such container")
        lines = log.lines(_since(request.query.get("sinceTime"), request.query.get("sinceSeconds")))
        if "tailLines" in request.query:
            lines = lines[len(lines) - min(len(lines), int(request.query["tailLines"])) :]
        stamped = request.query.get("timestamps") == "true"
        content = b"".join(_stamp(when) + it if stamped else it for when, it in lines)
        return web.Response(body=content, content_type="text/plain")


def _since(moment: str | None, seconds: str | None) -> float:
    if seconds:
        return time() - int(seconds)
    return datetime.fromisoformat(moment).timestamp() if moment else 0.0


def _stamp(when: float) -> bytes:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ ").encode()
