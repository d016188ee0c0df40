"""Requests that are sent elsewhere.

A redirect that changes the scheme and names no port means the scheme's usual one; Envoy would keep
the port the client wrote. For a host known by name, naming the host drops it.
"""

from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.extensions.internal_redirect.previous_routes.v3 import previous_routes_config_pb2
from envoy.extensions.internal_redirect.safe_cross_scheme.v3 import safe_cross_scheme_config_pb2
from google.protobuf.message import Message

from contour.envoy import encoding, paths
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


def write_internal(target: pb.InternalRedirectPolicy, node: nodes.InternalRedirect) -> None:
    """Fills in which redirects of backends are followed by Envoy itself."""
    target.max_internal_redirects.value = node.max_redirects
    target.redirect_response_codes.extend(node.codes)
    target.allow_cross_scheme_redirect = node.cross_scheme != "Never"
    predicates: list[tuple[str, Message]] = []
    if node.cross_scheme == "SafeOnly":
        predicates.append(
            ("safe_cross_scheme", safe_cross_scheme_config_pb2.SafeCrossSchemeConfig())
        )
    if node.deny_repeated_route:
        predicates.append(("previous_routes", previous_routes_config_pb2.PreviousRoutesConfig()))
    for name, predicate in predicates:
        extension = target.predicates.add(name=f"envoy.internal_redirect_predicates.{name}")
        extension.typed_config.CopyFrom(encoding.packed(predicate))
