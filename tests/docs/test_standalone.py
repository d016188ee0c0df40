"""The transcript of docs/standalone.md is what `contour run` says, on a terminal."""

import os
import pty
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tests.testbed.ports import free_ports
from tests.testbed.processes import CONTOUR, ROOT, wait

DOCUMENT = ROOT / "docs" / "standalone.md"
SHOP = """\
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shop}
spec:
  virtualhost: {fqdn: shop.example.com}
  routes:
  - services: [{name: cart, port: 80}]
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: cart, annotations: {projectcontour.io/local-addresses: "9103"}}
spec: {ports: [{port: 80}]}
"""
EDITS = (
    SHOP.replace("cart", "crat"),
    SHOP,
    SHOP + "    timeoutPolicy: {response: 5s}\n",
    SHOP.replace("routes", "rutes"),
)
"""What is saved, in order; each leads to the next line."""


@pytest.mark.envoy
def test_the_transcript_is_what_is_said(tmp_path: Path) -> None:
    expected = _transcript()
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "shop.yaml").write_text(SHOP)
    (manifests / "cart.yaml").write_text(SERVICE)
    with _terminal(tmp_path, "run", "manifests") as said:
        _wait_for(said, 3)
        for number, text in enumerate(EDITS, start=4):
            (manifests / "shop.yaml").write_text(text)
            _wait_for(said, number)
    assert said[: len(expected)] == expected


def _wait_for(said: list[str], lines: int) -> None:
    wait(lambda: len(said) >= lines, f"{lines} lines, not {said}")


def _transcript() -> list[str]:
    text = DOCUMENT.read_text().split("<!-- transcript: console -->\n```text\n", 1)[1]
    return [_comparable(it) for it in text.split("```", 1)[0].splitlines()]


def _comparable(line: str) -> str:
    """Without colours, durations and the port that was free."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    return re.sub(r"after [\d.]+ m?s", "after N ms", re.sub(r"(127.0.0.1):\d+", r"\1:PORT", plain))


@contextmanager
def _terminal(folder: Path, *arguments: str) -> Iterator[list[str]]:
    """A command in a pseudo-terminal; the lines that it has written so far."""
    http, https = free_ports(2)
    ours, theirs = pty.openpty()
    options = ("--state-dir", str(folder / "state"), "--drain-time", "0", "--concurrency", "1")
    ports = ("--map-port", f"80={http}", "--map-port", f"443={https}")
    environment = os.environ | {"TERM": "xterm", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [*CONTOUR, *arguments, *options, *ports],
        cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    said: list[str] = []
    reader = Thread(target=_read, args=(ours, said), daemon=True)
    reader.start()
    try:
        yield said
    finally:
        process.terminate()
        assert process.wait(60) == 0, said
        reader.join(60)
        os.close(ours)


def _read(terminal: int, said: list[str]) -> None:
    rest = ""
    while True:
        try:
            found = os.read(terminal, 4096).decode()
        except OSError:  # the other side is closed
            return
        *lines, rest = (rest + found).replace("\r\n", "\n").split("\n")
        said.extend(map(_comparable, lines))
