"""`contour envoy`: what runs beside an Envoy in its pod, and sees to it that it leaves in peace."""

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import click

from contour.host import shutdown
from contour.host.administration import Administration


@click.group()
def envoy() -> None:
    """Sees to an Envoy that somebody else started."""


def _options(command: Any) -> Any:
    for option in reversed(
        (
            click.option(
                "--admin-address", default="/admin/admin.sock", show_default=True,
                type=click.Path(path_type=Path), help="The Unix socket of the administration.",
            ),
            click.option(
                "--drain-delay", type=click.FloatRange(0), default=5, show_default=True,
                help="Seconds in which new connections may still come.",
            ),
            click.option(
                "--idle-grace", type=click.FloatRange(0), default=5, show_default=True,
                help="Seconds without a request after which open connections count as idle.",
            ),
            click.option(
                "--min-open-connections", type=click.IntRange(0), default=0, show_default=True,
                help="So many connections are not waited for.",
            ),
            click.option(
                "--drain-timeout", type=click.FloatRange(0), default=280, show_default=True,
                help="Seconds after which the rest is cut.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


@envoy.command("shutdown")
@_options
def shut_down(admin_address: Path, **patience: Any) -> None:
    """Lets Envoy finish what it has; returns when no client would notice that it ends."""
    _log()
    asyncio.run(shutdown.drain(Administration(admin_address), _patience(**patience)))


@envoy.command("shutdown-manager")
@click.option("--serve-port", type=click.IntRange(1, 65535), default=8090, show_default=True)
@_options
def shutdown_manager(serve_port: int, admin_address: Path, **patience: Any) -> None:
    """Waits for SIGTERM, then does as `shutdown` does. GET /shutdown answers when that is done."""
    _log()
    waiting = shutdown.Waiting(Administration(admin_address), _patience(**patience), serve_port)
    try:
        asyncio.run(waiting.run())
    except OSError as error:
        click.echo(f"contour: cannot listen on port {serve_port}: {error.strerror}", err=True)
        sys.exit(2)


def _patience(
    drain_delay: float, idle_grace: float, min_open_connections: int, drain_timeout: float
) -> shutdown.Patience:
    return shutdown.Patience(drain_delay, idle_grace, min_open_connections, drain_timeout)


def _log() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
