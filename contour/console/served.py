"""What is served, in one line: hosts, routes, and the ports that Envoy has accepted."""

from collections.abc import Iterator, Sequence

from contour.controller import Controller
from contour.instance import Instance
from contour.status.rows import Row
from contour.xds.acceptance import State
from contour.xds.resources import LISTENER, Name
from dag import hints, hosts, localbackends, services
from dag.fleetnames import DEFAULT_FLEET


def summary(controller: Controller, rows: Sequence[Row]) -> str:
    """`serving 9 hosts, 14 routes from 13 objects; 8 objects have problems: contour status`."""
    routes: dict[str, int] = {}
    origins: set[object] = set()
    for key, found in controller.engine.answers(hosts.virtual_host):
        if found is None:
            continue
        routes[key.host] = max(routes.get(key.host, 0), len(found.routes))
        origins.update(found.origins)
    total = sum(routes.values())
    text = (
        f"serving {_counted(len(routes), 'host')}, {_counted(total, 'route')} "
        f"from {_counted(len(origins), 'object')}"
        if routes
        else "serving nothing yet: no object has a host"
    )
    bad = sum(it.state != "ok" for it in rows)
    have = "has" if bad == 1 else "have"
    return f"{text}; {_counted(bad, 'object')} {have} problems: contour status" if bad else text


def unused_backends(controller: Controller) -> Iterator[str]:
    """The Services for which the command line has addresses, but to which no object routes."""
    engine = controller.engine
    used = {port.service for port, _ in engine.answers(services.endpoints)}
    for name, _ in sorted(engine.rows(localbackends.NAMED)):
        if name not in used:
            meant = hints.similar(str(name), sorted(map(str, used)))
            hint = f" (did you mean {meant}?)" if meant else ""
            yield f"--backend {name}: no object leads requests to this Service{hint}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listening(instance: Instance) -> Iterator[str]:
    """The ports on which Envoys have confirmed to listen; if a Gateway has Envoys of its own, with
    its name."""
    for name in (DEFAULT_FLEET, *sorted(instance.controller.fleets.keys() - {DEFAULT_FLEET})):
        whose = "" if name == DEFAULT_FLEET else f"Gateway {name}, "
        for text in _of_fleet(instance, name):
            yield f"{whose}{text}"


def _of_fleet(instance: Instance, fleet_name: str) -> Iterator[str]:
    fleet = instance.server.fleets.get(fleet_name)
    for it in instance.controller.listeners(fleet_name) if fleet is not None else ():
        name = Name(LISTENER, it.name)
        resource = fleet.store.resource(name) if fleet is not None else None
        if fleet is None or resource is None or not resource.parts:
            continue
        states = {fleet.acceptance.answer(name, part).state for part in resource.parts}
        if State.ACCEPTED in states and State.PENDING not in states:
            yield f"{it.protocol} port {it.port} on {_joined(it.address, it.bind_port)}"


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
