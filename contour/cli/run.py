"""`contour run`: serves manifests on this machine with a real Envoy."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from contour.cli import importing, options
from contour.cli.numbers import POSITIVE, SECONDS
from crds.draining import DRAIN_SECONDS

if TYPE_CHECKING:
    from contour.configfile.source import Source
    from contour.host import EnvoyOptions


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH…", type=options.ManifestPath())
@click.option(
    "--bind", default="127.0.0.1", show_default=True,
    help="IP address that Envoy listens on. Use 0.0.0.0 to serve other machines.",
)  # fmt: skip
@click.option(
    "--map-port", "port_map", multiple=True, metavar="EXTERNAL=LOCAL",
    show_default="the same port; below 1024, plus 8000",
    help="Listen on port LOCAL of this machine for port EXTERNAL of the manifests (80 and 443 for "
    "Ingress and HTTPProxy). Can be given several times.",
)  # fmt: skip
@click.option(
    "--backend", "backends", multiple=True, metavar="[NAMESPACE/]NAME=ADDRESS:PORT",
    show_default="the EndpointSlices of each Service",
    help="Lead requests for the Service NAME to this address; the Service and its EndpointSlices "
    "need not exist. Can be given several times, also for one Service.",
)  # fmt: skip
@click.option(
    "--host-dns/--no-host-dns", default=True, show_default=True,
    help="Look for Services that have neither EndpointSlices nor an address by --backend with the "
    "DNS of this machine: as NAME.NAMESPACE.svc, and in the namespace default also as NAME.",
)  # fmt: skip
@click.option(
    "--tls", type=click.Choice(["manifests", "auto"]), default="manifests", show_default=True,
    help="Where certificates come from: the Secrets in the manifests, or, where these are missing, "
    "a local authority that is made once and that clients have to trust.",
)  # fmt: skip
@click.option(
    "--config-path", "-c", type=click.Path(path_type=Path), metavar="FILE",
    show_default="a ContourConfiguration among the manifests",
    help="File of kind EnvoyGateway that has the configuration. Each Gateway then has an Envoy of "
    "its own. The manifests that the file names are served, too.",
)  # fmt: skip
@click.option(
    "--state-dir", type=click.Path(path_type=Path),
    show_default="$XDG_RUNTIME_DIR/contour, or contour-UID in the temporary directory",
    help="Private directory for sockets, files and the lock of this run. Each simultaneous run "
    "needs its own.",
)  # fmt: skip
@click.option(
    "--controller-name", type=options.ControllerName(), metavar="DOMAIN/PATH",
    show_default="that of the ContourConfiguration, or Contour's",
    help="Serve GatewayClasses with this `spec.controllerName`.",
)  # fmt: skip
@click.option(
    "--bootstrap", type=click.Path(path_type=Path), metavar="FILE", show_default="the usual one",
    help="Bootstrap with which Envoy starts: a whole one in YAML or JSON, or an object with `type` "
    "(Replace, Merge or JSONPatch) and `value` or `jsonPatches`, as in a ContourConfiguration's "
    "`spec.envoy.bootstrap`, which it replaces.",
)  # fmt: skip
@click.option(
    "--concurrency", type=POSITIVE, show_default="one per CPU core",
    help="Number of Envoy's worker threads. Lower it on a shared machine.",
)  # fmt: skip
@click.option(
    "--drain-time", "drain", type=SECONDS, default=30, show_default=True,
    metavar="SECONDS",
    help="Time in seconds that open requests and TCP streams have to finish when this command "
    "ends.",
)  # fmt: skip
@click.option(
    "--listener-drain-time", "replaced", type=POSITIVE, default=DRAIN_SECONDS,
    show_default=True, metavar="SECONDS",
    help="Minimum time in seconds that open connections last after a change of their listener or "
    "TLS settings. Envoy keeps the old settings in memory for about that time.",
)  # fmt: skip
@click.option(
    "--lenient", is_flag=True,
    help="Take objects with unknown fields, without these fields. Otherwise an unknown field is an "
    "error, as it is for `kubectl apply`, and the last good version of the object stays.",
)  # fmt: skip
@click.option(
    "--dashboard-port", type=click.IntRange(0, 65535), show_default="6060, or a free one",
    help="TCP port on 127.0.0.1 that serves the dashboard: web pages that show hosts, routes, "
    "objects and Envoys as they change. 0 serves none.",
)  # fmt: skip
@click.option("--verbose", is_flag=True, help="Also log messages of level debug.")
def run(
    paths: tuple[str, ...],
    bind: str,
    port_map: tuple[str, ...],
    backends: tuple[str, ...],
    host_dns: bool,
    tls: str,
    config_path: Path | None,
    state_dir: Path | None,
    controller_name: str | None,
    bootstrap: Path | None,
    concurrency: int | None,
    drain: float,
    replaced: int,
    lenient: bool,
    dashboard_port: int | None,
    verbose: bool,
) -> None:
    """Serves manifests on this machine with a local Envoy, and follows their changes.

    Each PATH is a file or folder of manifests. Ctrl-C, SIGTERM or closing the terminal ends it once
    open requests have finished. The state directory has a file `ready` when manifests are served.
    """
    with importing():
        from contour import files, host, localbackends, rundir
        from contour import run as running
        from contour.cli import custombootstrap
        from contour.configfile.source import UnusableFileError, on_this_machine
        from contour.host import ports, state
        from observability import failures, signals

    log_to_stderr(verbose)
    with failures.fatal(host.Error, files.UnreadableInput, UnusableFileError):
        source = on_this_machine(config_path) if config_path is not None else None
        options = running.RunOptions(
            paths=_manifests(paths, source),
            source=source,
            address=ports.bindable(bind),
            port_map=tuple(sorted(ports.mapping(port_map).items())),
            backends=localbackends.named(backends),
            asks_dns=host_dns,
            certifies=tls == "auto",
            controller_name=controller_name,
            lenient=lenient,
            dashboard_port=dashboard_port,
            bootstrap=custombootstrap.from_file(bootstrap, "--bootstrap") if bootstrap else None,
            envoy=_envoy(concurrency, drain, replaced),
        )
        with state.claimed(state_dir or rundir.default_path()) as directory:
            signals.run(running.run(directory, options))


def _envoy(concurrency: int | None, drain: float, replaced: int) -> "EnvoyOptions":
    from contour import host

    return host.EnvoyOptions(
        concurrency=concurrency, drain_seconds=drain, replaced_seconds=replaced
    )


def _manifests(named: tuple[str, ...], source: "Source | None") -> tuple[Path, ...]:
    of_file = source.fixed.paths if source is not None else ()
    if not (named or of_file):
        raise click.UsageError("Missing argument 'PATH…'.")
    return (*map(Path, named), *of_file)


OURS = ("contour", "crds", "dag", "kube", "provisioning", "observability")
"""The packages whose messages of level debug `--verbose` shows."""


def log_to_stderr(verbose: bool) -> None:
    """Logs one line for each message, for people; of libraries, only warnings and errors."""
    import logging

    from observability import writing

    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(message)s", stream=writing.standard_error()
    )
    if verbose:
        for name in OURS:
            logging.getLogger(name).setLevel(logging.DEBUG)
