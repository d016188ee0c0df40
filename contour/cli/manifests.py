"""`contour manifests`: what `kubectl apply` needs to install an instance, as it is in the wheel."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from provisioning import installation, templating
from provisioning import manifests as documents

_PLACE, _OPERATORS = installation.Place(), installation.Operator().place.namespace


@click.command()
@click.option(
    "--namespace", show_default=f"{_PLACE.namespace}; with --operator: {_OPERATORS}",
    help="Namespace of all objects that are not cluster-scoped.",
)  # fmt: skip
@click.option(
    "--suffix", default="", show_default="none",
    help="Suffix of the names of all objects. Use it to run several instances in one namespace.",
)  # fmt: skip
@click.option(
    "--image", default=installation.IMAGE, show_default=True,
    help="Container image of this program, from a registry that the cluster can pull from.",
)  # fmt: skip
@click.option(
    "--envoy-image", default=installation.ENVOY_IMAGE, show_default=True,
    help="Container image of Envoy.",
)  # fmt: skip
@click.option(
    "--watch-namespaces", default="", metavar="A,B", show_default="all",
    help="Comma-separated namespaces to watch. The instance then gets Roles there and no "
    "ClusterRole, and cannot serve Gateways.",
)  # fmt: skip
@click.option(
    "--host-ports", is_flag=True,
    help="Bind Envoy to ports 80 and 443 of its nodes. Use it where there is no load balancer.",
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
        found = documents.crds()
    elif operator_only:
        found = documents.operator(_operator(flags))
    else:
        found = documents.everything(_installation(flags))
    click.echo(templating.text(found), nl=False)


def _operator(flags: Mapping[str, Any]) -> installation.Operator:
    for name in _OF_AN_INSTANCE:
        if flags[name]:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} cannot be used with --operator")
    trusted = flags["trusted_namespaces"]
    place = installation.Place(namespace=flags["namespace"] or _OPERATORS, image=flags["image"])
    return installation.Operator(
        place=place,
        envoy_image=flags["envoy_image"],
        trusted=None if trusted is None else _names(trusted),
    )


_OF_AN_INSTANCE = (
    *("suffix", "watch_namespaces", "host_ports", "managed", "gateway_fleets", "outer_class"),
)


def _installation(flags: Mapping[str, Any]) -> installation.Installation:
    if flags["trusted_namespaces"] is not None:
        raise click.UsageError("--trusted-namespaces needs --operator")
    namespace, image = flags["namespace"] or _PLACE.namespace, flags["image"]
    place = installation.Place(namespace=namespace, suffix=flags["suffix"], image=image)
    watched, managed = _names(flags["watch_namespaces"]), flags["managed"]
    found = installation.installation(place, watched, takes_host_ports=flags["host_ports"])
    return replace(
        found,
        control_plane=replace(
            found.control_plane,
            envoy_image=flags["envoy_image"],
            makes_fleet=managed,
            makes_fleets_for_gateways=flags["gateway_fleets"],
            makes_outer_class=managed and flags["outer_class"],
        ),
        fleet=replace(found.fleet, image=flags["envoy_image"]),
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (it.strip() for it in text.split(","))))
