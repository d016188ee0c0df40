"""Asks extensions offline, once, in the same way as an instance does."""

import asyncio
import ipaddress
from collections.abc import Callable

from contour.cli.addresses import site
from contour.controller import Controller
from contour.events import Batch
from contour.extensioncalls.answers import Answers
from contour.extensioncalls.asker import Asker
from contour.extensioncalls.conversation import Asked
from contour.hooks import wire
from contour.hooks.client import Client, Retries, Service
from contour.hooks.replies import Answer, Failure
from dag.hookservers import Connection


def take(controller: Controller, batch: Batch, address: Callable[[str], str]) -> None:
    """Gives manifests to the controller, and waits for the answers of the extensions.

    `address`: that of an extension, by its name; empty if it is not asked.
    """
    asyncio.run(_take(controller, batch, address))


async def _take(controller: Controller, batch: Batch, address: Callable[[str], str]) -> None:
    def connected(found: Connection) -> Asked:
        server, given = found.server, address(found.server.name)
        if not given:
            return _Unasked()
        if server.sees_private_keys and not _is_of_this_machine(given):
            return _Exposed()
        retries = Retries(attempts=server.retries + 1)
        return Client(Service(given, deadline=server.timeout, retries=retries))

    asker = Asker(controller.engine, controller.settle, Answers(None), connected)
    controller.hook_rows.questioner = asker
    controller.take(batch)
    await asker.begin()
    await asyncio.sleep(0)  # settles what the last answers lead to
    await asker.close()


def _is_of_this_machine(given: str) -> bool:
    """Whether what is sent to this address, without TLS, leaves this machine for no network."""
    found = site(given)
    if found is None:
        return True  # a Unix socket
    try:
        return ipaddress.ip_address(found.host).is_loopback
    except ValueError:
        return found.host == "localhost"


class _Unasked:
    """Stands in for an extension that is not asked."""

    async def ask(self, hook: wire.Hook, question: bytes) -> Answer | Failure:
        """Modifies nothing."""
        asked = wire.decoded_request(hook, question)
        return Answer(wire.encoded_reply(hook, asked.resources))

    async def close(self) -> None:
        """Does nothing."""


class _Exposed:
    """Stands in for an extension that must not be asked without TLS."""

    async def ask(self, hook: wire.Hook, question: bytes) -> Answer | Failure:
        """There is no answer."""
        del hook, question
        why = "it gets private keys (secrets: Full), which leave this machine only over TLS"
        return Failure("Unavailable", why)

    async def close(self) -> None:
        """Does nothing."""
