"""Runs an extension for a test of its author: shows what Envoys would be served with it."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from contour.extension.interface import Extension
from contour.extension.server import Server

_PATIENCE = "1m"
"""The deadline for an answer, long because the machine of a test may be busy."""
_COMMAND = "from contour.cli import main; main()"


class TranslateError(Exception):
    """`contour translate` has failed; the text is what it said."""


@asynccontextmanager
async def serving(extension: Extension) -> AsyncGenerator[str]:
    """Serves an extension on a Unix socket of its own, and yields the address."""
    with TemporaryDirectory(prefix="extension-") as folder:
        async with Server(extension, f"unix:{Path(folder, 'socket')}", grace=1.0) as server:
            yield server.address


async def translated(
    extension: Extension,
    *manifests: str | PathLike[str],
    hooks: Sequence[str] = (),
    options: Sequence[str] = (),
) -> str:
    """The JSON that `contour translate` prints for manifests, with this extension asked.

    With `hooks` a ContourConfiguration registers them for the extension; otherwise it is part of
    the manifests. `options` are further ones of the command, such as `--to status`. Raises
    TranslateError if the command fails, or if the extension does.
    """
    async with serving(extension) as address:
        with TemporaryDirectory(prefix="extension-") as folder:
            paths = [str(it) for it in manifests]
            if hooks:
                paths.append(_registered(Path(folder), address, hooks))
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", _COMMAND,
                "translate", "--extension", address, "-o", "json", *options, "--", *paths,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            text, said = await process.communicate()
    failures = [it for it in said.decode().splitlines() if it.startswith("error: extension ")]
    if process.returncode or failures:
        raise TranslateError("\n".join(failures) or said.decode())
    return text.decode()


def _registered(folder: Path, address: str, hooks: Sequence[str]) -> str:
    """A file with a ContourConfiguration that has the extension."""
    entry = {
        "name": "extension",
        "hooks": {"post": list(hooks)},
        "service": {"unix": address.removeprefix("unix:")},
        "timeout": _PATIENCE,
    }
    document = {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": {"name": "contour", "namespace": "projectcontour"},
        "spec": {"extensions": [entry]},
    }
    path = folder / "configuration.json"
    path.write_text(json.dumps(document))
    return str(path)
