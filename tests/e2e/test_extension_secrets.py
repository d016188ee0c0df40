"""Secrets that an extension sees and changes, behind a real Envoy: the certificate that clients are
shown, with a private key that the extension has never seen or with its own."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from tests.contour.extensioncalls.test_secrets import Secrets, broken, changing, pair
from tests.e2e.standalone import Standalone
from tests.e2e.test_extension_clusters import (
    IMPATIENT,
    ROUTINGS,
    configuration,
    served,
    until,
)
from tests.testbed import pairs
from tests.testbed.extensionserver import echoed, scripted

pytestmark = pytest.mark.envoy

PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: secure}
spec:
  virtualhost: {fqdn: secure.example.com, tls: {secretName: certificate}}
  routes:
  - services: [{name: one, port: 80}]
"""


def replace(found: Secrets) -> None:
    """Every certificate becomes the extension's own."""
    for name in found:
        found[name] = pair(name)


def objects(number: int) -> str:
    """The host, with this certificate."""
    return f"{PROXY}---\n{pairs.with_pair('certificate', *pairs.pair(number))}"


def shown(instance: Standalone) -> str:
    """The certificate that a client is shown, PEM; nothing while there is none."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(("127.0.0.1", instance.ports["https"]), 10) as plain,
            context.wrap_socket(plain, server_hostname="secure.example.com") as secure,
        ):
            found = secure.getpeercert(binary_form=True)
    except OSError:
        return ""
    return ssl.DER_cert_to_PEM_cert(found) if found else ""


@pytest.mark.parametrize("routing", ROUTINGS)
async def test_clients_are_shown_the_certificate_that_the_extension_wants(
    routing: str, tmp_path: Path
) -> None:
    theirs = pair("").tls_certificate.certificate_chain.inline_bytes.decode()
    first, second, third = (pairs.pair(it)[0].decode() for it in range(3))
    async with scripted(echoed) as server:
        host, _, port = server.address.rpartition(":")
        entry = (
            f"{IMPATIENT}, hooks: {{post: [Translation]}}, service: {{host: {host}, port: {port}}}"
        )
        async with served(tmp_path, configuration(routing, entry), objects(0)) as instance:
            await until(lambda: shown(instance) == first)
            server.script = broken
            await asyncio.to_thread(instance.write, "objects.yaml", objects(1))
            subject = "ContourConfiguration projectcontour/contour"
            told = "new and changed ones are not in force"
            await asyncio.to_thread(instance.until_told, subject, told)
            assert await asyncio.to_thread(shown, instance) == first, "the last one, with its key"
            server.script = echoed
            await server.stop()
            await server.start()
            await until(lambda: shown(instance) == second)
            server.script = changing(replace)
            await asyncio.to_thread(instance.write, "objects.yaml", objects(2))
            await until(lambda: shown(instance) == theirs)
            server.script = echoed
            await server.stop()
            await server.start()
            await until(lambda: shown(instance) == third)
