"""A server that decides over each request (Envoy's ext_authz filter), another one on every route.

Whether an unreachable server closes or opens, and which headers one that speaks HTTP gets, are
properties of the filter and not of a route. So for gRPC there are two filters, and a route speaks
to the one and not to the other; both are off by the heads of all RouteConfigurations (`off`), and
what a route says stands above that. For HTTP there is a place in the chain, into which a route puts
a filter of its own (`places`). A server cannot send a request to other tables of hosts than its
own: our headers are none it sees or may change.
"""

from collections.abc import Iterator

from envoy.config.core.v3 import http_uri_pb2
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2 as pb
from envoy.type.matcher.v3 import string_pb2
from envoy.type.v3 import http_status_pb2
from google.protobuf.message import Message

from contour.envoy import encoding, matches
from contour.envoy.guards import places
from dag import nodes

CLOSED = "envoy.filters.http.ext_authz"
OPEN = "envoy.filters.http.ext_authz.fail_open"
HTTP = "envoy.filters.http.ext_authz.http"

_NOBODY = "no-authorization-server"
"""The cluster that does not exist, of routes that name no server: nobody gets past it."""
_PRIVATE = "x-contour-"


def installed() -> Iterator[tuple[str, Message]]:
    """The filters of every chain, by name."""
    for name in (CLOSED, OPEN):
        filter_ = _filter(fails_open=name == OPEN)
        filter_.grpc_service.CopyFrom(encoding.grpc(_NOBODY))
        yield name, filter_
    yield HTTP, places.installed()


def off() -> Iterator[tuple[str, Message]]:
    """No server is asked, by any of the filters."""
    yield CLOSED, pb.ExtAuthzPerRoute(disabled=True)
    yield OPEN, pb.ExtAuthzPerRoute(disabled=True)
    yield HTTP, places.empty()


def policy(node: nodes.Authorization, cluster: str) -> Iterator[tuple[str, Message]]:
    """Which server decides, and what it is told; the filters that it does not take are off."""
    told = dict(off())
    if node.protocol == "grpc":
        told[OPEN if node.fail_open else CLOSED] = _grpc(node, cluster)
    else:
        told[HTTP] = places.filled(CLOSED, _http(node, cluster))
    yield from told.items()


def _filter(*, fails_open: bool) -> pb.ExtAuthz:
    result = pb.ExtAuthz(
        transport_api_version="V3",
        failure_mode_allow=fails_open,
        clear_route_cache=True,
        include_peer_certificate=True,
        status_on_error=http_status_pb2.HttpStatus(code=403),
    )
    result.disallowed_headers.patterns.add(prefix=_PRIVATE)
    result.decoder_header_mutation_rules.disallow_expression.regex = f"(?i){_PRIVATE}.*"
    return result


def _grpc(node: nodes.Authorization, cluster: str) -> pb.ExtAuthzPerRoute:
    result = pb.ExtAuthzPerRoute()
    settings = result.check_settings
    for key, value in node.context:
        settings.context_extensions[key] = value
    if node.body is not None:
        settings.with_request_body.CopyFrom(_body(node.body))
    settings.grpc_service.CopyFrom(encoding.grpc(cluster, node.authority))
    settings.grpc_service.timeout.CopyFrom(encoding.seconds(node.timeout or 0))
    return result


def _http(node: nodes.Authorization, cluster: str) -> pb.ExtAuthz:
    result = _filter(fails_open=node.fail_open)
    if node.body is not None:
        result.with_request_body.CopyFrom(_body(node.body))
    _write_patterns(result.allowed_headers, node.request_headers)
    service = result.http_service
    service.path_prefix = node.path_prefix
    service.server_uri.CopyFrom(
        http_uri_pb2.HttpUri(
            uri="http://authorization",
            cluster=cluster,
            timeout=encoding.seconds(node.timeout or 0),
        )
    )
    _write_patterns(service.authorization_response.allowed_upstream_headers, node.upstream_headers)
    return result


def _body(node: nodes.AuthorizationBody) -> pb.BufferSettings:
    return pb.BufferSettings(
        max_request_bytes=node.max_bytes,
        allow_partial_message=node.allow_partial,
        pack_as_bytes=node.as_bytes,
    )


def _write_patterns(
    target: string_pb2.ListStringMatcher, patterns: tuple[nodes.ValueMatch, ...]
) -> None:
    for it in patterns:
        matches.write_value(target.patterns.add(), it)
