"""Instances that serve every variant of every row of a folder at once, and what they are asked."""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.e2e import standalone
from tests.features import client, expectations, keys, rows
from tests.features.peers import Peers
from tests.features.props import props
from tests.features.rows import Document, Variant
from tests.testbed import processes
from tests.testbed.ports import free_ports

LISTENERS = ("http", "https", "passed", "tcp", "tcp0", "tcp1", "udp", "udp0", "udp1")


@dataclass
class Stage:
    """A running instance, and who is behind it."""

    instance: standalone.Standalone
    peers: Peers
    ports: Mapping[str, int]
    names: Mapping[str, str]
    """What `$` stands for in every row: ports, tokens, the folder of the instance."""
    statuses: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of all objects, by kind and name; once they are asked for."""

    async def play(self, variant: Variant) -> None:
        """Asks everything that the row asks; raises `UnmetError` where it does not come so."""
        for ask in variant.asks(self.names):
            if "rest" in ask:
                await asyncio.sleep(ask["rest"])
            elif "logged" in ask:
                await _require_logged(**ask)
            elif "copies" in ask:
                await self._require_copies(**ask)
            else:
                await self._play(ask, variant.names["host"])

    async def _play(self, ask: Mapping[str, Any], host: str) -> None:
        deadline = time.monotonic() + float(ask.get("until", 0))
        while True:
            try:
                expectations.require(ask, await client.answers(ask, self.ports, host))
                return
            except expectations.UnmetError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.02)

    async def _require_copies(self, copies: str, to: str, count: int | list[int]) -> None:
        """So many requests for a path have reached a backend, or will within a moment."""
        least, most = count if isinstance(count, list) else (count, count)
        deadline = time.monotonic() + 1
        while self.peers.counts[to, copies] < least and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        found = self.peers.counts[to, copies]
        if not least <= found <= most:
            raise expectations.UnmetError(f"{found} copies of {copies}")

    async def until_counted(self, variants: Iterable[Variant]) -> None:
        """Waits until the limits of all BackendTrafficPolicies are in force."""
        limiting = {
            "{kind} {metadata[namespace]}/{metadata[name]}".format_map(it)
            for variant in variants
            for it in variant.documents(self.names)
            if it["kind"] == "BackendTrafficPolicy" and "rateLimit" in it["spec"]
        }

        def are_in_force() -> bool:
            told = self.instance.status()
            return all(told[it]["state"] == "ok" for it in limiting)

        await asyncio.to_thread(processes.wait, are_in_force, "all limits are in force")

    async def reasons(self, variant: Variant) -> str:
        """What the statuses of a variant's objects tell their user."""
        if not self.statuses:
            self.statuses |= await asyncio.to_thread(self.instance.status)
        return "\n".join(
            reason
            for subject, row in self.statuses.items()
            if subject.partition(" ")[2].startswith(f"{variant.name}/")
            for reason in _of_status(row)
        )


def _of_status(row: Mapping[str, Any]) -> Iterator[str]:
    """The reasons in a row of `contour status` that come from the status of the object.

    An object that is not served has no status, and what is only information is in none: the command
    line alone tells of both (`contour.status.unserved`, `contour.status.idle`).
    """
    if row["summary"] == "not served":
        return
    for reason, problem in zip(row["reasons"], row["problems"], strict=True):
        if problem["severity"] != "info":
            yield reason


async def _require_logged(logged: str, line: str) -> None:
    """A line is in a file, or will be within a moment."""
    path, deadline = Path(logged), time.monotonic() + 3
    while not re.search(line, found := path.read_text() if path.exists() else ""):
        if time.monotonic() > deadline:
            raise expectations.UnmetError(f"{line} is not in {found}")
        await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def stage(
    folder: Path, peers: Peers, variants: Iterable[Variant], *, merged: Document | None = None
) -> AsyncIterator[Stage]:
    """Serves these variants while the block runs; `merged` in place of their configurations."""
    ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True)) | peers.ports
    manifests = folder / "manifests"
    manifests.mkdir(parents=True)
    names = {name: str(port) for name, port in ports.items()}
    names |= {"folder": str(folder), "padding": "p" * 30000, "jwks": keys.jwks()}
    names |= keys.tokens() | {"other_jwks": keys.other_jwks()} | peers.sockets
    if merged is not None:
        _write(manifests / "configuration.yaml", [rows.filled(merged, names)])
    for variant in variants:
        documents = list(variant.documents(names))
        documents += props(documents, ports)
        if merged is not None:
            documents = [it for it in documents if it["kind"] != merged["kind"]]
        _write(manifests / f"{variant.name}.yaml", documents)
    with standalone.contour(folder, ports) as instance:
        await asyncio.to_thread(standalone.wait_until_ready, instance)
        yield Stage(instance, peers, ports, names)


def _write(path: Path, documents: list[Document]) -> None:
    path.write_text(yaml.dump_all(documents, Dumper=yaml.CSafeDumper))
