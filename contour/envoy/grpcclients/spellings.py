"""What the resources of an exported port are called: the same thing, once in each spelling.

The old-style name of everything about a port is `SERVICE.NAMESPACE:PORT`; with an authority it is
the id of an `xdstp:` name. A resource refers to others in its own spelling only, so that a client
finds all of them at the control plane that it asked; what is exported with the authority of another
control plane has its name there. A backend of another Service has the name of
the port whose calls go there first: it is seen by whoever may call that port.
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
    """How names are written: old-style, without an authority, or for one."""

    authority: str = ""

    def name(self, type_url: str, id_: str) -> Name:
        """The name of a resource."""
        is_old = not self.authority
        return Name(type_url, id_ if is_old else xdstp.named(self.authority, type_url, id_))


def spellings(authorities: tuple[str, ...]) -> tuple[Spelling, ...]:
    """All of them."""
    return (Spelling(), *map(Spelling, authorities))


def port(key: ExportedPort) -> str:
    """The id of everything about a port."""
    return f"{key.service.name}.{key.service.namespace}:{key.port}"


def targets(key: ExportedPort, *, is_only: bool) -> tuple[str, ...]:
    """What clients dial, after `xds:///`: the only port of a Service can be left out."""
    return (port(key), f"{key.service.name}.{key.service.namespace}")[: 1 + is_only]


def server(service: NamespacedName, address: str, port: int) -> str:
    """The id of the listener of a server, as gRPC writes the address on which it listens."""
    host = f"[{address}]" if ":" in address else address
    return f"{exports.server_id(service)}/{host}:{port}"


def asked_by(resource: Name) -> Application:
    """Who asks for a resource, in any spelling: servers ask for listeners of their own."""
    name = resource.name
    id_ = xdstp.parse(name).id if name.startswith(xdstp.SCHEME) else name
    return "gRPC servers" if id_.startswith(exports.SERVERS) else "gRPC clients"


def backend(key: ExportedPort, to: nodes.ServicePort | None) -> str:
    """The id of a backend's cluster and endpoints; None is a share that leads nowhere."""
    if to is None:
        return f"{port(key)}/{NOWHERE}"
    other = ExportedPort(to.service, to.port)
    return port(key) if other == key else f"{port(key)}/{port(other)}"
