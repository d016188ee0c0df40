"""What a reference of a UDPRoute to a Service port leads to: its port for UDP.

A Service may have the same port number for TCP and for UDP; elsewhere only that for TCP counts.
"""

from crds.meta import NamespacedName, ObjectRef
from dag import hints, limits, localbackends, nodes, services, tables
from dag.engine.view import View, query
from dag.problems import Problem, referents
from dag.services import Upstream, left_out


@query
def upstream(view: View, key: tuple[NamespacedName, int]) -> Upstream | Problem:
    """What a reference to a Service and one of its UDP ports leads to."""
    name, number = key
    found, is_local = view.read(tables.SERVICES, name), bool(localbackends.endpoints(view, name))
    if found is None and is_local:
        return Upstream(nodes.ServicePort(name, number, ""))
    if found is None:
        return referents.service_not_found(name, hints.hint(view, ObjectRef("Service", *name)))
    if refusal := services.closed(view, found):
        return refusal
    if found.spec.type == "ExternalName" and not is_local:
        return referents.external_name_for_datagrams(name)
    for port in found.spec.ports:
        if (port.port, port.protocol) == (number, "UDP"):
            reference = nodes.ServicePort(name, number, port.name)
            allowed = limits.annotated(found.metadata)
            return Upstream(reference, left_out=left_out(view, reference), limits=allowed)
    return referents.port_not_found(name, f"{number} of UDP", found.spec.ports)
