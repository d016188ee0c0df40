"""Asks the resolver of this machine for the addresses of a name.

The resolver may not answer for a long time and cannot be interrupted. So each lookup has a thread
of its own, and the end of the process does not wait for it.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

Address = tuple[socket.AddressFamily, str]


def _nothing() -> None:
    pass


def addresses(
    host: str, family: int = socket.AF_UNSPEC, ended: Callable[[], None] = _nothing
) -> asyncio.Future[list[Address]]:
    """The addresses of a name, without repetition. The future raises OSError, or ValueError for
    what is no name; `ended` is called when the thread has ended, even if nobody waits for it any
    more."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[Address]] = loop.create_future()

    def end(found: list[Address] | Exception) -> None:
        ended()
        if future.done():
            return
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found)

    def ask() -> None:
        answer = _answer(host, family)
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(end, answer)

    threading.Thread(target=ask, name=f"look up {host}", daemon=True).start()
    return future


def _answer(host: str, family: int) -> list[Address] | Exception:
    try:
        every = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, family=family)
    except (OSError, ValueError) as error:
        return error
    return list(dict.fromkeys((it, str(address[0])) for it, _, _, _, address in every))
