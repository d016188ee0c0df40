"""Which fleet a stream may see.

The node names its fleet; over TLS the client's certificate has to name it, too: one of its
subject alternative names must be an identity of the fleet. Whoever may open our Unix socket, or
connects where no TLS was asked for, is believed. The check is made once per stream, whichever
method it calls: a stream never changes its node.
"""

from collections.abc import Mapping, Sequence

from contour.xds.fleet import Fleet
from contour.xds.stream import Node


class Denied(Exception):  # noqa: N818
    """The client may not see the fleet that it names."""


class UnknownFleet(Exception):  # noqa: N818
    """The node names a fleet that is not served."""


class NotYet(Exception):  # noqa: N818
    """The fleet has no configuration so far; the client is to try again."""


def admitted(
    fleets: Mapping[str, Fleet], fallback: str, node: Node, names: frozenset[str] | None
) -> Fleet:
    """The fleet of a node. `names` are those of its certificate; None if it needs none."""
    fleet = fleets.get(node.cluster) or fleets.get(fallback)
    if names is not None and (fleet is None or not names & fleet.identities):
        # Whoever may not see a fleet learns nothing about which ones there are.
        raise Denied(
            f"a certificate for {sorted(names)} does not give access to fleet {node.cluster!r}"
        )
    if fleet is None:
        raise UnknownFleet(
            f"there is no fleet {node.cluster!r} (`node.cluster` of node {node.id!r})"
        )
    if not fleet.is_open:
        raise NotYet(f"fleet {fleet.name!r} has no configuration yet")
    return fleet


def certificate_names(auth: Mapping[str, Sequence[bytes]]) -> frozenset[str] | None:
    """The subject alternative names of a peer, from what gRPC knows of its connection."""
    if b"ssl" not in auth.get("transport_security_type", ()):
        return None
    return frozenset(it.decode() for it in auth.get("x509_subject_alternative_name", ()))
