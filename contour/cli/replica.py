"""Turns the options of `contour serve` into a replica with these settings."""

import ipaddress
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from contour import serve as serving
from contour.configfile.source import Source
from contour.infrastructure.desired import Release
from contour.infrastructure.ratelimitservice import Site
from contour.kubernetes.scope import Scope
from contour.leading import Counting
from contour.pages.settings import ListenAddress
from contour.xds import credentials
from contour.xds.limits import Limits
from crds.meta import NamespacedName
from kube import access, pod
from kube.credentials import Access
from kube.election import Place
from kube.lease import Timing
from provisioning.keeping.ownership import Owner

log = logging.getLogger(__name__)

USUAL_FILE = Path("/etc/envoy-gateway/config.yaml")
"""The path of Envoy Gateway's configuration file."""


async def serve(flags: Mapping[str, Any]) -> None:
    """Runs a replica with these options until it is told to stop."""
    found = pod.Pod(os.environ) if flags["incluster"] else access.found(flags["kubeconfig"])
    namespace = flags["namespace"] or (await found.credentials()).namespace
    await serving.serve(_options(flags, found, namespace))


def _options(flags: Mapping[str, Any], found: Access, namespace: str) -> serving.Options:
    address, port = flags["xds_address"], flags["xds_port"]
    watched = tuple(it.strip() for it in flags["watch_namespaces"].split(",") if it.strip())
    service = NamespacedName(
        flags["envoy_service_namespace"] or namespace, flags["envoy_service_name"]
    )
    configuration = NamespacedName(namespace, flags["contour_config_name"] or "contour")
    tls = _files(flags)
    return serving.Options(
        access=found,
        configuration=configuration,
        address=_joined(address, port),
        advertised=_joined(flags["advertise_address"] or address, port),
        tls=tls,
        fleet_service=service,
        counting=_counting(flags),
        limits=Limits(
            flags["xds_handshake_timeout"],
            flags["xds_streams_per_connection"],
            flags["xds_streams_per_address"],
            flags["xds_connection_age"],
        ),
        state=flags["state_dir"],
        source=_source(flags["config_path"], flags["contour_config_name"], configuration),
        release=Release(
            Owner(*configuration),
            suffix=flags["name_suffix"],
            image=flags["contour_image"],
            envoy_image=flags["envoy_image"],
            service=service.name,
            bundle=tls.authority if tls is not None else None,
        ),
        scope=Scope(watched, namespace),
        election=None if flags["disable_leader_election"] else _election(flags, namespace),
        sites={
            "health": ListenAddress(flags["health_address"], flags["health_port"]),
            "metrics": ListenAddress(flags["http_address"], flags["http_port"]),
            "debug": ListenAddress(flags["debug_http_address"], flags["debug_http_port"]),
        },
    )


def _counting(flags: Mapping[str, Any]) -> Counting:
    address, port = flags["xds_address"], flags["rate_limit_port"]
    reached = flags["advertise_address"] or address
    return Counting(
        _joined(reached, flags["xds_port"]), _joined(address, port), Site(reached, port)
    )


def _source(path: Path | None, named: str | None, configuration: NamespacedName) -> Source | None:
    """The file that an option names, or Envoy Gateway's if no option names a configuration. Raises
    UnusableFileError."""
    if path is not None and named:
        raise click.UsageError("--config-path and --contour-config-name exclude each other")
    if path is None and not named and USUAL_FILE.is_file():
        path = USUAL_FILE
    if path is None:
        return None
    log.info("the configuration is that of %s; no ContourConfiguration is read", path)
    return Source(path, configuration, "serve")


def _files(flags: Mapping[str, Any]) -> credentials.Files | None:
    names = ("contour_cert_file", "contour_key_file", "contour_cafile")
    files = [flags[it] for it in names]
    if flags["insecure"]:
        if any(files) or not _is_loopback(flags["xds_address"]):
            raise click.UsageError("--insecure needs a loopback --xds-address and no certificates")
        return None
    if not all(files):
        raise click.UsageError(
            "--contour-cafile, --contour-cert-file and --contour-key-file are required"
        )
    return credentials.Files(*files)


def _election(flags: Mapping[str, Any], namespace: str) -> serving.Election:
    times = ("lease_duration", "renew_deadline", "retry_period")
    timing = Timing(*(flags[f"leader_election_{it}"] for it in times))
    if timing.fault:
        raise click.UsageError(f"--leader-election-*: {timing.fault}")
    place = flags["leader_election_resource_namespace"] or namespace
    lease = Place(place, flags["leader_election_resource_name"])
    return serving.Election(lease, timing)


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
