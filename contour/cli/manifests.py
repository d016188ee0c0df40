"""`contour manifests`: what `kubectl apply` needs to install an instance, as it is in the wheel."""

from dataclasses import replace

import click

from provisioning import installation, templating
from provisioning import manifests as documents


@click.command()
@click.option("--namespace", default="projectcontour", show_default=True)
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
@click.option("--crds", "crds_only", is_flag=True, help="The definitions of our kinds instead.")
def manifests(
    namespace: str,
    suffix: str,
    image: str,
    envoy_image: str,
    watch_namespaces: str,
    host_ports: bool,
    managed: bool,
    gateway_fleets: bool,
    outer_class: bool,
    crds_only: bool,
) -> None:
    """Prints the manifests of an installation, for `kubectl apply -f -`.

    With --crds: the definitions of our kinds, which have to be there before.
    """
    if crds_only:
        click.echo(templating.text(documents.crds()), nl=False)
        return
    place = installation.Place(namespace=namespace, suffix=suffix, image=image)
    watched = tuple(it for it in watch_namespaces.split(",") if it)
    found = installation.installation(place, watched, takes_host_ports=host_ports)
    found = replace(
        found,
        control_plane=replace(
            found.control_plane,
            envoy_image=envoy_image,
            makes_fleet=managed,
            makes_fleets_for_gateways=gateway_fleets,
            makes_outer_class=managed and outer_class,
        ),
        fleet=replace(found.fleet, image=envoy_image),
    )
    click.echo(templating.text(documents.everything(found)), nl=False)
