"""`contour envoy`: runs beside an Envoy in its pod, and drains it before the pod ends."""

import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from contour.cli import addresses
from contour.cli.numbers import LONG, SECONDS

if TYPE_CHECKING:
    from contour.host import shutdown


@click.group()
def envoy() -> None:
    """Drains an Envoy that this program did not start, such as one in a pod."""


def _options(command: Any) -> Any:
    for option in reversed(
        (
            click.option(
                "--admin-address", default="/admin/admin.sock", show_default=True,
                metavar="PATH|HOST:PORT", callback=addresses.path_or_site,
                help="Unix socket or TCP address of Envoy's administration interface.",
            ),
            click.option(
                "--drain-delay", type=SECONDS, default=5, show_default=True,
                metavar="SECONDS",
                help="Time in seconds for which Envoy still accepts connections after its health "
                "checks begin to fail. Raise it if load balancers notice later.",
            ),
            click.option(
                "--idle-grace", type=SECONDS, default=5, show_default=True,
                metavar="SECONDS",
                help="Open connections count as idle after this time in seconds without an active "
                "request or TCP stream.",
            ),
            click.option(
                "--min-open-connections", type=LONG, default=0, show_default=True,
                help="Stop waiting when no request or TCP stream is active and at most this many "
                "connections are open.",
            ),
            click.option(
                "--drain-timeout", type=SECONDS, default=280, show_default=True,
                metavar="SECONDS",
                help="Maximum time in seconds for everything; open requests and TCP streams are "
                "cut then. Keep it below the pod's terminationGracePeriodSeconds.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


@envoy.command("shutdown")
@_options
def shut_down(admin_address: str, **patience: Any) -> None:
    """Drains Envoy, and returns when it can end without cutting a request.

    Envoy's health checks fail first, so that load balancers stop sending connections. The command
    then waits until no request and no TCP stream (TCPRoute, TLSRoute, tcpproxy) is active, or until
    --drain-timeout.
    """
    import asyncio

    from contour.cli.run import log_to_stderr
    from contour.host import administration, shutdown

    log_to_stderr(verbose=False)
    asyncio.run(shutdown.drain(administration.named(admin_address), _patience(**patience)))


@envoy.command("shutdown-manager")
@click.option(
    "--serve-port", type=click.IntRange(1, 65535), default=8090, show_default=True,
    help="TCP port for GET /shutdown and GET /healthz.",
)  # fmt: skip
@_options
def shutdown_manager(serve_port: int, admin_address: str, **patience: Any) -> None:
    """Waits for SIGTERM, then drains Envoy as `contour envoy shutdown` does.

    Runs as a container beside Envoy. GET /shutdown, for the preStop hook of Envoy's container,
    answers when Envoy is drained; a request cannot start the draining.
    """
    # Before the imports, which take long: process 1 would ignore the signal meanwhile.
    was_told = _noted(signal.SIGTERM)
    import asyncio

    from contour.cli.run import log_to_stderr
    from contour.host import administration, shutdown

    log_to_stderr(verbose=False)
    waiting = shutdown.Waiting(
        administration.named(admin_address), _patience(**patience), serve_port, was_told
    )
    try:
        asyncio.run(waiting.run())
    except OSError as error:
        click.echo(f"contour: cannot listen on port {serve_port}: {error.strerror}", err=True)
        sys.exit(2)


def _noted(number: signal.Signals) -> Callable[[], bool]:
    """Whether the signal has come, from now on until somebody else handles it."""
    came: list[int] = []

    def note(number: int, _: object) -> None:
        came.append(number)

    signal.signal(number, note)
    return lambda: bool(came)


def _patience(
    drain_delay: float, idle_grace: float, min_open_connections: int, drain_timeout: float
) -> "shutdown.Patience":
    from contour.host import shutdown

    return shutdown.Patience(drain_delay, idle_grace, min_open_connections, drain_timeout)
