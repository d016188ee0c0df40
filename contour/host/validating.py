"""Lets Envoy validate a bootstrap: `envoy --mode validate`, which opens no port.

It reads the files that a bootstrap names, and connects to nothing.
"""

import subprocess
from pathlib import Path

from contour.host import errors, installation

_PATIENCE = 60.0
"""Seconds after which the validation is given up; it normally takes a fraction of one."""
_MOST_LINES = 5
_LONGEST = 600


def refusal(path: Path) -> str:
    """Why Envoy would not start with the bootstrap in a file; empty if it would.

    Raises NotInstalledError if there is no Envoy, RefusedError if it cannot be executed (a file for
    another architecture, for example).
    """
    binary = installation.binary()
    command = [
        *(str(binary), "--mode", "validate", "--config-path", str(path)),
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
    except OSError as error:
        raise errors.RefusedError(f"cannot execute {binary}: {error.strerror}") from error
    if done.returncode == 0:
        return ""
    lines = [it for it in (*done.stderr.splitlines(), *done.stdout.splitlines()) if it.strip()]
    said = " ".join(lines[:_MOST_LINES]).replace(str(path), "the bootstrap")
    return said[:_LONGEST] or f"it ended with status {done.returncode}"
