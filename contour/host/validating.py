"""What Envoy itself says of a bootstrap: `envoy --mode validate`, which opens no port.

It reads the files that a bootstrap names, and connects to nothing.
"""

import subprocess
from pathlib import Path

from contour.host import installation

_PATIENCE = 60.0
"""Seconds after which nothing more is expected; it takes a fraction of one."""
_MOST_LINES = 5
_LONGEST = 600


def refusal(path: Path) -> str:
    """Why Envoy would not start with the bootstrap in a file; empty if it would.

    Raises NotInstalledError if there is no Envoy.
    """
    command = [
        *(str(installation.binary()), "--mode", "validate", "--config-path", str(path)),
        *("--disable-hot-restart", "--log-level", "error", "--log-format", "%v"),
    ]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {_PATIENCE:g} seconds"
    if done.returncode == 0:
        return ""
    lines = [it for it in (*done.stderr.splitlines(), *done.stdout.splitlines()) if it.strip()]
    said = " ".join(lines[:_MOST_LINES]).replace(str(path), "the bootstrap")
    return said[:_LONGEST] or f"it ended with status {done.returncode}"
