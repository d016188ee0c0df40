"""Which fleet a stream may see, and with which identity.

The node names its fleet; over TLS the client's certificate must name it, too: one of its subject
alternative names must be an identity of the fleet. Where clients are served by name (`byname`), the
node's cluster is `FLEET/VIEWER`, and the certificate needs the URI of the viewer. Such URIs are a
separate kind of name: a certificate for an Envoy gives no access to a fleet of gRPC clients, and
vice versa. A client that names no fleet, such as a rate limit service, is served the fleet whose
URI is in its certificate; without TLS, the fleet whose name is its `node.id`. Clients on our Unix
socket, or on a port without TLS, are trusted. The check is made once per stream, whichever method
it calls, since a stream never changes its node.

A client with the identity of a node ID (`identities`) is served only the fleet of that node ID:
`node.id` must be the node ID, and `node.cluster` does not matter.
"""

from collections.abc import Iterable, Mapping, Sequence

from contour.xds import identities
from contour.xds.fleet import Fleet
from contour.xds.identities import NodeIdentity
from contour.xds.stream import Node
from provisioning.identities import grpc_client

NO_URIS: frozenset[str] = frozenset()


class Denied(Exception):  # noqa: N818
    """The client may not see the fleet that it names."""


class UnknownFleet(Exception):  # noqa: N818
    """The node names a fleet that is not served."""


class NotYet(Exception):  # noqa: N818
    """The fleet has no configuration yet; the client should retry."""


class FleetEnding(Exception):  # noqa: N818
    """The Envoys of the fleet are about to end."""


def admitted(
    fleets: Mapping[str, Fleet],
    fallback: str,
    node: Node,
    names: frozenset[str] | None,
    uris: frozenset[str] = NO_URIS,
) -> Fleet:
    """The fleet of a node. `names` are those of its certificate, None if none is required; `uris`
    are the URIs in it."""
    name, _, viewer = node.cluster.partition("/")
    fleet = fleets.get(name) or _of_nobody(fleets.values(), node, names, uris)
    if fleet is not None and fleet.uri:
        is_allowed = fleet.uri in uris
    elif fleet is not None and fleet.is_by_name:
        is_allowed = grpc_client(viewer) in uris
    else:
        fleet = fleets.get(node.cluster) or fleets.get(fallback)
        is_allowed = fleet is not None and names is not None and bool(names & fleet.identities)
    if names is not None and not is_allowed:
        # A client that may not see a fleet does not learn which fleets exist.
        shown = sorted(names | uris)
        raise Denied(f"a certificate for {shown} does not give access to fleet {node.cluster!r}")
    if fleet is None or (fleet.is_by_name and not viewer):
        raise UnknownFleet(
            f"there is no fleet {node.cluster!r} (`node.cluster` of node {node.id!r})"
        )
    if not fleet.is_open:
        raise NotYet(f"fleet {fleet.name!r} has no configuration yet")
    if fleet.is_shut:
        raise FleetEnding(f"the Envoys of fleet {fleet.name!r} are about to end")
    return fleet


def _of_nobody(
    fleets: Iterable[Fleet], node: Node, names: frozenset[str] | None, uris: frozenset[str]
) -> Fleet | None:
    """The fleet of a client that names none."""
    if node.cluster:
        return None
    found = (it for it in fleets if it.uri)
    if names is None:
        return next((it for it in found if it.name == node.id), None)
    return next((it for it in found if it.uri in uris), None)


def of_node_id(
    fleets: Mapping[NodeIdentity, Fleet], node: Node, allowed: frozenset[NodeIdentity]
) -> Fleet:
    """The fleet of a node ID, for a caller with these identities of node IDs."""
    mine = sorted(it for it in allowed if it.node == node.id)
    if not mine:
        known = ", ".join(map(str, sorted(allowed)))
        raise Denied(f"the identity {known} does not give access to node ID {node.id!r}")
    fleet = next((fleets[it] for it in mine if it in fleets), None)
    if fleet is None:
        raise UnknownFleet(
            f"there is no EnvoyConfig for node ID {node.id!r} in namespace {mine[0].namespace}"
        )
    if not fleet.is_open:
        raise NotYet(f"the EnvoyConfig for node ID {node.id!r} has nothing to serve yet")
    return fleet


def node_identities(
    names: frozenset[str] | None, uris: frozenset[str], said: Iterable[tuple[str, str | bytes]]
) -> frozenset[NodeIdentity]:
    """The node IDs of a caller: those of its certificate or, if none is required (`names` is None),
    those in its metadata."""
    if names is None:
        uris = frozenset(str(it) for key, it in said if key == identities.METADATA)
    return frozenset(it for uri in uris if (it := identities.parse(uri)) is not None)


def certificate_names(auth: Mapping[str, Sequence[bytes]]) -> frozenset[str] | None:
    """The subject alternative names of a peer except for URIs, from gRPC's information about its
    connection; None without TLS."""
    if b"ssl" not in auth.get("transport_security_type", ()):
        return None
    found = frozenset(it.decode() for it in auth.get("x509_subject_alternative_name", ()))
    return found - certificate_uris(auth)


def certificate_uris(auth: Mapping[str, Sequence[bytes]]) -> frozenset[str]:
    """The URIs among the subject alternative names of a peer."""
    return frozenset(it.decode(errors="replace") for it in auth.get("peer_uri", ()))
