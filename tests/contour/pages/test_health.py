"""Alive is who answers; ready is who has everything, until it is told to stop."""

from functools import partial

from contour.pages import health
from contour.pages.listeners import Listeners
from contour.pages.settings import ListenAddress, Sites
from tests.contour.pages.test_listeners import asked
from tests.testbed.ports import free_port


async def test_ready_is_who_lacks_nothing_until_it_closes() -> None:
    lacks = {"configuration": "waiting for projectcontour/contour", "xds": ""}
    readiness = health.Readiness({name: partial(lacks.__getitem__, name) for name in lacks})
    port = free_port()
    listeners = Listeners({"health": health.pages(readiness)})
    await listeners.update(Sites({ListenAddress("127.0.0.1", port): frozenset({"health"})}))
    try:
        missing = "[+]xds ok\n[-]configuration: waiting for projectcontour/contour\nnot ready\n"
        assert await asked(port, "/readyz") == (503, missing)
        lacks["configuration"] = ""
        assert readiness
        assert await asked(port, "/readyz") == (200, "[+]configuration ok\n[+]xds ok\nready\n")
        readiness.close()
        assert (await asked(port, "/readyz"))[0] == 503
        for path in ("/health", "/healthz", "/livez"):
            assert await asked(port, path) == (200, "ok\n")
    finally:
        await listeners.close()
