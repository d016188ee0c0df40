"""`contour bootstrap`: the bootstrap of an Envoy that somebody else runs."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypedDict

import click

from contour.cli import options
from contour.cli.addresses import HOST, IP
from contour.cli.names import NAMESPACE, SERVICE
from contour.cli.numbers import LONG

if TYPE_CHECKING:
    from contour import bootstrap as bootstraps


class _Identity(TypedDict):
    """The identity of an Envoy, for `Settings`."""

    node: str
    fleet: str
    identity: str


class _Statistics(TypedDict):
    """Where an Envoy serves its statistics, for `Settings`."""

    monitoring: "bootstraps.SocketAddress | None"
    hides_stats: bool


class _Limits(TypedDict):
    """The limits of an Envoy, for `Settings`; 0 means the default."""

    heap_bytes: int | None
    connections: int


@click.command()
@click.argument("path", type=click.Path(), default="-")
@click.option(
    "--xds-address", type=HOST, default="127.0.0.1", show_default=True,
    help="IP address or DNS name of the xDS server; in a cluster, that of its Service.",
)  # fmt: skip
@click.option(
    "--xds-port", type=click.IntRange(1, 65535), default=8001, show_default=True,
    help="TCP port of the xDS server.",
)  # fmt: skip
@click.option(
    "--xds-socket", show_default="address and port",
    help="Unix socket of the xDS server. Replaces --xds-address and --xds-port.",
)  # fmt: skip
@click.option(
    "--grpc", is_flag=True,
    help="Write the bootstrap of a gRPC application that calls Services without a proxy. It reads "
    "the file that GRPC_XDS_BOOTSTRAP names.",
)  # fmt: skip
@click.option(
    "--namespace", type=NAMESPACE.or_empty, metavar="NAMESPACE",
    show_default="default, with --node-id",
    help="Namespace of the EnvoyConfig (with --node-id), or of the gRPC application, as its "
    "certificate has it (with --grpc).",
)  # fmt: skip
@click.option(
    "--authority", "authorities", multiple=True, metavar="NAME=ADDRESS[,ADDRESS…]",
    show_default="none",
    help="With --grpc or --node-id: a control plane and the authority that it answers for in "
    "`xdstp:` names. Can be given several times. With --grpc, further addresses are tried when the "
    "first does not answer, and targets without authority, such as xds:///echo.shop, ask the first "
    "control plane. With --node-id, it is asked for names without a config_source, at one address.",
)  # fmt: skip
@click.option(
    "--server", type=SERVICE, metavar="SERVICE", show_default="none",
    help="With --grpc: the application also serves the exported Service of this name in "
    "--namespace, and its servers get their configuration by xDS.",
)  # fmt: skip
@click.option(
    "--zone", show_default="none",
    help="With --grpc: the zone of the application, as EndpointSlices name zones. It prefers "
    "endpoints in this zone, where a Service has trafficDistribution.",
)  # fmt: skip
@click.option(
    "--node", show_default="envoy, or grpc with --grpc",
    help="Name of this Envoy or application (`node.id`). It must be unique within a fleet of "
    "Envoys.",
)  # fmt: skip
@click.option(
    "--fleet", show_default="contour",
    help="Fleet whose configuration this Envoy requests (`node.cluster`). For the fleet of a "
    "Gateway: NAMESPACE/NAME of the Gateway.",
)  # fmt: skip
@click.option(
    "--admin-address", default="/admin/admin.sock", show_default=True,
    help="Unix socket of Envoy's administration interface.",
)  # fmt: skip
@click.option(
    "--envoy-cafile", show_default="no TLS",
    help="PEM file of the CA that signed the certificate of the xDS server.",
)  # fmt: skip
@click.option(
    "--envoy-cert-file", show_default="no TLS",
    help="PEM file of the client certificate that Envoy shows the xDS server.",
)  # fmt: skip
@click.option(
    "--envoy-key-file", show_default="no TLS",
    help="PEM file of the private key of --envoy-cert-file.",
)  # fmt: skip
@click.option(
    "--resources-dir", show_default="no TLS",
    help="Directory for the SDS files that name these certificates. It must exist at the same path "
    "where Envoy runs. Envoy then reloads renewed certificates without a restart.",
)  # fmt: skip
@click.option(
    "--stats-address", type=IP, default="0.0.0.0", show_default=True,
    help="IP address on which Envoy serves /ready and /stats/prometheus.",
)  # fmt: skip
@click.option(
    "--stats-port", type=click.IntRange(0, 65535), default=0, show_default=True,
    help="TCP port on which Envoy serves /ready and /stats/prometheus; 0 serves neither.",
)  # fmt: skip
@click.option(
    "--no-stats", is_flag=True,
    help="Serve /ready only on --stats-port. Use it if metrics are served on another port.",
)  # fmt: skip
@click.option(
    "--overload-max-heap", type=LONG, default=0, show_default=True,
    help="Heap size in bytes near which Envoy sheds requests; 0 sets no limit. Set it below the "
    "memory limit of the container.",
)  # fmt: skip
@click.option(
    "--overload-downstream-max-conn", type=LONG, default=0, show_default=True,
    help="Number of client connections above which Envoy refuses new ones; 0 means 50,000.",
)  # fmt: skip
@click.option(
    "--dns-lookup-family", type=click.Choice(["auto", "v4", "v6", "all"]), default="auto",
    show_default=True,
    help="IP families to use if --xds-address is a DNS name. `auto` prefers IPv6.",
)  # fmt: skip
@click.option(
    "--node-id", show_default="none", metavar="NAME",
    help="Request what an EnvoyConfig says for this node ID (its `spec.nodeID`), instead of "
    "--node and --fleet.",
)  # fmt: skip
@click.option(
    "--custom", type=click.Path(path_type=Path), metavar="FILE", show_default="none",
    help="Bootstrap that replaces the usual one, or changes it: a whole one in YAML or JSON, or an "
    "object with `type` (Replace, Merge or JSONPatch) and `value` or `jsonPatches`. `env:NAME` "
    "takes it from an environment variable. An Envoy that is installed here validates the result.",
)  # fmt: skip
@click.option("--xds-resource-version", type=click.Choice(["v3"]), hidden=True, expose_value=False)
@click.pass_context
def bootstrap(
    context: click.Context,
    path: str,
    xds_address: str,
    xds_port: int,
    xds_socket: str | None,
    grpc: bool,
    node_id: str | None,
    namespace: str | None,
    authorities: tuple[str, ...],
    server: str | None,
    zone: str | None,
    node: str | None,
    fleet: str | None,
    admin_address: str,
    envoy_cafile: str | None,
    envoy_cert_file: str | None,
    envoy_key_file: str | None,
    resources_dir: str | None,
    stats_address: str,
    stats_port: int,
    no_stats: bool,
    overload_max_heap: int,
    overload_downstream_max_conn: int,
    dns_lookup_family: str,
    custom: Path | None,
) -> None:
    """Writes the bootstrap configuration of an Envoy or gRPC application that you run yourself.

    PATH is the file to write; - is standard output, the default. TLS to the xDS server needs all
    of --envoy-cafile, --envoy-cert-file, --envoy-key-file and, for an Envoy, --resources-dir.
    """
    _refuse_without_effect(grpc=grpc, node_id=node_id, stats_port=stats_port)
    if grpc:
        dialled = _address(context, xds_address, xds_port, xds_socket)
        more = authorities, (envoy_cafile, envoy_cert_file, envoy_key_file), server, zone
        return _write_text(path, _grpc_text(node, namespace, dialled, *more))
    from contour import bootstrap as bootstraps

    settings = bootstraps.Settings(
        **_identity(node, fleet, node_id, namespace),
        control_plane=_control_plane(xds_address, xds_port, xds_socket),
        authorities=_peers(node_id, authorities, server, zone),
        credentials=_credentials(envoy_cafile, envoy_cert_file, envoy_key_file, resources_dir),
        dns_lookup_family=dns_lookup_family,
        admin=PurePath(admin_address),
        **_statistics(stats_address, stats_port, no_stats),
        **_limits(overload_max_heap, overload_downstream_max_conn),
    )
    return _write(path, settings, custom)


_OF_ENVOYS = frozenset(
    {
        *("fleet", "node_id", "admin_address", "resources_dir", "dns_lookup_family", "custom"),
        *("stats_address", "stats_port", "no_stats"),
        *("overload_max_heap", "overload_downstream_max_conn"),
    }
)
"""The parameters that say nothing of a gRPC application."""


def _refuse_without_effect(*, grpc: bool, node_id: str | None, stats_port: int) -> None:
    if grpc:
        options.refuse(_OF_ENVOYS, "is for an Envoy: it cannot be used with --grpc")
    if node_id is not None:
        options.refuse(("node", "fleet"), "cannot be used with --node-id, which replaces it")
    if not stats_port:
        options.refuse(("stats_address", "no_stats"), "needs --stats-port")


_OF_TLS = ("envoy_cafile", "envoy_cert_file", "envoy_key_file", "resources_dir")


def _refuse_without_tls(settings: "bootstraps.Settings") -> None:
    from contour import bootstrap as bootstraps

    dialled = (settings.control_plane, *(address for _, address in settings.authorities))
    if all(isinstance(it, bootstraps.Pipe) for it in dialled):
        options.refuse(_OF_TLS, "has no effect on a Unix socket, which is served without TLS")


def _grpc_text(
    node: str | None,
    namespace: str | None,
    address: str | None,
    authorities: tuple[str, ...],
    files: tuple[str | None, str | None, str | None],
    server: str | None,
    zone: str | None,
) -> str:
    from contour.cli import grpcbootstrap

    return grpcbootstrap.text(node, namespace, address, authorities, files, server, zone)


_NO_AUTHORITIES = (
    "--authority is for gRPC applications (--grpc) and Envoys of EnvoyConfigs (--node-id): an "
    "Envoy of a fleet gets everything from one control plane, which sends it no names with an "
    "authority"
)


def _peers(
    node_id: str | None, authorities: tuple[str, ...], server: str | None, zone: str | None
) -> "tuple[tuple[str, bootstraps.Pipe | bootstraps.SocketAddress], ...]":
    """The other control planes that an Envoy asks; refuses what is for gRPC applications alone."""
    if authorities and node_id is None:
        raise click.UsageError(_NO_AUTHORITIES)
    for name, given in (("--server", server), ("--zone", zone)):
        if given:
            raise click.UsageError(f"{name} is for gRPC applications (--grpc)")
    if not authorities:
        return ()
    from contour.cli import grpcbootstrap

    return grpcbootstrap.peers(authorities)


def _address(context: click.Context, host: str, port: int, socket: str | None) -> str | None:
    """The address that a gRPC application dials, if the option names one."""
    if socket:
        return f"unix:{socket}"
    if context.get_parameter_source("xds_address") != click.core.ParameterSource.COMMANDLINE:
        return None
    from contour import bootstrap as bootstraps

    return str(bootstraps.SocketAddress(host, port))


@contextmanager
def _writing() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"cannot write {error.filename}: {error.strerror}") from error


def _identity(
    node: str | None, fleet: str | None, node_id: str | None, namespace: str | None
) -> _Identity:
    from contour.xds.identities import NodeIdentity
    from dag.fleetnames import DEFAULT_FLEET

    if node_id is None:
        return {"node": node or "envoy", "fleet": fleet or DEFAULT_FLEET, "identity": ""}
    identity = str(NodeIdentity(namespace or "default", node_id))
    return {"node": node_id, "fleet": node_id, "identity": identity}


def _statistics(address: str, port: int, no_stats: bool) -> _Statistics:
    from contour import bootstrap as bootstraps

    monitoring = bootstraps.SocketAddress(address, port) if port else None
    return {"monitoring": monitoring, "hides_stats": no_stats}


def _limits(heap: int, connections: int) -> _Limits:
    from contour import bootstrap as bootstraps

    return {"heap_bytes": heap or None, "connections": connections or bootstraps.CONNECTIONS}


def _write_text(path: str, text: str) -> None:
    if path == "-":
        click.echo(text)
        return
    with _writing():
        Path(path).write_text(f"{text}\n")


def _write(path: str, settings: "bootstraps.Settings", custom: Path | None) -> None:
    from contour import bootstrap as bootstraps

    _refuse_without_tls(settings)
    if custom is None:
        _write_text(path, bootstraps.text(settings))
        _write_secrets(settings)
        return
    from contour.cli import custombootstrap
    from contour.host import errors
    from observability import failures

    with failures.fatal(errors.Error):
        text = custombootstrap.text(settings, custom)
        _write_secrets(settings)  # which Envoy reads when it validates
        with _writing():
            custombootstrap.validate(text, None if path == "-" else Path(path))
    _write_text(path, text)


def _write_secrets(settings: "bootstraps.Settings") -> None:
    from contour import bootstrap as bootstraps

    credentials = settings.credentials
    if credentials is None:
        return
    with _writing():
        Path(credentials.secrets).mkdir(parents=True, exist_ok=True)
        for name, document in bootstraps.secret_documents(credentials).items():
            Path(credentials.secrets, name).write_text(document)


def _control_plane(
    host: str, port: int, socket: str | None
) -> "bootstraps.Pipe | bootstraps.SocketAddress":
    from contour import bootstrap as bootstraps

    if socket:
        return bootstraps.Pipe(PurePath(socket))
    return bootstraps.SocketAddress(host, port)


def _credentials(
    authority: str | None, certificate: str | None, key: str | None, secrets: str | None
) -> "bootstraps.Credentials | None":
    from contour import bootstrap as bootstraps

    if not any((authority, certificate, key, secrets)):
        return None
    if not (authority and certificate and key and secrets):
        raise click.UsageError(
            "--envoy-cafile, --envoy-cert-file, --envoy-key-file and --resources-dir "
            "must be given together"
        )
    return bootstraps.Credentials(
        certificate=PurePath(certificate),
        key=PurePath(key),
        authority=PurePath(authority),
        server_name="contour",
        secrets=PurePath(secrets),
    )
