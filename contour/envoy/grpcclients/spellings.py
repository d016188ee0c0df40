"""The names of the resources of an exported port, in each spelling.

The old-style name of all resources of a port is `SERVICE.NAMESPACE:PORT`; with an authority it is
the id of an `xdstp:` name. A resource refers to others only in its own spelling, so that a client
finds all of them at the control plane that it asked; what is exported with the authority of another
control plane has the name that it has there. The name of a backend of another Service begins with
the port whose calls go there: it is visible to the clients that may call that port.
"""

from typing import NamedTuple

from contour.xds import xdstp
from contour.xds.resources import Name
from crds.meta import NamespacedName
from dag import exports, nodes
from dag.exports import ExportedPort
from dag.refusals import Application

NOWHERE = "nowhere"


class Spelling(NamedTuple):
    """How names are written: old-style (without an authority), or for an authority."""

    authority: str = ""

    def name(self, type_url: str, id_: str) -> Name:
        """The name of a resource."""
        is_old = not self.authority
        return Name(type_url, id_ if is_old else xdstp.named(self.authority, type_url, id_))


def spellings(authorities: tuple[str, ...]) -> tuple[Spelling, ...]:
    """All spellings."""
    return (Spelling(), *map(Spelling, authorities))


def port(key: ExportedPort) -> str:
    """The id of everything about a port."""
    return f"{key.service.name}.{key.service.namespace}:{key.port}"


def targets(key: ExportedPort, *, is_only: bool) -> tuple[str, ...]:
    """What clients dial, after `xds:///`: the port can be left out if a Service has only one."""
    return (port(key), f"{key.service.name}.{key.service.namespace}")[: 1 + is_only]


def server(service: NamespacedName, address: str, port: int) -> str:
    """The id of the listener of a server, as gRPC writes the address on which it listens."""
    host = f"[{address}]" if ":" in address else address
    return f"{exports.server_id(service)}/{host}:{port}"


def asked_by(resource: Name) -> Application:
    """The application that asks for a resource, in any spelling; servers ask for their own
    listeners."""
    name = resource.name
    id_ = xdstp.parse(name).id if name.startswith(xdstp.SCHEME) else name
    return "gRPC servers" if id_.startswith(exports.SERVERS) else "gRPC clients"


def backend(key: ExportedPort, to: nodes.ServicePort | None) -> str:
    """The id of a backend's cluster and endpoints; None stands for a share without a backend."""
    if to is None:
        return f"{port(key)}/{NOWHERE}"
    other = ExportedPort(to.service, to.port)
    return port(key) if other == key else f"{port(key)}/{port(other)}"
