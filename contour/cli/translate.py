"""`contour translate`: manifests in; xDS, statuses or the graph out. Offline.

It prints what a running instance would send: the controller is the same, with plain collections in
place of Envoys. Scripts rely on this interface, so it is only ever extended.
"""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from contour.cli import importing, options, output, source

if TYPE_CHECKING:
    from contour.cli.manifestinput import Present

_ONLY_WITH = {
    "types": ("xds",),
    "raw": ("xds",),
    "host": ("xds", "routes"),
    "fleet": ("xds", "routes"),
}
"""The values of `--to` that a parameter concerns."""


@click.command()
@options.manifests("required without PATH and --from-cluster")
@click.option(
    "--to", type=click.Choice(["xds", "routes", "status", "objects", "dag", "fleets"]),
    default="xds", show_default=True,
    help="What to print: Envoy's resources, its routes one by one, the statuses of the objects, "
    "the objects of files with these statuses, the internal graph, or the names of the fleets.",
)  # fmt: skip
@click.option(
    "-t", "--type", "types", multiple=True, show_default="all",
    type=click.Choice(["listener", "route", "cluster", "endpoint", "secret"]),
    help="With `--to xds`: print only resources of this type. Can be given several times.",
)  # fmt: skip
@click.option(
    "--host", show_default="all",
    help="With `--to xds` and `--to routes`: print only the virtual hosts that can serve requests "
    "for this host name, and no other resources.",
)  # fmt: skip
@click.option(
    "--raw", is_flag=True,
    help="With `--to xds`: print the resources exactly as Envoy gets them, with the shards of "
    "RouteConfigurations that have no hosts.",
)  # fmt: skip
@click.option(
    "-o", "--output", "format_", type=click.Choice(["json", "yaml", "table"]),
    show_default="yaml; with `--to routes`: table",
    help="Output format. JSON has every RouteConfiguration under the name that Envoy knows; YAML "
    "joins the shards of a listener. A table is for `--to routes`.",
)  # fmt: skip
@click.option(
    "--fleet", show_default="contour",
    help="With `--to xds` and `--to routes`: fleet whose resources are printed. `--to fleets` "
    "lists the names.",
)  # fmt: skip
@click.option(
    "--extension", "extensions", multiple=True, metavar="[NAME=]ADDRESS",
    show_default="extensions are not asked",
    help="Ask the extension NAME (`spec.extensions` of the ContourConfiguration; all of them "
    "without NAME) at this address, HOST:PORT or unix:/absolute/path, without TLS. Can be given "
    "several times.",
)  # fmt: skip
@options.controller_name
@click.option(
    "--from-cluster", is_flag=True, default=False,
    help="Read the objects of a cluster with your own rights, and apply the manifests to them, if "
    "there are any. So do --cluster, --kubeconfig, --context, --namespace and --instance.",
)  # fmt: skip
@source.in_clusters
@click.option(
    "--add-missing-resources", "completes", is_flag=True,
    help="Add the GatewayClasses, Gateways and Services that the manifests refer to and do not "
    "have, so that a single route can be translated. Standard error names them.",
)  # fmt: skip
@click.option(
    "--strict", is_flag=True, help="Exit with code 1 if any object has an error."
)  # fmt: skip
@click.option("--lenient", is_flag=True, help=options.LENIENT)
def translate(
    paths: tuple[str, ...],
    more: tuple[str, ...],
    strict: bool,
    lenient: bool,
    from_cluster: bool = False,
    **how: Any,
) -> None:
    """Prints the Envoy configuration or the statuses that manifests lead to.

    Each PATH is a file, a folder (recursive), or - for standard input. Works offline: nothing is
    served. Errors and warnings about documents go to standard error, each with its file, line and
    field. With --from-cluster, what may not be read is named there as well, and left out; private
    keys are never printed. Exit code 2 means that some input could not be read.
    """
    from_cluster = from_cluster or source.chosen().is_cluster
    if not paths + more and not from_cluster:
        raise click.UsageError("name the manifests: a file, a folder, or - for standard input")
    _refuse_without_effect(how)
    with importing():
        from contour.cli import extensions, manifestinput, translation

    asked = extensions.addresses(how["extensions"])
    present = _present() if from_cluster else None
    found = manifestinput.read(
        paths + more,
        how["controller_name"],
        lenient=lenient,
        translates=True,
        asked=asked,
        present=present,
        completes=how["completes"],
    )
    for line in found.complaints:
        output.say(line, err=True)
    if present is not None:
        manifestinput.require_configuration(present, found)
    wanted = translation.Wanted(
        how["to"], how["format_"], how["fleet"], how["types"], how["host"], how["raw"]
    )
    translation.show(found, wanted)
    if found.is_unreadable:
        sys.exit(2)
    if strict and any(it.state == "error" for it in manifestinput.listed(found)):
        sys.exit(1)


def _refuse_without_effect(how: Mapping[str, object]) -> None:
    """Raises UsageError for an option that does not concern what is printed."""
    if how["format_"] == "table" and how["to"] != "routes":
        raise click.UsageError("-o table is for `--to routes`")
    for name, concerned in _ONLY_WITH.items():
        if how["to"] not in concerned:
            options.refuse((name,), "is for " + " and ".join(f"`--to {it}`" for it in concerned))
    if how["host"] is not None and how["types"] not in ((), ("route",)):
        raise click.UsageError("--host prints virtual hosts alone: of -t, it goes with `route`")


def _present() -> "Present":
    from contour.cli import clusterinput

    return clusterinput.present(source.chosen())
