"""Becomes Envoy, in a process that ends with the one that started it.

It is a program of its own, run by path: its settings must be made between fork and exec, and
running Python there in a process with threads (which gRPC has) can block for ever.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1


def execute(parent: int, command: list[str]) -> None:
    """Replaces this process; returns only if the parent is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.umask(0o077)
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"cannot run {command[0]}: {error.strerror}")


if __name__ == "__main__":
    execute(int(sys.argv[1]), sys.argv[2:])
