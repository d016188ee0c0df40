"""Which GatewayClass and Gateways are served: the oldest class of ours, and by which Envoys.

In mode `Single` its oldest Gateway shares the Envoys of Ingress and HTTPProxy; the statuses of the
others name the older one, and the next one takes over when it goes. In mode `PerGateway` every
Gateway of the class has a fleet of its own. The status of a Gateway of a younger class of our
controller says so; a Gateway of any other class is not ours. A Gateway that is being deleted no
longer counts; a class stays while there are Gateways of it. Elsewhere: the finalizers that ensure
that (`contour.finalizers`).
"""

from collections.abc import Iterator

from crds.gateway.gateway import Gateway
from crds.gateway.gatewayclass import GatewayClass
from crds.meta import NamespacedName
from dag import tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.fleetnames import DEFAULT_FLEET
from dag.seniority import Senior, senior


@query
def accepted_class(view: View, _: tuple[()]) -> NamespacedName | None:
    """The class that is served: the oldest that names our controller."""
    claims = view.bucket(CLASSES, view.ask(settings.controller_name, ()))
    return min(claims).key if claims else None


@query
def is_of_our_controller(view: View, gateway_class: NamespacedName) -> bool:
    """Whether a class names our controller."""
    found = view.read(tables.GATEWAY_CLASSES, gateway_class)
    return found is not None and found.spec.controller_name == view.ask(
        settings.controller_name, ()
    )


@query
def is_in_use(view: View, gateway_class: NamespacedName) -> bool:
    """Whether a class has to stay: it is served, and there are Gateways of it, leaving or not."""
    is_served = view.ask(accepted_class, ()) == gateway_class
    return is_served and view.count(EVERY_GATEWAY, gateway_class.name) > 0


@query
def in_charge(view: View, _: tuple[()]) -> NamespacedName | None:
    """The Gateway that shares the Envoys of the other APIs: the oldest of the accepted class."""
    if view.ask(settings.gateway_mode, ()) == "PerGateway":
        return None
    gateway_class = view.ask(accepted_class, ())
    if gateway_class is None:
        return None
    first = min(view.bucket(GATEWAYS, gateway_class.name), default=None)
    return first and first.key


@query
def is_ours(view: View, gateway: NamespacedName) -> bool:
    """Whether a Gateway is of the accepted class, so that it and its routes get a status."""
    found, gateway_class = view.read(tables.GATEWAYS, gateway), view.ask(accepted_class, ())
    return (
        found is not None
        and gateway_class is not None
        and found.metadata.deletion_timestamp is None
        and found.spec.gateway_class_name == gateway_class.name
    )


@query
def fleet(view: View, gateway: NamespacedName) -> str | None:
    """The fleet that serves a Gateway; None if it has to wait or is not ours."""
    if view.ask(settings.gateway_mode, ()) == "PerGateway":
        return str(gateway) if view.ask(is_ours, gateway) else None
    return DEFAULT_FLEET if view.ask(in_charge, ()) == gateway else None


def _controller(_: NamespacedName, found: GatewayClass) -> Iterator[tuple[str, Senior]]:
    yield found.spec.controller_name, senior(found.metadata)


def _class(_: NamespacedName, found: Gateway) -> Iterator[tuple[str, Senior]]:
    if found.metadata.deletion_timestamp is None:
        yield found.spec.gateway_class_name, senior(found.metadata)


def _every(key: NamespacedName, found: Gateway) -> Iterator[tuple[str, NamespacedName]]:
    yield found.spec.gateway_class_name, key


def _fleet(gateway: NamespacedName, name: str) -> Iterator[tuple[str, NamespacedName]]:
    yield name, gateway


CLASSES: Index[str, Senior] = Index("classes of a controller", tables.GATEWAY_CLASSES, _controller)
GATEWAYS: Index[str, Senior] = Index("Gateways of a class", tables.GATEWAYS, _class)
EVERY_GATEWAY: Index[str, NamespacedName] = Index(
    "Gateways of a class, also those that leave", tables.GATEWAYS, _every
)
FLEETS: Index[str, NamespacedName] = Index("Gateways of a fleet", fleet, _fleet)

INDEXES = (CLASSES, GATEWAYS, EVERY_GATEWAY, FLEETS)
KEPT = (
    Kept(fleet, tables.GATEWAYS),
    Kept(is_of_our_controller, tables.GATEWAY_CLASSES),
    Kept(is_in_use, tables.GATEWAY_CLASSES),
)
