"""Services without a ready endpoint, for the objects that lead to them.

They are shown on the command line only: endpoints change often, and a status with them would be
written each time. They are read from the answers of the graph, so only Services with routes are
included.
"""

from collections.abc import Iterator

from contour.status.rows import Told
from crds.meta import NamespacedName, ObjectRef
from dag import nodes, services, tables
from dag.engine.incremental import Engine
from dag.problems.reasons import CommandLine
from dag.warnings import uses

_WHAT = "requests to it are answered with 503, and connections are closed"


def messages(engine: Engine, subject: ObjectRef) -> Iterator[Told]:
    """The Services without a ready endpoint, for an object that is served, or the Service
    itself."""
    names = [subject.key] if subject.kind == "Service" else uses.services(engine, subject)
    for name in names:
        if _is_idle(engine, name):
            text = f"Service {name} has no ready endpoints: {_WHAT}"
            yield Told(text, "info", text, reason=CommandLine.ServiceWithoutEndpoints)


def _is_idle(engine: Engine, name: NamespacedName) -> bool:
    found = engine.row(tables.SERVICES, name)
    ports = found.spec.ports if found is not None else ()
    keys = (nodes.ServicePort(name, it.port, it.name) for it in ports)
    answers = [engine.answer(services.endpoints, it) for it in keys]
    return any(it is not None and not it.endpoints for it in answers)
