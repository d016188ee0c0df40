"""The server of an extension: how it is reached, what errors become, how it ends."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from envoy_data_plane.envoy.config.route.v3 import VirtualHost

from contour.extension import Extension, InvalidError, Server, Tls, serving
from contour.hooks import client, replies
from contour.hooks.replies import Answer, Failure
from tests.contour.hooks.questions import about_host, host
from tests.golang import ROOT
from tests.testbed import certificates
from tests.testbed.programs import PATIENCE


class Renaming(Extension):
    """Says what is to be said of a host by its name."""

    async def virtual_host(self, virtual_host: VirtualHost) -> VirtualHost:
        match virtual_host.name:
            case "invalid":
                raise InvalidError("no such team")
            case "broken":
                raise KeyError("team")
        virtual_host.include_request_attempt_count = True
        return virtual_host


async def ask(address: str, name: str = "shop", tls: client.Tls | None = None) -> Answer | Failure:
    it = client.Client(client.Service(address, tls, deadline=PATIENCE))
    try:
        return await it.ask("VirtualHost", about_host(host(name)))
    finally:
        await it.close()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("invalid", "INVALID_ARGUMENT: no such team"),
        ("broken", "INTERNAL: KeyError: 'team'"),
    ],
)
async def test_an_error_of_an_extension_is_told(name: str, message: str) -> None:
    async with serving(Renaming()) as address:
        assert await ask(address, name) == Failure("Error", message)
        assert isinstance(await ask(address), Answer), "it goes on"


@pytest.mark.parametrize("text", ["x" * 20_000, "é\n" * 20_000, "a\0b" * 9_000, "\ud800" * 9_000])
async def test_of_a_long_error_the_beginning_is_told(text: str) -> None:
    class Failing(Extension):
        async def virtual_host(self, virtual_host: VirtualHost) -> None:
            raise InvalidError(text)

    async with serving(Failing()) as address:
        found = await ask(address)
        begins = replies.failure("Error", f"INVALID_ARGUMENT: {text[:100]}".replace("\ud800", "?"))
        assert isinstance(found, Failure)
        assert found.message.startswith(begins.message)


async def test_by_tcp() -> None:
    async with Server(Renaming(), "127.0.0.1:0") as server:
        assert isinstance(await ask(server.address), Answer)


async def test_renewed_certificates_are_shown_without_a_restart(tmp_path: Path) -> None:
    old, new = certificates.authority("old"), certificates.authority("new")
    us = certificates.issued(old, "contour")
    chain, key, authority = certificates.write(certificates.issued(old, "127.0.0.1"), old, tmp_path)
    async with Server(Renaming(), "127.0.0.1:0", Tls(chain, key, authority)) as server:
        shown = client.Tls(old.pem, us.pem, us.key_pem)
        assert isinstance(await ask(server.address, tls=shown), Answer)
        assert isinstance(await ask(server.address, tls=client.Tls(old.pem)), Failure)
        certificates.write(certificates.issued(new, "127.0.0.1"), new, tmp_path)
        assert isinstance(await ask(server.address, tls=shown), Failure)
        us = certificates.issued(new, "contour")
        shown = client.Tls(new.pem, us.pem, us.key_pem)
        assert isinstance(await ask(server.address, tls=shown), Answer)


async def test_files_that_cannot_be_read_again_are_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours = certificates.authority()
    us = certificates.issued(ours, "contour")
    paths = certificates.write(certificates.issued(ours, "127.0.0.1"), ours, tmp_path)
    async with Server(Renaming(), "127.0.0.1:0", Tls(*paths)) as server:
        shown = client.Tls(ours.pem, us.pem, us.key_pem)
        paths[0].unlink()
        for _ in range(3):
            assert isinstance(await ask(server.address, tls=shown), Answer)
    assert len([it for it in caplog.messages if "cannot be read again" in it]) == 1


async def test_questions_that_are_open_are_answered_before_it_ends() -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    class Slow(Extension):
        async def virtual_host(self, virtual_host: VirtualHost) -> None:
            del virtual_host
            begun.set()
            await gate.wait()

    server = Server(Slow(), "127.0.0.1:0", grace=PATIENCE)
    await server.__aenter__()
    open_ = asyncio.ensure_future(ask(server.address))
    await begun.wait()
    ending = asyncio.ensure_future(server.__aexit__(None, None, None))
    await asyncio.sleep(0)
    gate.set()
    assert await open_ == Answer(b"")
    await ending


async def test_a_probe_is_answered() -> None:
    async with serving(Renaming()) as address, grpc.aio.insecure_channel(address) as channel:
        assert await channel.unary_unary("/grpc.health.v1.Health/Check")(b"") == b"\x08\x01"


PROGRAM = """
from contour.extension import Extension, run
class Mine(Extension):
    "Does nothing at all."
run(Mine())
"""


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--tls-cert", "pyproject.toml"], 2, "TLS needs --tls-cert and --tls-key"),
        (["--listen", "nowhere.invalid:1"], 1, "Cannot listen on nowhere.invalid:1"),
        (["--help"], 0, "Does nothing at all."),
    ],
)
def test_the_command_says_what_is_wrong(options: list[str], status: int, said: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, *options],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (found.returncode, said in found.stdout + found.stderr) == (status, True), found


async def test_the_command_serves_until_it_is_asked_to_end(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/socket"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "--listen", address],
        cwd=ROOT, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            assert f"listening on {address}" in process.stderr.readline()
            assert await ask(address) == Answer(b"")
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


def test_it_imports_nothing_of_the_control_plane() -> None:
    program = "import sys, contour.extension; print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ours = ("contour", "crds", "dag", "kube", "provisioning", "observability")
    loaded = {it for it in found.stdout.split() if it.split(".")[0] in ours}
    rest = {it for it in loaded if not it.startswith("contour.extension")}
    assert rest == {"contour", "contour.hooks", "contour.hooks.wire"}
    assert "envoy.config" not in found.stdout.split()
