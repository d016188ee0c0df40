"""The command line of the operator."""

import asyncio
import os
import sys
from importlib.util import find_spec
from typing import Any

import click

from contour_operator import pages
from contour_operator.desired import Release
from kube import access, errors, pod
from kube.credentials import AccessError
from kube.election import Place
from kube.lease import Timing
from provisioning import installation
from showing import logs

LEASE = "contour-operator"


@click.group()
@click.version_option(package_name="contour-ingress", prog_name="contour-operator")
def main() -> None:
    """Provisions instances of Contour from ContourConfigurations with `spec.contour`."""


@main.command(context_settings={"show_default": True})
@click.option("--incluster", is_flag=True, help="Use the service account of this pod.")
@click.option("--kubeconfig", default="", help="Use this kubeconfig.")
@click.option("--namespace", envvar="CONTOUR_NAMESPACE", help="Our own; default: the access's.")
@click.option("--watch-namespaces", default="*", help="Where to make instances: a,team-*")
@click.option(
    "--trusted-namespaces",
    help="Where authors of instances may let these reach beyond their namespace: a,team-*; "
    "default: all if the API server asks what the authors may (Kubernetes 1.30), else none.",
)
@click.option(
    "--contour-image",
    default="",
    show_default=f"that of our own pod, else {installation.IMAGE}",
    envvar="CONTOUR_IMAGE",
)
@click.option("--envoy-image", default=installation.ENVOY_IMAGE, envvar="ENVOY_IMAGE")
@click.option("--health-address", default="0.0.0.0")
@click.option("--health-port", type=click.IntRange(0, 65535), default=8000, help="0: none.")
@click.option("--leader-election-resource-name", default=LEASE)
@click.option("--leader-election-lease-duration", default=15.0, help="Seconds.")
@click.option("--leader-election-renew-deadline", default=10.0, help="Seconds.")
@click.option("--leader-election-retry-period", default=2.0, help="Seconds.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text")
@click.option("--log-level", type=click.Choice(logs.LEVELS), default="info")
def run(log_format: logs.Format, log_level: str, **flags: Any) -> None:
    """Makes instances, keeps them as they should be, and removes them."""
    if find_spec("kopf") is None:
        missing = "kopf is not installed: pip install 'contour-ingress[operator]'"
        click.echo(f"contour-operator: {missing}", err=True)
        sys.exit(2)
    logs.configure(log_format, log_level)
    told: list[str] = []
    try:
        _run_to_the_end(flags)
    except* (AccessError, errors.RequestError, OSError) as failures:
        told = [f"contour-operator: {it}" for it in failures.exceptions]
    for line in told:
        click.echo(line, err=True)
    if told:
        sys.exit(2)  # not within `except*`: before Python 3.11.4 it would end up in a group


def _run_to_the_end(flags: dict[str, Any]) -> None:
    try:
        asyncio.run(_run(flags))
    except (asyncio.CancelledError, KeyboardInterrupt):
        sys.exit(130)  # a second signal: 128 and the number of SIGINT


async def _run(flags: dict[str, Any]) -> None:
    from contour_operator import run as page  # noqa: PLC0415 - it needs kopf, which is an extra

    found = pod.Pod(os.environ) if flags["incluster"] else access.found(flags["kubeconfig"])
    namespace = flags["namespace"] or (await found.credentials()).namespace
    site = pages.Site(flags["health_address"], flags["health_port"])
    await page.run(
        page.Options(
            access=found,
            lease=Place(namespace, flags["leader_election_resource_name"]),
            release=Release(flags["contour_image"], flags["envoy_image"]),
            timing=_timing(flags),
            page=site if site.port else None,
            pod=os.environ.get("POD_NAME", ""),
            namespaces=_patterns(flags["watch_namespaces"]),
            trusted=None if (it := flags["trusted_namespaces"]) is None else _patterns(it),
        )
    )


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (it.strip() for it in text.split(","))))


def _timing(flags: dict[str, Any]) -> Timing:
    timing = Timing(
        flags["leader_election_lease_duration"],
        flags["leader_election_renew_deadline"],
        flags["leader_election_retry_period"],
    )
    if not timing.duration > timing.renew_deadline > timing.retry_period > 0:
        raise click.UsageError(
            "--leader-election-*: lease duration > renew deadline > retry period"
        )
    return timing
