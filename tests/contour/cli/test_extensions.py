"""Extensions of manifests that are read offline: left out with a warning, or asked."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from envoy.config.route.v3 import route_components_pb2

from contour.cli import main
from contour.hooks import wire
from contour.hooks.wire import Hook
from tests.golang import ROOT
from tests.testbed.extensionserver import Scripted, scripted
from tests.testbed.ports import free_port

MANIFESTS = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  extensions:
  - {name: first, hooks: {post: [VirtualHost]}, service: {host: first.invalid}, retries: 0}
  - {name: second, hooks: {post: [VirtualHost]}, service: {host: second.invalid}}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shop, namespace: team}
spec:
  virtualhost: {fqdn: shop.example.com}
  routes: [{directResponsePolicy: {statusCode: 200}}]
"""


class Ended(NamedTuple):
    status: int
    text: str
    said: str


async def run(folder: Path, *arguments: str) -> Ended:
    """`contour translate` in a process of its own, so that a server can answer here."""
    (folder / "all.yaml").write_text(MANIFESTS)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from contour.cli import main; main()", "translate", *arguments),
        str(folder / "all.yaml"),
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    text, said = await process.communicate()
    return Ended(process.returncode or 0, text.decode(), said.decode())


async def tagging(_: Hook, question: bytes) -> bytes:
    """Counts in the host how often it was asked about."""
    (body,) = wire.decoded_request("VirtualHost", question).resources["virtual_host"]
    host = route_components_pb2.VirtualHost.FromString(body)
    host.response_headers_to_add.add().header.key = f"x-{len(host.response_headers_to_add)}"
    return wire.encoded_reply("VirtualHost", {"virtual_host": (host.SerializeToString(),)})


def shown(ended: Ended) -> tuple[list[str], Any]:
    """The headers of the host, and the action of its route."""
    (host,) = (
        it
        for table in json.loads(ended.text)["routes"]
        for it in table.get("virtual_hosts", ())
        if it["name"] == "shop.example.com"
    )
    added = host.get("response_headers_to_add", ())
    return [it["header"]["key"] for it in added], host["routes"][-1]["direct_response"]["status"]


def asked(server: Scripted, *names: str) -> list[str]:
    return [it for name in names for it in ("--extension", f"{name}{server.address}")]


@pytest.mark.parametrize(
    ("names", "headers", "left_out"),
    [
        ((), [], ["first", "second"]),
        (("",), ["x-0", "x-1"], []),
        (("second=",), ["x-0"], ["first"]),
    ],
    ids=["none", "all", "one"],
)
async def test_what_is_not_asked_is_left_out_and_said(
    tmp_path: Path, names: tuple[str, ...], headers: list[str], left_out: list[str]
) -> None:
    async with scripted(tagging) as server:
        ended = await run(tmp_path, "-o", "json", *asked(server, *names))
    assert ended.status == 0
    assert shown(ended) == (headers, 200)
    warned = [it for it in ended.said.splitlines() if it.startswith("warning: extension")]
    assert [it.split()[2] for it in warned] == left_out


def offline(folder: Path, *arguments: str, command: str = "translate") -> Ended:
    """The command in this process."""
    (folder / "all.yaml").write_text(MANIFESTS)
    path = str(folder / "all.yaml")
    found = CliRunner(env={"COLUMNS": None}).invoke(main, [command, *arguments, path])
    return Ended(found.exit_code, found.stdout, found.stderr)


def test_the_host_of_an_extension_that_is_away_is_closed_and_that_is_said(tmp_path: Path) -> None:
    address = f"first=127.0.0.1:{free_port()}"
    ended = offline(tmp_path, "-o", "json", "--extension", address)
    assert shown(ended) == ([], 503)
    assert "error: extension first does not answer: Unavailable" in ended.said
    told = offline(tmp_path, "--to", "status", "--strict", "--extension", address)
    assert told.status == 1
    assert "extension first does not answer" in told.text


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("keys.invalid:1", "gets private keys (secrets: Full)"),
        ("[::]:1", "gets private keys (secrets: Full)"),
        ("127.0.0.1:1", "refused"),
        ("localhost:1", "refused"),
        ("unix:/nowhere/keys.sock", "No such file"),
    ],
)
def test_private_keys_are_sent_to_nobody_elsewhere_without_tls(
    tmp_path: Path, address: str, why: str
) -> None:
    asks = "name: keys, hooks: {post: [Translation]}, secrets: Full, retries: 0"
    manifests = MANIFESTS.partition("  - {")[0] + f"  - {{{asks}, service: {{unix: /keys.sock}}}}\n"
    (file := tmp_path / "keys.yaml").write_text(manifests)
    arguments = ["translate", "-o", "json", "--extension", address, str(file)]
    found = CliRunner(env={"COLUMNS": None}).invoke(main, arguments)
    assert "error: extension keys does not answer: Unavailable" in found.stderr
    assert why in found.stderr


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["other=127.0.0.1:1"], "no ContourConfiguration registers an extension other"),
        (["nowhere"], "'nowhere' is neither HOST:PORT nor unix:/absolute/path"),
        (["unix:relative"], "'unix:relative' is neither"),
        (["127.0.0.1:1", "127.0.0.1:2"], "only one --extension may be without a name"),
    ],
)
def test_a_wrong_option_is_an_error_of_usage(tmp_path: Path, written: list[str], said: str) -> None:
    ended = offline(tmp_path, *(part for it in written for part in ("--extension", it)))
    assert ended.status == 2
    assert said in " ".join(ended.said.split())


def test_statuses_do_not_wait_for_extensions(tmp_path: Path) -> None:
    (row,) = (it for it in offline(tmp_path, command="status").text.splitlines() if "shop" in it)
    assert row.split() == ["HTTPProxy", "team/shop", "valid"]
