"""The bootstrap of a gRPC application that gets its configuration by xDS (gRFC A27, A47).

gRPC reads it as strict JSON from the file that `GRPC_XDS_BOOTSTRAP` names. Servers are listed in
the order in which they are tried. The top-level list is needed even where every authority has a
list of its own; it is asked for names without authority.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TypeAlias

from contour.xds import resources, xdstp
from provisioning import identities

Json: TypeAlias = "str | list[Json] | dict[str, Json]"

REFRESH = "60s"
"""How often gRPC checks whether its files have changed; without it, renewed files are not read."""


@dataclass(frozen=True, slots=True)
class Files:
    """PEM files for mutual TLS with control planes that are not on a Unix socket, and with other
    applications."""

    certificate: PurePath
    key: PurePath
    authority: PurePath


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcClient:
    """One application: its identity, and the control planes that it asks."""

    node: str
    """Shown by `contour config` (`node.id`)."""
    cluster: str
    """The fleet of gRPC clients, and the namespace of this one (`node.cluster`)."""
    servers: tuple[str, ...]
    """Addresses as gRPC dials them, asked for names without authority; at least one."""
    authorities: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The addresses of each authority. The first authority is asked for targets without one."""
    files: Files | None = None
    """Absent: no TLS, which is safe only on a Unix socket or a loopback address."""
    zone: str = ""
    """The zone that it reports (`node.locality.zone`); empty: none."""
    server: str = ""
    """The beginning of the resource names for which its servers ask, before their address; empty:
    it has no servers with xDS."""


def text(given: GrpcClient) -> str:
    """The bootstrap as the text of a JSON file."""
    return json.dumps(document(given), indent=2) + "\n"


def document(given: GrpcClient) -> dict[str, Json]:
    """The bootstrap as plain data."""
    found: dict[str, Json] = {
        "xds_servers": _servers(given, given.servers),
        "node": {"id": given.node, "cluster": given.cluster},
    }
    if given.zone:
        found["node"] = {
            "id": given.node,
            "cluster": given.cluster,
            "locality": {"zone": given.zone},
        }
    if given.authorities:
        first = next(iter(given.authorities))
        found["client_default_listener_resource_name_template"] = _template(first)
        found["authorities"] = {
            name: {
                "client_listener_resource_name_template": _template(name),
                "xds_servers": _servers(given, servers),
            }
            for name, servers in given.authorities.items()
        }
    if given.server:
        template = _template(next(iter(given.authorities), ""), f"{given.server}/")
        found["server_listener_resource_name_template"] = template
    if given.files is not None:
        watched: Json = {"plugin_name": "file_watcher", "config": _files(given.files)}
        found["certificate_providers"] = {identities.GRPC_PROVIDER: watched}
    return found


def _template(authority: str, before: str = "") -> str:
    named = xdstp.named(authority, resources.LISTENER, before) if authority else before
    return f"{named}%s"


def _servers(given: GrpcClient, addresses: tuple[str, ...]) -> list[Json]:
    return [
        {
            "server_uri": address,
            "channel_creds": [_credentials(address, given.files)],
            "server_features": ["xds_v3"],
        }
        for address in addresses
    ]


def _credentials(address: str, files: Files | None) -> Json:
    if files is None or address.startswith("unix:"):
        return {"type": "insecure"}
    return {"type": "tls", "config": _files(files)}


def _files(files: Files) -> Json:
    return {
        "ca_certificate_file": str(files.authority),
        "certificate_file": str(files.certificate),
        "private_key_file": str(files.key),
        "refresh_interval": REFRESH,
    }
