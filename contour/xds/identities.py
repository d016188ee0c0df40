"""The identity of the Envoys of one node ID of one namespace, which are served an EnvoyConfig.

It is the URI `projectcontour://envoy-node/NAMESPACE/NODE-ID` (percent-encoded, RFC 3986): a kind of
its own beside the DNS names of the fleets that serve Ingress, HTTPProxy and the Gateway API, and
the URIs of gRPC clients. The kind decides in which map a fleet is looked for, so no name of another
kind can lead to the fleet of a node ID, and no node ID to another fleet.
"""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

METADATA = "contour-identity"
"""The gRPC metadata in which a client says who it is where no certificate is asked for."""

_NODE = re.compile(r"projectcontour://envoy-node/(?P<namespace>[a-z0-9-]{1,63})/(?P<node>[^/?#]+)")


class NodeIdentity(NamedTuple):
    """The Envoys of a node ID, as an EnvoyConfig of a namespace means it."""

    namespace: str
    node: str

    def __str__(self) -> str:
        return f"projectcontour://envoy-node/{self.namespace}/{quote(self.node, safe='')}"


def parse(uri: str) -> NodeIdentity | None:
    """The identity that a URI stands for; None if it is of another form or not canonical."""
    found = _NODE.fullmatch(uri)
    if found is None:
        return None
    parsed = NodeIdentity(found["namespace"], unquote(found["node"]))
    return parsed if str(parsed) == uri else None
