"""`contour serve`: an instance in a Kubernetes cluster. Flags are Contour's where it has them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contour.cli import importing, options
from contour.cli.names import NAMESPACE, OBJECT, SERVICE, SUFFIX
from contour.cli.numbers import COUNT
from provisioning import names

if TYPE_CHECKING:
    from observability import logs


class Seconds(click.ParamType[float]):
    """A duration as Go writes it, in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Reads `15s`, `1m30s`."""
        if ctx is not None and ctx.resilient_parsing:
            return 0  # a shell asks for completions, so no value is needed
        from dag.values import durations

        if why := durations.refusal(value):
            self.fail(why, param, ctx)
        return durations.seconds(value)


_PORT = click.IntRange(1, 65535)
_FILE = click.Path(dir_okay=False, path_type=Path)


class _Serve(click.Command):
    """Says, of options that only upstream Contour has, which setting replaces them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from contour.conversion import contourflags

            if text := contourflags.replacement(error.option_name):
                raise click.UsageError(text, ctx) from None
            raise


@click.command(cls=_Serve, context_settings={"show_default": True})
@click.option(
    "--incluster", is_flag=True,
    help="Authenticate to the API server with the service account of this pod.",
)  # fmt: skip
@click.option(
    "--kubeconfig", type=click.Path(), default="",
    show_default="$KUBECONFIG, the pod's service account, ~/.kube/config",
    help="Path of the kubeconfig file to use. Not used with --incluster.",
)  # fmt: skip
@click.option(
    "--namespace", type=NAMESPACE.or_empty, metavar="NAMESPACE", envvar="CONTOUR_NAMESPACE",
    show_default="that of the service account or the kubeconfig",
    help="Namespace of this instance: of its ContourConfiguration, its Lease and its Envoys.",
)  # fmt: skip
@click.option(
    "--contour-config-name", type=OBJECT.or_empty, metavar="NAME", show_default="contour",
    help="Name of the ContourConfiguration to follow. Each instance in a namespace has its own.",
)  # fmt: skip
@click.option(
    "--config-path", "-c", type=_FILE, metavar="FILE",
    show_default="/etc/envoy-gateway/config.yaml if it is there and --contour-config-name is not "
    "given",
    help="File of kind EnvoyGateway that has the configuration instead of a ContourConfiguration. "
    "Its changes are followed.",
)  # fmt: skip
@click.option(
    "--watch-namespaces", default="", metavar="A,B", show_default="all", callback=options.names,
    help="Comma-separated namespaces to watch. Roles in these namespaces are then enough; "
    "GatewayClasses cannot be read, so no Gateway is served.",
)  # fmt: skip
@click.option(
    "--xds-address", default="127.0.0.1",
    help="IP address that the xDS server listens on. Use 0.0.0.0 in a pod.",
)  # fmt: skip
@click.option("--xds-port", type=_PORT, default=8001, help="TCP port of the xDS server.")
@click.option(
    "--rate-limit-port", type=_PORT, default=8081,
    help="TCP port, at --xds-address, at which the replica that leads counts the requests that "
    "RateLimitFilters limit, if the ContourConfiguration asks for it without a Redis.",
)  # fmt: skip
@click.option(
    "--xds-handshake-timeout", type=Seconds(), default="10s",
    help="Maximum time for the TLS and HTTP/2 handshakes of a connection, such as 10s; 0s means "
    "gRPC's default of two minutes.",
)  # fmt: skip
@click.option(
    "--xds-streams-per-connection", type=COUNT, default=1024,
    help="Maximum number of xDS streams per connection; more wait at the client. An Envoy needs "
    "one. 0 means no limit.",
)  # fmt: skip
@click.option(
    "--xds-streams-per-address", type=COUNT, default=2048,
    help="Maximum number of xDS streams per client IP address; more are refused. Raise it if more "
    "Envoys than that connect from one address. 0 means no limit.",
)  # fmt: skip
@click.option(
    "--xds-connection-age", type=Seconds(), default="2h",
    help="Age at which an xDS connection is closed, so that Envoys spread over all replicas, such "
    "as 2h; 0s means never.",
)  # fmt: skip
@click.option(
    "--advertise-address", envvar="POD_IP", show_default="--xds-address",
    help="IP address at which the other replicas reach this xDS server: the pod's IP address.",
)  # fmt: skip
@click.option(
    "--contour-cafile", type=_FILE, show_default="none; required without --insecure",
    help="PEM file of the CA that signed the client certificates of Envoys.",
)  # fmt: skip
@click.option(
    "--contour-cert-file", type=_FILE, show_default="none; required without --insecure",
    help="PEM file of the xDS server's certificate.",
)  # fmt: skip
@click.option(
    "--contour-key-file", type=_FILE, show_default="none; required without --insecure",
    help="PEM file of the private key of --contour-cert-file.",
)  # fmt: skip
@click.option(
    "--insecure", is_flag=True,
    help="Serve xDS without TLS. Only for a loopback --xds-address.",
)  # fmt: skip
@click.option(
    "--envoy-service-name", type=SERVICE, metavar="NAME", default="envoy",
    help="Name of the Service of the Envoys. Its load balancer's address is written to statuses, "
    "and the Envoys' client certificates must carry its name.",
)  # fmt: skip
@click.option(
    "--envoy-service-namespace", type=NAMESPACE.or_empty, metavar="NAMESPACE",
    show_default="--namespace",
    help="Namespace of the Service of the Envoys.",
)  # fmt: skip
@click.option(
    "--contour-image", default=names.IMAGE,
    help="Container image of this program, for the containers beside Envoy in managed fleets.",
)  # fmt: skip
@click.option(
    "--envoy-image", default=names.ENVOY_IMAGE,
    help="Container image of Envoy in managed fleets.",
)  # fmt: skip
@click.option(
    "--name-suffix", type=SUFFIX, metavar="SUFFIX", default="", show_default="none",
    help="Suffix of the names of this instance's objects: that of `contour manifests --suffix`.",
)  # fmt: skip
@click.option(
    "--state-dir", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    show_default="none",
    help="Directory for the answers of extensions, at most 256 MiB, so that a restart serves them "
    "while an extension is away. It holds no Secrets.",
)  # fmt: skip
@click.option(
    "--health-address", default="0.0.0.0", help="IP address that serves /healthz and /readyz."
)  # fmt: skip
@click.option(
    "--health-port", type=_PORT, default=8000, help="TCP port that serves /healthz and /readyz."
)  # fmt: skip
@click.option("--http-address", default="0.0.0.0", help="IP address that serves /metrics.")
@click.option(
    "--http-port", type=_PORT, default=8000,
    help="TCP port that serves /metrics. It can be the same as --health-port.",
)  # fmt: skip
@click.option(
    "--debug-http-address", default="127.0.0.1",
    help="IP address that serves the debugging pages. They show the configuration to everybody "
    "who can connect.",
)  # fmt: skip
@click.option(
    "--debug-http-port", type=_PORT, default=6060, help="TCP port that serves the debugging pages."
)  # fmt: skip
@click.option(
    "--disable-leader-election", is_flag=True,
    help="Do not use leader election. Only for an instance with a single replica.",
)  # fmt: skip
@click.option(
    "--leader-election-resource-name", type=OBJECT, metavar="NAME", default="leader-elect",
    help="Name of the Lease by which the replicas elect their leader. Each instance in a namespace "
    "has its own.",
)  # fmt: skip
@click.option(
    "--leader-election-resource-namespace", type=NAMESPACE.or_empty, metavar="NAMESPACE",
    show_default="--namespace",
    help="Namespace of the Lease of the leader election.",
)  # fmt: skip
@click.option(
    "--leader-election-lease-duration", type=Seconds(), default="15s",
    help="Time after which another replica takes over a Lease that was not renewed, such as 15s. "
    "Raise it if the API server is often slow.",
)  # fmt: skip
@click.option(
    "--leader-election-renew-deadline", type=Seconds(), default="10s",
    help="Time after which a leader that cannot renew its Lease stops writing. Less than the lease "
    "duration.",
)  # fmt: skip
@click.option(
    "--leader-election-retry-period", type=Seconds(), default="2s",
    help="Time between two attempts to renew or acquire the Lease. Less than the renew deadline.",
)  # fmt: skip
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text",
    help="Format of log lines: text for people, JSON for log collectors.",
)  # fmt: skip
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info",
    help="Least severe level of messages that are logged.",
)  # fmt: skip
def serve(log_format: "logs.Format", log_level: str, **flags: Any) -> None:
    """Runs the control plane in a Kubernetes cluster.

    Watches Ingress, HTTPProxy and Gateway API objects, serves the resulting configuration to
    Envoys over xDS, and writes the statuses of the objects. A ContourConfiguration takes precedence
    over these options where it sets the same. Durations are written like 15s, 1m30s or 2h.
    """
    with importing():
        from contour.cli import replica
        from contour.configfile.source import UnusableFileError
        from kube import errors
        from kube.credentials import AccessError
        from observability import failures, logs, signals

    logs.configure(log_format, log_level)
    with failures.fatal(AccessError, errors.RequestError, OSError, UnusableFileError):
        signals.run(replica.serve(flags))
