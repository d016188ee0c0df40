"""`contour doctor`: what would keep `contour run` or `contour serve` from working here."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from contour.cli import options, output
from contour.cli.names import NAMESPACE, OBJECT
from contour.doctor.check import Check

if TYPE_CHECKING:
    from contour.doctor.cluster import Cluster

_OF_MACHINES = ("bind", "port_map", "state_dir")
_OF_CLUSTERS = ("namespace", "watch_namespaces", "managed", "lease", "service_account")
_STYLES = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command()
@click.option(
    "--bind", default="127.0.0.1", show_default=True,
    help="IP address that Envoy would listen on: that of `contour run --bind`.",
)  # fmt: skip
@click.option(
    "--map-port", "port_map", multiple=True, metavar="EXTERNAL=LOCAL",
    show_default="80=8080 and 443=8443",
    help="Check port LOCAL of this machine for port EXTERNAL of the manifests, as "
    "`contour run --map-port` takes it. Can be given several times.",
)  # fmt: skip
@options.state_dir
@click.option(
    "--kubeconfig", type=click.Path(), default="", metavar="PATH",
    show_default="none; checks this machine",
    help="Check the cluster of this kubeconfig file for `contour serve` instead.",
)  # fmt: skip
@click.option(
    "--incluster", is_flag=True,
    help="Check the cluster in whose pod this command runs, with the pod's service account.",
)  # fmt: skip
@click.option(
    "--namespace", type=NAMESPACE.or_empty, metavar="NAMESPACE", envvar="CONTOUR_NAMESPACE",
    show_default="that of the service account or the kubeconfig",
    help="With --kubeconfig or --incluster: namespace of the instance.",
)  # fmt: skip
@click.option(
    "--watch-namespaces", default="", metavar="A,B", show_default="all", callback=options.names,
    help="With --kubeconfig or --incluster: comma-separated namespaces that the instance watches.",
)  # fmt: skip
@click.option(
    "--managed", is_flag=True,
    help="With --kubeconfig or --incluster: also check the rights to create and manage Envoys.",
)  # fmt: skip
@click.option(
    "--leader-election-resource-name", "lease", type=OBJECT, metavar="NAME",
    default="leader-elect", show_default=True,
    help="With --kubeconfig or --incluster: name of the Lease of the leader election.",
)  # fmt: skip
@click.option(
    "--service-account", type=OBJECT.or_empty, metavar="NAME", default="",
    show_default="those of the credentials",
    help="With --kubeconfig or --incluster: check the rights of this ServiceAccount in the "
    "namespace of the instance, such as contour. Needs the right to create SubjectAccessReviews.",
)  # fmt: skip
@click.option(
    "-o", "--output", "format_", type=click.Choice(["table", "json", "yaml"]), default="table",
    show_default=True, help="Output format: a table for people, JSON or YAML for programs.",
)  # fmt: skip
def doctor(
    bind: str,
    port_map: tuple[str, ...],
    state_dir: Path | None,
    kubeconfig: str,
    incluster: bool,
    namespace: str | None,
    watch_namespaces: str,
    managed: bool,
    lease: str,
    service_account: str,
    format_: Literal["table", "json", "yaml"],
) -> None:
    """Checks whether `contour run`, or `contour serve` in a cluster, can work here.

    Without --kubeconfig or --incluster it checks this machine for `contour run`: Envoy, the state
    directory, free space, ports and open files. With one of them it checks the cluster for
    `contour serve`: the API server, CRDs and rights. It changes nothing. Exit code 1: there are
    errors.
    """
    in_cluster = bool(kubeconfig) or incluster
    if in_cluster:
        options.refuse(_OF_MACHINES, "cannot be used with --kubeconfig or --incluster")
    else:
        options.refuse(_OF_CLUSTERS, "needs --kubeconfig or --incluster")
    if in_cluster:
        from contour.doctor import cluster

        watched = [it.strip() for it in watch_namespaces.split(",") if it.strip()]
        asked = cluster.Cluster(namespace or "", watched, managed, lease, service_account)
        found = _cluster("" if incluster else kubeconfig, asked)
    else:
        found = _machine(bind, port_map, state_dir)
    _show(found, format_)
    if any(it.state == "error" for it in found):
        sys.exit(1)


def _machine(bind: str, port_map: tuple[str, ...], state_dir: Path | None) -> list[Check]:
    from contour import host, rundir
    from contour.doctor import machine
    from contour.host import ports
    from observability import failures

    with failures.fatal(host.Error):
        asked = machine.Machine(
            ports.bindable(bind), ports.mapping(port_map), state_dir or rundir.default_path()
        )
        return list(machine.checks(asked))


def _cluster(kubeconfig: str, asked: "Cluster") -> list[Check]:
    """With the service account of this pod if no kubeconfig is named."""
    import asyncio
    import os

    from contour.doctor import cluster, machine
    from kube.kubeconfig import Kubeconfig
    from kube.pod import Pod

    access = Kubeconfig(kubeconfig) if kubeconfig else Pod(os.environ)
    return [machine.versions(), *asyncio.run(cluster.checks(access, asked))]


def _show(found: Sequence[Check], format_: Literal["table", "json", "yaml"]) -> None:
    if format_ == "table":
        rows = [
            ((it.state, _STYLES[it.state]), (it.name, ""), ("; ".join(filter(None, it[2:])), ""))
            for it in found
        ]
        output.table(("STATE", "CHECK", "FOUND"), rows)
    else:
        output.document([it._asdict() for it in found], format_)
