"""`contour bootstrap --grpc`: what a gRPC application starts with; `--authority` of both kinds."""

from pathlib import PurePath

import click

from contour.bootstrap import Pipe, SocketAddress, grpcclients
from contour.cli.addresses import site
from crds.meta import NamespacedName
from dag import exports
from dag.values import hostnames


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
    found = {name: tuple(map(_dialled, given)) for name, given in _addresses(authorities).items()}
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


Address = Pipe | SocketAddress


def peers(authorities: tuple[str, ...]) -> tuple[tuple[str, Address], ...]:
    """The control plane of each authority, as an Envoy asks it. Raises `click.UsageError`."""
    return tuple(map(_peer, _addresses(authorities).items()))


def _peer(found: tuple[str, tuple[Address, ...]]) -> tuple[str, Address]:
    name, given = found
    if len(given) != 1:
        raise click.UsageError(f"--authority {name}: with --node-id, give one address")
    return name, given[0]


def _addresses(authorities: tuple[str, ...]) -> dict[str, tuple[Address, ...]]:
    """The addresses of each authority, in the order given. Raises `click.UsageError`."""
    found = dict(map(_authority, authorities))
    if len(found) < len(authorities):
        raise click.UsageError("an authority is given twice")
    return found


def _authority(text: str) -> tuple[str, tuple[Address, ...]]:
    name, _, addresses = text.partition("=")
    found = tuple(filter(None, addresses.split(",")))
    if not name or not found or any(it in name for it in "/?#% "):
        raise click.UsageError(
            f"--authority {text}: write NAME=ADDRESS, such as xds.example=10.0.0.7:8001"
        )
    return name, tuple(_address(name, it) for it in found)


def _address(name: str, text: str) -> Address:
    path = text.removeprefix("unix:")
    if path not in ("", text):
        return Pipe(PurePath(path))
    tcp = site(text)
    if tcp is None or hostnames.target_refusal(tcp.host):
        raise click.UsageError(f"--authority {name}={text}: write HOST:PORT or unix:PATH")
    return SocketAddress(tcp.host, tcp.port)


def _dialled(address: Address) -> str:
    """An address as gRPC dials it."""
    return f"unix:{address.path}" if isinstance(address, Pipe) else str(address)


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
