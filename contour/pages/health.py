"""Whether the process is alive, and whether it is ready: for the kubelet.

It is alive if it answers: a process that hangs does not. An unavailable API server is no reason to
restart a control plane, which goes on serving what it knows; so `/healthz` does not check it,
unlike upstream's. It is ready if an Envoy that connects would get the complete configuration, and
no longer ready from the moment when it is told to stop.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web

from contour.pages.listeners import Pages

Lack = Callable[[], str]
"""What is missing, in a few words; empty if nothing is."""


@dataclass(slots=True)
class Readiness:
    """The conditions, by name, in the order in which they become true."""

    lacks: Mapping[str, Lack]
    _is_closing: bool = field(default=False)

    def close(self) -> None:
        """Makes the process unready for good, so that no new Envoys connect."""
        self._is_closing = True

    @property
    def missing(self) -> dict[str, str]:
        """What is missing; empty if it is ready."""
        found = {name: lack() for name, lack in self.lacks.items()}
        closing = {"shutdown": "the process is stopping"} if self._is_closing else {}
        return {name: words for name, words in found.items() if words} | closing

    def __bool__(self) -> bool:
        return not self.missing


def pages(readiness: Readiness) -> Pages:
    """`/health` and `/healthz`, as in upstream, and `/readyz`."""

    async def alive(_: web.BaseRequest) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.BaseRequest) -> web.Response:
        missing = readiness.missing
        lines = [f"[+]{name} ok" for name in readiness.lacks if name not in missing]
        lines += [f"[-]{name}: {words}" for name, words in missing.items()]
        verdict = "not ready" if missing else "ready"
        return web.Response(status=503 if missing else 200, text="\n".join([*lines, verdict, ""]))

    return {"/health": alive, "/healthz": alive, "/livez": alive, "/readyz": ready}
