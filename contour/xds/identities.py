"""The identity of the Envoys of a node ID in a namespace, which are served an EnvoyConfig.

It is the URI `projectcontour://envoy-node/NAMESPACE/NODE-ID` (percent-encoded, RFC 3986). This is a
separate kind of name, beside the DNS names of the fleets that serve Ingress, HTTPProxy and the
Gateway API, and the URIs of gRPC clients. Each kind has its own map of fleets, so no name of
another kind can lead to the fleet of a node ID, and no node ID to another fleet.
"""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

METADATA = "contour-identity"
"""The gRPC metadata with the identity of a client where no certificate is required."""

_NODE = re.compile(r"projectcontour://envoy-node/(?P<namespace>[a-z0-9-]{1,63})/(?P<node>[^/?#]+)")


class NodeIdentity(NamedTuple):
    """The Envoys of a node ID, in the namespace of an EnvoyConfig."""

    namespace: str
    node: str

    def __str__(self) -> str:
        return f"projectcontour://envoy-node/{self.namespace}/{quote(self.node, safe='')}"


def parse(uri: str) -> NodeIdentity | None:
    """The identity of a URI; None if the URI has another form or is not canonical."""
    found = _NODE.fullmatch(uri)
    if found is None:
        return None
    parsed = NodeIdentity(found["namespace"], unquote(found["node"]))
    return parsed if str(parsed) == uri else None
