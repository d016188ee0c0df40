"""Redirects of clients, and redirects of backends that Envoy follows.

A redirect that changes the scheme without naming a port leads to the scheme's default port. Envoy
would keep the client's port; for an exact host, setting the host in the redirect removes it.
"""

from collections.abc import Iterable

from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.extensions.internal_redirect.allow_listed_routes.v3 import (
    allow_listed_routes_config_pb2,
)
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
        _write_predicate(target, name, predicate)


def write_reach(target: pb.VirtualHost, names: Iterable[str]) -> None:
    """Follows redirects of backends only to these routes; all others are passed to clients.

    A connection with TLS was opened for one host, and leads to no other one (`scripts`). And Envoy
    reads the headers with the client's address once, before it follows a redirect; after that the
    peer of the connection, a proxy, counts as the client (as of Envoy 1.40).
    """
    reach = allow_listed_routes_config_pb2.AllowListedRoutesConfig()
    reach.allowed_route_names.extend(sorted(names))
    for route in target.routes:
        if route.route.HasField("internal_redirect_policy"):
            _write_predicate(route.route.internal_redirect_policy, "allow_listed_routes", reach)


def _write_predicate(target: pb.InternalRedirectPolicy, name: str, predicate: Message) -> None:
    extension = target.predicates.add(name=f"envoy.internal_redirect_predicates.{name}")
    extension.typed_config.CopyFrom(encoding.packed(predicate))
