"""Requests that are sent elsewhere.

A redirect that changes the scheme and names no port means the scheme's usual one; Envoy would keep
the port the client wrote. For a host known by name, naming the host drops it.
"""

from envoy.config.route.v3 import route_components_pb2 as pb

from contour.envoy import paths
from dag import nodes

_CODES = {
    301: pb.RedirectAction.MOVED_PERMANENTLY,
    302: pb.RedirectAction.FOUND,
    303: pb.RedirectAction.SEE_OTHER,
    307: pb.RedirectAction.TEMPORARY_REDIRECT,
    308: pb.RedirectAction.PERMANENT_REDIRECT,
}


def write_redirect(
    target: pb.RedirectAction, node: nodes.Redirect, path: nodes.Path, host: str
) -> None:
    """Fills in where the client is sent, for a route of the virtual host `host`."""
    target.response_code = _CODES[node.status]
    if node.scheme is not None:
        target.scheme_redirect = node.scheme
    if node.host is not None:
        target.host_redirect = node.host
    elif node.scheme is not None and node.port is None and not host.startswith("*"):
        target.host_redirect = host
    if node.port is not None:
        target.port_redirect = node.port
    if node.full_path is not None:
        target.path_redirect = node.full_path
    elif node.prefix is not None:
        paths.write_prefix(target, path, node.prefix)
