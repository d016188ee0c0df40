"""The state directory of a run on this machine, and how commands find its sockets there.

For `contour run` and for commands that ask it, so only the standard library is imported.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

SOCKETS = "sockets"
"""A link in a state directory to another directory with the sockets, where there is one."""

INSPECTION = "inspect.sock"
"""The name of the socket that answers `contour status` and `contour config`."""


def default_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The default state directory, in which `contour status` also looks."""
    if (runtime := environment.get("XDG_RUNTIME_DIR")) and Path(runtime).is_dir():
        return Path(runtime, "contour")
    return Path(tempfile.gettempdir(), f"contour-{os.geteuid()}")


def socket(directory: Path, name: str) -> Path:
    """The address of a socket of the run whose state is in the directory."""
    link = directory / SOCKETS
    return (link.readlink() if link.is_symlink() else directory) / name
