"""Where the requests of a path go: a port of a Service in the namespace of the Ingress.

A backend that cannot take traffic leaves its path in place, answered with 503, so that a wider
path does not take over. Source: Ingress documentation, "IngressBackend".
"""

from typing import NamedTuple

from crds.ingress import IngressBackend, IngressServiceBackend
from crds.meta import NamespacedName, ObjectRef
from dag import clientcertificate, hints, localbackends, nodes, services, tables
from dag.configuration import headerdefaults, settings
from dag.engine.view import View, query
from dag.problems import Problem, referents
from dag.problems import ingress as problems
from dag.problems.places import Findings, Place

NOWHERE = nodes.Respond(503)
"""The answer if no Service can take traffic."""


class NamedPort(NamedTuple):
    """A port of a Service, by its name."""

    service: NamespacedName
    name: str


def backend(view: View, place: Place, written: IngressBackend) -> Findings[nodes.Backend | None]:
    """The backend that takes the requests; None if none can."""
    if written.service is None:
        yield problems.resource_not_supported(place.at("resource"))
        return None
    found = _upstream(view, place.subject.namespace, written.service)
    if isinstance(found, Problem):
        yield problems.backend_unresolved(place.at("service"), found.message)
        return None
    if found.left_out:
        yield problems.endpoints_left_out(place.at("service"), found.left_out)
    if found.unspoken:
        yield problems.protocol_not_known(place.at("service"), found.unspoken)
    if found.protocol in ("h2", "tls") and (why := view.ask(clientcertificate.unusable, ())):
        yield problems.client_certificate_not_valid(place.at("service"), why)
    tls = nodes.UpstreamTls(sni=found.server_name) if _asks_by_name(found) else None
    cluster = nodes.Cluster(found.port, found.dns, found.protocol, tls=tls, limits=found.limits)
    everywhere = view.ask(settings.headers, ())
    if not everywhere.is_for_ingress:
        return nodes.Backend(cluster)
    variables = {
        "CONTOUR_NAMESPACE": found.port.service.namespace,
        "CONTOUR_SERVICE_NAME": found.port.service.name,
        "CONTOUR_SERVICE_PORT": str(found.port.port),
    }
    return nodes.Backend(
        cluster,
        request_headers=headerdefaults.request(None, everywhere, variables),
        response_headers=headerdefaults.response(None, everywhere, variables),
    )


def _asks_by_name(found: services.Upstream) -> bool:
    return found.protocol in ("h2", "tls") and bool(found.server_name)


@query
def port_number(view: View, port: NamedPort) -> int | None:
    """The number of a TCP port that is given by name."""
    found = view.read(tables.SERVICES, port.service)
    ports = (it for it in found.spec.ports if it.protocol == "TCP") if found is not None else ()
    return next((it.port for it in ports if it.name == port.name), None)


def _upstream(
    view: View, namespace: str, written: IngressServiceBackend
) -> services.Upstream | Problem:
    name, number = NamespacedName(namespace, written.name), written.port.number
    if number is None:
        number = view.ask(port_number, NamedPort(name, written.port.name))
    if number is None:
        return _without_port(view, name, written.port.name)
    return view.ask(services.upstream, (name, number))


def _without_port(view: View, name: NamespacedName, port: str) -> services.Upstream | Problem:
    found = view.read(tables.SERVICES, name)
    if found is None and (local := localbackends.endpoints(view, name)):
        # Nothing defines the number of the port, so any number will do.
        return view.ask(services.upstream, (name, local[0].port))
    if found is None:
        return referents.service_not_found(name, hints.hint(view, ObjectRef("Service", *name)))
    if any(it.name == port for it in found.spec.ports):
        return referents.port_not_tcp(name, port)
    return referents.port_not_found(name, repr(port), found.spec.ports)
