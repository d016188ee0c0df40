"""The programs of the demonstration: the backends and `contour run`, each a process of its own."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hack.demonstration.quickstart import Quickstart

ROOT = Path(__file__).parents[2]
_CONTOUR = (sys.executable, "-c", "from contour.cli import main; main()")


class EndedError(Exception):
    """A program of the demonstration ended before its time."""


@dataclass(slots=True)
class Instance:
    """What runs, in a folder that holds its state and its logs."""

    folder: Path
    quickstart: Quickstart
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def state(self) -> Path:
        """The state directory of `contour run`."""
        return self.folder / "state"

    @property
    def command(self) -> Sequence[str]:
        """`contour run`, as a user would write it."""
        ports = self.quickstart
        return (
            *("run", str(ports.manifests), "--state-dir", str(self.state)),
            *("--map-port", f"80={ports.http}", "--map-port", f"443={ports.https}"),
        )

    async def start(self) -> None:
        """Starts everything; returns when Envoy serves. Raises EndedError if it will not."""
        backends = [f"{name}={port}" for name, port in self.quickstart.backends.items()]
        self._start("backends", sys.executable, "-m", "tests.backends", *backends)
        contour = self._start("contour", *_CONTOUR, *self.command)
        while not (self.state / "ready").exists():
            if contour.poll() is not None:
                raise EndedError((self.folder / "contour.log").read_text())
            await asyncio.sleep(0.02)

    def _start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # Its output is a file: without this, Python would keep lines back.
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self.processes.append(process)
        return process

    def stop(self) -> None:
        """Ends everything, in the reverse order, and waits for it."""
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=40)
            process.kill()
            process.wait()


async def shown_status(instance: Instance) -> str:
    """What `contour status` shows of the running instance."""
    return "$ contour status\n" + await _status(instance, "table")


async def blamed_objects(instance: Instance) -> list[str]:
    """The objects that are not fine."""
    rows = json.loads(await _status(instance, "json"))
    blamed = (row["subject"] for row in rows if row["state"] != "ok")
    return [f"{it['kind']} {it['namespace']}/{it['name']}" for it in blamed]


async def _status(instance: Instance, form: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(*_CONTOUR, "status", "--state-dir", str(instance.state), "-o", form),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "120"},
    )
    output, _ = await process.communicate()
    return output.decode()
