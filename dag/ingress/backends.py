"""Where the requests of a path go: a port of a Service in the namespace of the Ingress.

A backend that cannot take traffic leaves its path in place, answered with 503, so that a wider
path does not take over. Source: Ingress documentation, "IngressBackend".
"""

from typing import NamedTuple

from crds.ingress import IngressBackend, IngressServiceBackend
from crds.meta import NamespacedName
from dag import nodes, services, tables
from dag.problems import ingress as problems
from dag.problems.places import Findings, Place
from dag.view import View, query

NOWHERE = nodes.Respond(503)


class NamedPort(NamedTuple):
    """A port of a Service, by its name."""

    service: NamespacedName
    name: str


def action(view: View, place: Place, backend: IngressBackend) -> Findings[nodes.Action]:
    """What happens to requests."""
    if backend.service is None:
        yield problems.resource_not_supported(place.at("resource"))
        return NOWHERE
    found = _upstream(view, place.subject.namespace, backend.service)
    if isinstance(found, services.Unresolved):
        yield problems.backend_unresolved(place.at("service"), found.message)
        return NOWHERE
    cluster = nodes.Cluster(found.port, found.dns, found.protocol)
    return nodes.Forward((nodes.Backend(cluster),))


@query
def port_number(view: View, port: NamedPort) -> int | None:
    """The number of a port that is given by name."""
    found = view.read(tables.SERVICES, port.service)
    ports = found.spec.ports if found is not None else ()
    return next((it.port for it in ports if it.name == port.name), None)


def _upstream(
    view: View, namespace: str, backend: IngressServiceBackend
) -> services.Upstream | services.Unresolved:
    name, number = NamespacedName(namespace, backend.name), backend.port.number
    if number is None:
        number = view.ask(port_number, NamedPort(name, backend.port.name))
    if number is None:
        message = f"Service {name} has no port {backend.port.name!r}"
        return services.Unresolved("PortNotFound", message)
    return view.ask(services.upstream, (name, number))
