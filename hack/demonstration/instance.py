"""The program of the demonstration: `contour demo`, in a process of its own."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contour.demo.copying import Copy

ROOT = Path(__file__).parents[2]
_CONTOUR = (sys.executable, "-c", "from contour.cli import main; main()")


class EndedError(Exception):
    """A program of the demonstration ended before its time."""


@dataclass(slots=True)
class Instance:
    """A process of `contour demo`, whose folder has its manifests, its state and its log."""

    folder: Path
    http: int
    https: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def copy(self) -> Copy:
        """The manifests that it serves."""
        return Copy(self.folder / "quickstart")

    @property
    def state(self) -> Path:
        """The state directory."""
        return self.folder / "state"

    @property
    def command(self) -> Sequence[str]:
        """`contour demo`, as a user would write it."""
        return (
            *("demo", str(self.copy.folder), "--state-dir", str(self.state)),
            *("--map-port", f"80={self.http}", "--map-port", f"443={self.https}"),
        )

    async def start(self) -> None:
        """Starts the process; returns when Envoy serves. Raises EndedError if the process ends
        before."""
        path = self.folder / "contour.log"
        with path.open("wb") as log:
            self.process = subprocess.Popen(
                [*_CONTOUR, *self.command],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        while not (self.state / "ready").exists():
            if self.process.poll() is not None:
                raise EndedError(path.read_text())
            await asyncio.sleep(0.02)

    def stop(self) -> None:
        """Ends the process and waits for it."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=40)
        self.process.kill()
        self.process.wait()


async def shown_status(instance: Instance) -> str:
    """The output of `contour status` for the running instance."""
    return "$ contour status\n" + await _status(instance, "table")


async def blamed_objects(instance: Instance) -> list[str]:
    """The objects with problems."""
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
