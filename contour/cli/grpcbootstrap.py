"""`contour bootstrap --grpc`: what a gRPC application starts with; `--authority` of both kinds."""

from pathlib import PurePath

import click

from contour.bootstrap import Pipe, SocketAddress, grpcclients
from contour.cli.addresses import site
from crds.meta import NamespacedName
from dag import exports


def text(
    node: str | None,
    namespace: str | None,
    address: str | None,
    authorities: tuple[str, ...],
    files: tuple[str | None, str | None, str | None],
    server: str | None,
    zone: str | None,
) -> str:
    """The bootstrap of a gRPC application. Raises `click.UsageError`."""
    if not namespace:
        raise click.UsageError("--grpc needs --namespace, the namespace of the gRPC application")
    found = addresses(authorities)
    servers = (address,) if address else next(iter(found.values()), ())
    if not servers:
        raise click.UsageError("--grpc needs --xds-address, --xds-socket or --authority")
    given = grpcclients.GrpcClient(
        node=node or "grpc",
        cluster=f"{exports.FLEET}/{namespace}",
        servers=servers,
        authorities=found,
        files=_files(*files),
        zone=zone or "",
        server=exports.server_id(NamespacedName(namespace, server)) if server else "",
    )
    return grpcclients.text(given)


def addresses(authorities: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The addresses of each authority, in the order given. Raises `click.UsageError`."""
    found = dict(map(_authority, authorities))
    if len(found) < len(authorities):
        raise click.UsageError("an authority is given twice")
    return found


def peers(authorities: tuple[str, ...]) -> tuple[tuple[str, Pipe | SocketAddress], ...]:
    """The control plane of each authority, as an Envoy asks it. Raises `click.UsageError`."""
    return tuple(map(_peer, addresses(authorities).items()))


def _peer(found: tuple[str, tuple[str, ...]]) -> tuple[str, Pipe | SocketAddress]:
    name, given = found
    if len(given) != 1:
        raise click.UsageError(f"--authority {name}: with --node-id, give one address")
    (address,) = given
    if address.startswith("unix:"):
        return name, Pipe(PurePath(address.removeprefix("unix:")))
    tcp = site(address)
    if tcp is None:
        raise click.UsageError(f"--authority {name}={address}: write HOST:PORT or unix:PATH")
    return name, SocketAddress(tcp.host, tcp.port)


def _authority(text: str) -> tuple[str, tuple[str, ...]]:
    name, _, addresses = text.partition("=")
    found = tuple(filter(None, addresses.split(",")))
    if not name or not found or any(it in name for it in "/?#% "):
        raise click.UsageError(
            f"--authority {text}: write NAME=ADDRESS, such as xds.example=10.0.0.7:8001"
        )
    return name, found


def _files(
    authority: str | None, certificate: str | None, key: str | None
) -> grpcclients.Files | None:
    if not any((authority, certificate, key)):
        return None
    if not (authority and certificate and key):
        raise click.UsageError(
            "--envoy-cafile, --envoy-cert-file and --envoy-key-file must be given together"
        )
    return grpcclients.Files(PurePath(certificate), PurePath(key), PurePath(authority))
