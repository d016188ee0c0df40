"""The command line of the operator."""

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
from observability import failures, logs, signals
from provisioning import names

LEASE = "contour-operator"


@click.group()
@click.version_option(package_name="contour-ingress", prog_name="contour-operator")
def main() -> None:
    """Provisions instances of Contour from ContourConfigurations with `spec.contour`."""


@main.command(context_settings={"show_default": True})
@click.option(
    "--incluster", is_flag=True,
    help="Authenticate to the API server with the service account of this pod.",
)  # fmt: skip
@click.option(
    "--kubeconfig", default="",
    show_default="$KUBECONFIG, the pod's service account, ~/.kube/config",
    help="Path of the kubeconfig file to use. Not used with --incluster.",
)  # fmt: skip
@click.option(
    "--namespace", envvar="CONTOUR_NAMESPACE",
    show_default="that of the service account or the kubeconfig",
    help="Namespace of the operator and of its Lease.",
)  # fmt: skip
@click.option(
    "--watch-namespaces", default="*", metavar="A,B-*", show_default="* (all)",
    help="Comma-separated patterns of the namespaces in which the operator provisions instances.",
)  # fmt: skip
@click.option(
    "--trusted-namespaces", metavar="A,B-*",
    show_default="all if the API server checks the authors' rights (Kubernetes 1.30), else none",
    help="Comma-separated patterns of the namespaces whose instances may reach beyond their own "
    "namespace. Set it for Kubernetes before 1.30.",
)  # fmt: skip
@click.option(
    "--contour-image", default="", envvar="CONTOUR_IMAGE",
    show_default=f"that of the operator's pod, else {names.IMAGE}",
    help="Container image of the control planes of instances.",
)  # fmt: skip
@click.option(
    "--envoy-image", default=names.ENVOY_IMAGE, envvar="ENVOY_IMAGE",
    help="Container image of the Envoys of instances.",
)  # fmt: skip
@click.option(
    "--health-address", default="0.0.0.0",
    help="IP address that serves /healthz, /readyz and /metrics.",
)  # fmt: skip
@click.option(
    "--health-port", type=click.IntRange(0, 65535), default=8000,
    help="TCP port that serves /healthz, /readyz and /metrics; 0 serves none of them.",
)  # fmt: skip
@click.option(
    "--leader-election-resource-name", default=LEASE,
    help="Name of the Lease by which the operator's replicas elect their leader.",
)  # fmt: skip
@click.option(
    "--leader-election-lease-duration", default=15.0, metavar="SECONDS",
    help="Time in seconds after which another replica takes over a Lease that was not renewed. "
    "Raise it if the API server is often slow.",
)  # fmt: skip
@click.option(
    "--leader-election-renew-deadline", default=10.0, metavar="SECONDS",
    help="Time in seconds after which a leader that cannot renew its Lease stops writing. Less "
    "than the lease duration.",
)  # fmt: skip
@click.option(
    "--leader-election-retry-period", default=2.0, metavar="SECONDS",
    help="Time in seconds between two attempts to renew or acquire the Lease. Less than the "
    "renew deadline.",
)  # fmt: skip
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text",
    help="Format of log lines: text for people, JSON for log collectors.",
)  # fmt: skip
@click.option(
    "--log-level", type=click.Choice(logs.LEVELS), default="info",
    help="Least severe level of messages that are logged.",
)  # fmt: skip
def run(log_format: logs.Format, log_level: str, **flags: Any) -> None:
    """Runs the operator: creates, repairs and removes instances of Contour.

    It creates one instance for each ContourConfiguration with `spec.contour`.
    """
    if find_spec("kopf") is None:
        missing = (
            "kopf is not installed: pip install 'kopf>=1.44,<2' (in a checkout: '.[operator]')"
        )
        click.echo(f"contour-operator: {missing}", err=True)
        sys.exit(2)
    logs.configure(log_format, log_level)
    kinds = (AccessError, errors.RequestError, OSError)
    with failures.fatal(*kinds, program="contour-operator"):
        signals.run(_run(flags))


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
    if timing.fault:
        raise click.UsageError(f"--leader-election-*: {timing.fault}")
    return timing
