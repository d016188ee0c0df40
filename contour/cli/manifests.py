"""`contour manifests`: what `kubectl apply` needs to install an instance, as it is in the wheel."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from provisioning import installation, templating
from provisioning import manifests as documents

_PLACE, _OPERATORS = installation.Place(), installation.Operator().place.namespace


@click.command()
@click.option("--namespace", help=f"[default: {_PLACE.namespace}; of the operator: {_OPERATORS}]")
@click.option("--suffix", default="", help="Ends all names, for several instances in a namespace.")
@click.option("--image", default=installation.IMAGE, show_default=True, help="Of the controller.")
@click.option("--envoy-image", default=installation.ENVOY_IMAGE, show_default=True)
@click.option("--watch-namespaces", default="", help="Look at these only (a,b), by Roles alone.")
@click.option("--host-ports", is_flag=True, help="Take ports 80 and 443 of every node.")
@click.option("--managed", is_flag=True, help="The control plane makes the Envoys, and keeps them.")
@click.option("--gateway-fleets", is_flag=True, help="For mode PerGateway: rights to make them.")
@click.option(
    "--outer-class", is_flag=True, help="With --managed: the right to make GatewayClasses."
)
@click.option("--operator", "operator_only", is_flag=True, help="The operator instead.")
@click.option(
    "--trusted-namespaces",
    help="With --operator, for Kubernetes older than 1.30: where instances may reach further.",
)
@click.option("--crds", "crds_only", is_flag=True, help="The definitions of our kinds instead.")
def manifests(crds_only: bool, operator_only: bool, **flags: Any) -> None:
    """Prints the manifests of an installation, for `kubectl apply -f -`.

    With --crds: the definitions of our kinds, which have to be there before. With --operator: what
    makes instances of ContourConfigurations, of which --image and --envoy-image are the images.
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
            raise click.UsageError(f"--{option} is of an instance, and not of the operator")
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
        raise click.UsageError("--trusted-namespaces goes with --operator")
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
