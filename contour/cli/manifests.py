"""`contour manifests`: the manifests in the wheel that install an instance with `kubectl apply`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from contour.cli import options
from contour.cli.names import NAMESPACE
from crds.records import replace
from provisioning import names

if TYPE_CHECKING:
    from provisioning import installation


@click.command()
@click.option(
    "--namespace", type=NAMESPACE.or_empty, metavar="NAMESPACE",
    show_default=f"{names.NAMESPACE}; with --operator: {names.OPERATORS_NAMESPACE}",
    help="Namespace of all objects that are not cluster-scoped.",
)  # fmt: skip
@click.option(
    "--suffix", default="", show_default="none",
    help="Suffix of the names of all objects. Use it to run several instances in one namespace. "
    "At most 30 characters.",
)  # fmt: skip
@click.option(
    "--image", default=names.IMAGE, show_default=True,
    help="Container image of this program, from a registry that the cluster can pull from.",
)  # fmt: skip
@click.option(
    "--envoy-image", default=names.ENVOY_IMAGE, show_default=True,
    help="Container image of Envoy.",
)  # fmt: skip
@click.option(
    "--watch-namespaces", default="", metavar="A,B", show_default="all", callback=options.names,
    help="Comma-separated namespaces to watch. The instance then gets Roles there and no "
    "ClusterRole, and cannot serve Gateways. Not with --gateway-fleets or --outer-class.",
)  # fmt: skip
@click.option(
    "--host-ports", is_flag=True,
    help="Bind Envoy to ports 80 and 443 of its nodes. Use it where there is no load balancer. "
    "Not with --managed.",
)  # fmt: skip
@click.option(
    "--managed", is_flag=True,
    help="Let the control plane create and manage its Envoys: print its rights to do so instead "
    "of a DaemonSet and a Service.",
)  # fmt: skip
@click.option(
    "--gateway-fleets", is_flag=True,
    help="Also grant the rights to create Envoys for each Gateway (`gateway.mode: PerGateway`).",
)  # fmt: skip
@click.option(
    "--config-path", "-c", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    show_default="none",
    help="File of kind EnvoyGateway that the control plane gets as its configuration, in a "
    "ConfigMap, instead of a ContourConfiguration. Implies --managed and --gateway-fleets.",
)  # fmt: skip
@click.option(
    "--without-configuration", is_flag=True,
    help="Leave out the ContourConfiguration: you apply your own. Otherwise applying the manifests "
    "again removes what you have applied to it. With --managed, yours needs "
    "`envoy.networkPublishing`. Not with --config-path.",
)  # fmt: skip
@click.option(
    "--outer-class", is_flag=True,
    help="With --managed: also grant the right to create GatewayClasses, for a Gateway in front "
    "of Envoy (`envoy.networkPublishing.gateway.controllerName`).",
)  # fmt: skip
@click.option(
    "--operator", "operator_only", is_flag=True,
    help="Print the manifests of the operator instead of those of an instance.",
)  # fmt: skip
@click.option(
    "--trusted-namespaces", metavar="A,B-*",
    show_default="the API server checks the authors' rights",
    help="With --operator, for Kubernetes before 1.30: comma-separated patterns of the namespaces "
    "whose instances may reach beyond their own namespace.",
)  # fmt: skip
@click.option(
    "--crds", "crds_only", is_flag=True,
    help="Print the CustomResourceDefinitions instead of an installation.",
)  # fmt: skip
def manifests(crds_only: bool, operator_only: bool, **flags: Any) -> None:
    """Prints the manifests of an installation, for `kubectl apply -f -`.

    Apply the output of --crds first. With --operator, --image and --envoy-image are the images of
    the operator and of the Envoys of its instances.
    """
    if crds_only:
        params = {it.name or "" for it in click.get_current_context().command.params}
        options.refuse(params - {"crds_only"}, "cannot be used with --crds")
    _check(flags)
    from provisioning import manifests as documents
    from provisioning import templating

    if crds_only:
        found = documents.crds()
    elif operator_only:
        found = documents.operator(_operator(flags))
    else:
        found = documents.everything(_installation(flags))
    click.echo(templating.text(found), nl=False)


def _check(flags: Mapping[str, str]) -> None:
    """Refuses options with which the API server would refuse the output, or which would have no
    effect."""
    _check_suffix(flags["suffix"])
    for option in ("image", "envoy_image"):
        if not _IMAGE.fullmatch(flags[option]):
            raise click.UsageError(
                f"--{option.replace('_', '-')}: {flags[option]!r} is no name of an image"
            )
    if flags["outer_class"] and not flags["managed"]:
        raise click.UsageError("--outer-class needs --managed")
    for option, other in _NOT_TOGETHER:
        if flags[option] and flags[other]:
            names = (f"--{it.replace('_', '-')}" for it in (option, other))
            raise click.UsageError(" cannot be used with ".join(names))


def _check_suffix(suffix: str) -> None:
    if suffix and not _SUFFIX.fullmatch(suffix):
        raise click.UsageError(
            "--suffix: write lower-case letters, digits and -, such as -test, at most 30 characters"
        )
    if suffix.startswith(_TAKEN):
        raise click.UsageError(
            f"--suffix: {suffix} must not begin with {' or '.join(_TAKEN)}, since other programs in"
            " the namespace may have these names"
        )


_NOT_TOGETHER = (
    *((it, "config_path") for it in ("suffix", "watch_namespaces", "host_ports", "outer_class")),
    ("without_configuration", "config_path"),
    ("host_ports", "managed"),
    ("gateway_fleets", "watch_namespaces"),
    ("outer_class", "watch_namespaces"),
)

_SUFFIX = re.compile(r"[-a-z0-9]{0,29}[a-z0-9]")
"""The name of a CronJob has at most 52 characters, that of a Job 63 with version and image."""
_TAKEN = ("-certgen", "-operator")
"""With these the ServiceAccount of a control plane would be that of the program that writes the
Secrets of another instance in the namespace, or that of the operator."""
_IMAGE = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9._/:@]*")


def _operator(flags: Mapping[str, Any]) -> "installation.Operator":
    from provisioning import installation

    for name in _OF_AN_INSTANCE:
        if flags[name]:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} cannot be used with --operator")
    trusted = flags["trusted_namespaces"]
    place = installation.Place(
        namespace=flags["namespace"] or names.OPERATORS_NAMESPACE, image=flags["image"]
    )
    return installation.Operator(
        place=place,
        envoy_image=flags["envoy_image"],
        trusted=None if trusted is None else _names(trusted),
    )


_OF_AN_INSTANCE = (
    *("suffix", "watch_namespaces", "host_ports", "managed", "gateway_fleets", "outer_class"),
    "config_path",
    "without_configuration",
)


def _installation(flags: Mapping[str, Any]) -> "installation.Installation":
    from provisioning import installation

    if flags["trusted_namespaces"] is not None:
        raise click.UsageError("--trusted-namespaces needs --operator")
    namespace, image = flags["namespace"] or names.NAMESPACE, flags["image"]
    place = installation.Place(namespace=namespace, suffix=flags["suffix"], image=image)
    file = _file(flags["config_path"], place)
    watched, managed = _names(flags["watch_namespaces"]), flags["managed"] or bool(file)
    if not watched and (other := _namesake(place)):
        click.echo(f"contour: {other}: not both can be in one cluster", err=True)
    found = installation.installation(place, watched, takes_host_ports=flags["host_ports"])
    return replace(
        found,
        control_plane=replace(
            found.control_plane,
            envoy_image=flags["envoy_image"],
            file=file,
            makes_fleet=managed,
            makes_fleets_for_gateways=flags["gateway_fleets"] or bool(file),
            makes_outer_class=managed and flags["outer_class"],
        ),
        fleet=replace(found.fleet, image=flags["envoy_image"]),
        has_configuration=not flags["without_configuration"],
    )


def _namesake(place: "installation.Place") -> str:
    """The ClusterRoleBinding whose name another installation may have, and which one; else empty.
    Bindings keep their names, since an upgrade would leave the old ones behind."""
    named = f"ClusterRoleBinding {place.named('contour')}-{place.namespace}"
    if (place.suffix, place.namespace) == ("", "operator"):
        return f"{named} is also that of the operator"
    other = f"{place.suffix[1:]}-{place.namespace}"
    if place.suffix.startswith("-") and not NAMESPACE.refusal(other):
        return f"{named} is also that of an instance in namespace {other} without --suffix"
    return ""


def _file(path: Path | None, place: "installation.Place") -> str:
    """The text of a configuration file that `contour serve` would take; empty without one."""
    if path is None:
        return ""
    from contour.configfile import source
    from crds.meta import NamespacedName
    from observability import failures

    with failures.fatal(source.UnusableFileError, OSError):
        name = NamespacedName(place.namespace, place.named("contour"))
        for it in source.usable(path, name, "serve")[1]:
            click.echo(f"contour: {path}: {it}", err=True)
        return path.read_text()


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (it.strip() for it in text.split(","))))
