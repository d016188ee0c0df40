"""A server that decides over each request (Envoy's ext_authz filter), another one on every route.

Whether an unreachable server closes or opens is a property of the filter, so there are two: a
route speaks to the one and not to the other. Both are off by the heads of all RouteConfigurations
(`off`); what a route says stands above that. A server cannot send a request to other tables of
hosts than its own: our header is none it may change.
"""

from envoy.config.core.v3 import http_uri_pb2
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2 as pb
from envoy.type.matcher.v3 import string_pb2
from envoy.type.v3 import http_status_pb2

from contour.envoy import encoding, matches
from dag import nodes

CLOSED = "envoy.filters.http.ext_authz"
OPEN = "envoy.filters.http.ext_authz.fail_open"
NAMES = (CLOSED, OPEN)

_NOBODY = "no-authorization-server"
"""The cluster that does not exist, of routes that name no server: nobody gets past it."""
_PRIVATE = "(?i)x-contour-.*"


def installed(*, fails_open: bool) -> pb.ExtAuthz:
    """What holds for all servers."""
    result = pb.ExtAuthz(
        grpc_service=encoding.grpc(_NOBODY),
        transport_api_version="V3",
        failure_mode_allow=fails_open,
        clear_route_cache=True,
        include_peer_certificate=True,
        status_on_error=http_status_pb2.HttpStatus(code=403),
    )
    result.decoder_header_mutation_rules.disallow_expression.regex = _PRIVATE
    return result


def name(node: nodes.Authorization) -> str:
    """The filter that asks this server."""
    return OPEN if node.fail_open else CLOSED


def policy(node: nodes.Authorization, cluster: str) -> pb.ExtAuthzPerRoute:
    """Which server decides, and what it is told."""
    result = pb.ExtAuthzPerRoute()
    settings = result.check_settings
    for key, value in node.context:
        settings.context_extensions[key] = value
    if node.body is not None:
        settings.with_request_body.max_request_bytes = node.body.max_bytes
        settings.with_request_body.allow_partial_message = node.body.allow_partial
        settings.with_request_body.pack_as_bytes = node.body.as_bytes
    if node.protocol == "grpc":
        service = encoding.grpc(cluster, node.authority)
        service.timeout.CopyFrom(encoding.seconds(node.timeout or 0))
        settings.grpc_service.CopyFrom(service)
    else:
        _write_http(settings.http_service, node, cluster)
    return result


def off() -> pb.ExtAuthzPerRoute:
    """No server is asked."""
    return pb.ExtAuthzPerRoute(disabled=True)


def _write_http(target: pb.HttpService, node: nodes.Authorization, cluster: str) -> None:
    target.server_uri.CopyFrom(
        http_uri_pb2.HttpUri(
            uri="http://authorization",
            cluster=cluster,
            timeout=encoding.seconds(node.timeout or 0),
        )
    )
    target.path_prefix = node.path_prefix
    _write_patterns(target.authorization_request.allowed_headers, node.request_headers)
    _write_patterns(target.authorization_response.allowed_upstream_headers, node.upstream_headers)


def _write_patterns(
    target: string_pb2.ListStringMatcher, patterns: tuple[nodes.ValueMatch, ...]
) -> None:
    for it in patterns:
        matches.write_value(target.patterns.add(), it)
