"""`contour bootstrap`: the configuration that an Envoy starts with, for a fleet we do not run."""

from pathlib import Path, PurePath

import click

from contour import bootstrap as bootstraps
from dag.listeners import DEFAULT_FLEET


@click.command()
@click.argument("path", default="-")
@click.option("--xds-address", default="127.0.0.1", show_default=True)
@click.option("--xds-port", type=click.IntRange(1, 65535), default=8001, show_default=True)
@click.option("--xds-socket", help="A Unix socket instead of an address and a port.")
@click.option("--node", default="envoy", show_default=True, help="Unique within the fleet.")
@click.option("--fleet", default=DEFAULT_FLEET, show_default=True)
@click.option("--admin-address", default="/admin/admin.sock", show_default=True)
@click.option("--envoy-cafile", help="The authority of the control plane's certificate.")
@click.option("--envoy-cert-file", help="Envoy's certificate.")
@click.option("--envoy-key-file", help="Envoy's private key.")
@click.option("--resources-dir", help="Where the files of the certificates' SDS are kept.")
@click.option("--stats-address", default="0.0.0.0", show_default=True)
@click.option(
    "--stats-port", type=click.IntRange(0, 65535), default=0,
    help="Where /ready and /stats/prometheus are served; 0: nowhere.",
)  # fmt: skip
@click.option("--no-stats", is_flag=True, help="Only /ready is.")
@click.option("--overload-max-heap", type=click.IntRange(0), default=0, help="Bytes; 0: no limit.")
@click.option(
    "--overload-downstream-max-conn", type=click.IntRange(0), default=0,
    help="Connections of clients above which new ones are refused; 0: 50,000.",
)  # fmt: skip
@click.option(
    "--dns-lookup-family", type=click.Choice(["auto", "v4", "v6", "all"]), default="auto",
    show_default=True, help="Addresses of the control plane that are asked for.",
)  # fmt: skip
@click.option("--namespace", hidden=True, expose_value=False)
@click.option("--xds-resource-version", type=click.Choice(["v3"]), hidden=True, expose_value=False)
def bootstrap(
    path: str,
    xds_address: str,
    xds_port: int,
    xds_socket: str | None,
    node: str,
    fleet: str,
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
) -> None:
    """Writes Envoy's bootstrap to PATH, or to standard output."""
    files = (envoy_cafile, envoy_cert_file, envoy_key_file, resources_dir)
    if any(files) and not all(files):
        raise click.UsageError(
            "--envoy-cafile, --envoy-cert-file, --envoy-key-file and --resources-dir go together"
        )
    settings = bootstraps.Settings(
        node=node,
        fleet=fleet,
        control_plane=(
            bootstraps.Pipe(PurePath(xds_socket))
            if xds_socket
            else bootstraps.SocketAddress(xds_address, xds_port)
        ),
        credentials=_credentials(*files),
        dns_lookup_family=dns_lookup_family,
        admin=PurePath(admin_address),
        monitoring=bootstraps.SocketAddress(stats_address, stats_port) if stats_port else None,
        hides_stats=no_stats,
        heap_bytes=overload_max_heap or None,
        connections=overload_downstream_max_conn or bootstraps.CONNECTIONS,
    )
    try:
        _write(path, settings)
    except OSError as error:
        raise click.UsageError(f"cannot write {error.filename}: {error.strerror}") from error


def _write(path: str, settings: bootstraps.Settings) -> None:
    text = bootstraps.text(settings)
    if path == "-":
        click.echo(text)
    else:
        Path(path).write_text(f"{text}\n")
    if settings.credentials is not None:
        Path(settings.credentials.secrets).mkdir(parents=True, exist_ok=True)
        for name, document in bootstraps.secret_documents(settings.credentials).items():
            Path(settings.credentials.secrets, name).write_text(document)


def _credentials(
    authority: str | None, certificate: str | None, key: str | None, secrets: str | None
) -> bootstraps.Credentials | None:
    if not (authority and certificate and key and secrets):
        return None
    return bootstraps.Credentials(
        certificate=PurePath(certificate),
        key=PurePath(key),
        authority=PurePath(authority),
        server_name="contour",
        secrets=PurePath(secrets),
    )
