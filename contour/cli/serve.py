"""`contour serve`: an instance in a Kubernetes cluster. Flags are Contour's where it has them."""

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from contour import process
from contour import serve as serving
from contour.cli import failures
from contour.infrastructure.desired import Release
from contour.kubernetes.scope import Scope
from contour.pages.settings import Site
from contour.xds import credentials
from contour.xds.limits import Limits
from crds.meta import NamespacedName
from dag.values import durations
from kube import access, errors, pod
from kube.credentials import Access, AccessError
from kube.election import Place
from kube.lease import Timing
from provisioning import installation
from provisioning.ownership import Owner
from showing import logs


class Seconds(click.ParamType[float]):
    """A duration as Go writes it, in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Reads `15s`, `1m30s`."""
        try:
            return durations.seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


_PORT = click.IntRange(1, 65535)
_COUNT = click.IntRange(0)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(context_settings={"show_default": True})
@click.option("--incluster", is_flag=True, help="Use the service account of this pod.")
@click.option("--kubeconfig", default="", help="Use this kubeconfig.")
@click.option("--namespace", envvar="CONTOUR_NAMESPACE", help="Our own; default: the access's.")
@click.option("--contour-config-name", default="contour", help="Follow this ContourConfiguration.")
@click.option("--watch-namespaces", default="", metavar="A,B", help="Look nowhere else.")
@click.option("--xds-address", default="127.0.0.1")
@click.option("--xds-port", type=_PORT, default=8001)
@click.option("--xds-handshake-timeout", type=Seconds(), default="10s", help="0s: two minutes.")
@click.option("--xds-streams-per-connection", type=_COUNT, default=1024, help="0: no limit.")
@click.option("--xds-streams-per-address", type=_COUNT, default=2048, help="0: no limit.")
@click.option("--xds-connection-age", type=Seconds(), default="2h", help="0s: no limit.")
@click.option("--advertise-address", envvar="POD_IP", help="Where the other replicas find us.")
@click.option("--contour-cafile", type=_FILE, help="The authority of Envoys' certificates.")
@click.option("--contour-cert-file", type=_FILE, help="Our certificate.")
@click.option("--contour-key-file", type=_FILE, help="Our private key.")
@click.option("--insecure", is_flag=True, help="Serve xDS without TLS, on a loopback address.")
@click.option("--envoy-service-name", default="envoy")
@click.option("--contour-image", default=installation.IMAGE, help="Ours, for what is beside Envoy.")
@click.option("--envoy-image", default=installation.ENVOY_IMAGE, help="Of Envoys that we make.")
@click.option("--name-suffix", default="", help="What the names of this instance's objects end in.")
@click.option("--envoy-service-namespace", help="Default: our own.")
@click.option("--health-address", default="0.0.0.0")
@click.option("--health-port", type=_PORT, default=8000)
@click.option("--http-address", default="0.0.0.0", help="Of the metrics.")
@click.option("--http-port", type=_PORT, default=8000, help="Of the metrics.")
@click.option("--debug-http-address", default="127.0.0.1")
@click.option("--debug-http-port", type=_PORT, default=6060)
@click.option("--disable-leader-election", is_flag=True, help="There is one replica.")
@click.option("--leader-election-resource-name", default="leader-elect")
@click.option("--leader-election-resource-namespace", help="Default: our own.")
@click.option("--leader-election-lease-duration", type=Seconds(), default="15s")
@click.option("--leader-election-renew-deadline", type=Seconds(), default="10s")
@click.option("--leader-election-retry-period", type=Seconds(), default="2s")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text")
@click.option("--log-level", type=click.Choice(logs.LEVELS), default="info")
def serve(log_format: logs.Format, log_level: str, **flags: Any) -> None:
    """Serves the objects of a cluster to its Envoys, and writes their statuses."""
    logs.configure(log_format, log_level)
    with failures.told(AccessError, errors.RequestError, OSError):
        process.run(_serve(flags))


async def _serve(flags: Mapping[str, Any]) -> None:
    found = pod.Pod(os.environ) if flags["incluster"] else access.found(flags["kubeconfig"])
    namespace = flags["namespace"] or (await found.credentials()).namespace
    await serving.serve(_options(flags, found, namespace))


def _options(flags: Mapping[str, Any], found: Access, namespace: str) -> serving.Options:
    address, port = flags["xds_address"], flags["xds_port"]
    watched = tuple(it.strip() for it in flags["watch_namespaces"].split(",") if it.strip())
    service = NamespacedName(
        flags["envoy_service_namespace"] or namespace, flags["envoy_service_name"]
    )
    configuration = NamespacedName(namespace, flags["contour_config_name"])
    return serving.Options(
        access=found,
        configuration=configuration,
        address=_joined(address, port),
        advertised=_joined(flags["advertise_address"] or address, port),
        tls=_files(flags),
        fleet_service=service,
        limits=Limits(
            flags["xds_handshake_timeout"],
            flags["xds_streams_per_connection"],
            flags["xds_streams_per_address"],
            flags["xds_connection_age"],
        ),
        release=Release(
            Owner(*configuration),
            suffix=flags["name_suffix"],
            image=flags["contour_image"],
            envoy_image=flags["envoy_image"],
            service=service.name,
        ),
        scope=Scope(watched, namespace),
        election=None if flags["disable_leader_election"] else _election(flags, namespace),
        sites={
            "health": Site(flags["health_address"], flags["health_port"]),
            "metrics": Site(flags["http_address"], flags["http_port"]),
            "debug": Site(flags["debug_http_address"], flags["debug_http_port"]),
        },
    )


def _files(flags: Mapping[str, Any]) -> credentials.Files | None:
    names = ("contour_cert_file", "contour_key_file", "contour_cafile")
    files = [flags[it] for it in names]
    if flags["insecure"]:
        if any(files) or not _is_loopback(flags["xds_address"]):
            raise click.UsageError("--insecure is for a loopback address, without certificates")
        return None
    if not all(files):
        raise click.UsageError(
            "--contour-cafile, --contour-cert-file and --contour-key-file are needed"
        )
    return credentials.Files(*files)


def _election(flags: Mapping[str, Any], namespace: str) -> serving.Election:
    duration, deadline, period = (
        flags[f"leader_election_{it}"]
        for it in ("lease_duration", "renew_deadline", "retry_period")
    )
    if not duration > deadline > period > 0:
        raise click.UsageError(
            "--leader-election-*: lease duration > renew deadline > retry period"
        )
    place = flags["leader_election_resource_namespace"] or namespace
    lease = Place(place, flags["leader_election_resource_name"])
    return serving.Election(lease, Timing(duration, deadline, period))


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
