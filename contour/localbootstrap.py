"""The bootstrap with which an Envoy on this machine starts.

It is that of `contour run --bootstrap`, else that of the ContourConfiguration (for the Envoy of a
Gateway: of the class's EnvoyProxy), else the usual one. The one of the command line must be valid.
If that of an object is invalid, a status says so and Envoy starts with the usual one. Envoy itself
validates both before it is started.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from contour import bootstrap, custombootstrap, host
from contour.controller import Controller
from contour.host import errors, validating
from contour.host.state import StateDirectory
from crds.custombootstrap import CustomBootstrap
from dag import tables
from dag.envoyproxy.asked import OwnBootstrap
from dag.fleetnames import DEFAULT_FLEET

_log = logging.getLogger(__name__)

_FIELD = "spec.envoy.bootstrap"
_OPTION = "--bootstrap"


class Start(NamedTuple):
    """What an Envoy is started with."""

    text: str
    admin: str = ""
    """HOST:PORT of its administration interface; empty: the usual socket."""
    fault: str = ""
    """Why it is not the bootstrap that an object asks for; empty if it is."""


def start(
    directory: StateDirectory,
    socket: str,
    controller: Controller,
    named: CustomBootstrap | None,
) -> Start:
    """What to start Envoy with; `socket` is the name of the xDS socket. Raises RefusedError."""
    settings = _settings(directory, directory.socket(socket), DEFAULT_FLEET)
    envoy = controller.configuration.envoy
    written = envoy.bootstrap if envoy is not None else None
    controller.engine.write(tables.STARTED_WITH, (), tables.StartedWith(written, named is not None))
    controller.settle()
    taken = {it.bind_port: f"listener {it.name}" for it in controller.listeners()}
    if named is not None:
        return _custom(directory, named, settings, taken, _OPTION)
    if written is None:
        return Start(bootstrap.text(settings))
    try:
        return _custom(directory, written, settings, taken, _FIELD)
    except errors.RefusedError as refused:
        _log.error("%s; Envoy starts with the usual bootstrap", refused)
        controller.report_process_errors((f"{refused}; Envoy runs with the usual bootstrap",))
        return Start(bootstrap.text(settings))


async def of_gateway(
    directory: StateDirectory,
    xds: Path,
    fleet: str,
    written: OwnBootstrap | None,
    named: CustomBootstrap | None,
    held: Mapping[int, str],
) -> Start:
    """What to start the Envoy of a Gateway with; `xds` is the socket of the control plane, `held`
    are the ports of this machine that are in use. Raises RefusedError."""
    settings, taken = _settings(directory, xds, fleet), dict(held)
    if named is not None:
        return await asyncio.to_thread(_custom, directory, named, settings, taken, _OPTION)
    if written is None:
        return Start(bootstrap.text(settings))
    source = written.written
    try:
        return await asyncio.to_thread(_custom, directory, written.custom, settings, taken, source)
    except errors.RefusedError as refused:
        return Start(bootstrap.text(settings), fault=str(refused).removeprefix(f"{source}: "))


def _settings(directory: StateDirectory, xds: Path, fleet: str) -> bootstrap.Settings:
    return bootstrap.Settings(
        node="envoy",
        fleet=fleet,
        control_plane=bootstrap.Pipe(xds),
        admin=directory.socket(host.ADMIN),
    )


def _custom(
    directory: StateDirectory,
    custom: CustomBootstrap,
    settings: bootstrap.Settings,
    taken: dict[int, str],
    source: str,
) -> Start:
    try:
        found = custombootstrap.applied(custom, settings, taken)
    except custombootstrap.RefusedBootstrapError as refused:
        raise errors.RefusedError(f"{source}: {refused}") from refused
    for it in found.warnings:
        _log.warning("%s: %s", source, custombootstrap.sentence(it))
    if said := validating.refusal(directory.write("validated.json", found.text)):
        raise errors.RefusedError(f"{source}: Envoy refuses it: {said}")
    return Start(found.text, str(found.admin) if found.admin else "")
