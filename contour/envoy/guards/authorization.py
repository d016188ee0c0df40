"""Authorization servers (Envoy's ext_authz filter); each route may have another one.

Three settings belong to the filter and not to a route: whether requests pass if the server is
unreachable, whether bodies are sent as bytes or as text, and which headers an HTTP server gets. So
there are four filters for gRPC, of which a route uses one and turns off the others (`off`). For
HTTP there is a place in the chain, into which a route puts a filter of its own (`places`). A server
can neither see nor change our own headers, so it cannot send a request to another table of hosts.
Nor can it change what no route can: the framing of a message, and Envoy's headers about the client.
"""

from collections.abc import Iterator
from typing import NamedTuple

from envoy.config.core.v3 import config_source_pb2, http_uri_pb2
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2 as pb
from envoy.type.matcher.v3 import metadata_pb2, string_pb2
from envoy.type.v3 import http_status_pb2
from google.protobuf.message import Message

from contour.envoy import encoding, matches
from contour.envoy.guards import places
from dag import nodes
from dag.values import headers

CLOSED = "envoy.filters.http.ext_authz"
OPEN = "envoy.filters.http.ext_authz.fail_open"
BYTES = "envoy.filters.http.ext_authz.bytes"
OPEN_BYTES = "envoy.filters.http.ext_authz.fail_open.bytes"
HTTP = "envoy.filters.http.ext_authz.http"

_GRPC = (
    (CLOSED, False, False),
    (OPEN, True, False),
    (BYTES, False, True),
    (OPEN_BYTES, True, True),
)
"""The filters for gRPC: the name, whether it fails open, whether it sends bytes."""


class Unasked(NamedTuple):
    """The dynamic metadata of a request about which no server is asked."""

    place: str = "contour.authorization"
    key: str = "asked"
    value: str = "nobody"


UNASKED = Unasked()
"""Written by the script that finds a table, which runs after these filters have been created
(`scripts`)."""

_NOBODY = "no-authorization-server"
"""A cluster that does not exist, for routes that name no server: no request passes."""
_PRIVATE = "x-contour-"
_KEPT = sorted({*headers.HOP_BY_HOP, headers.FRAMING, *headers.TOLD_BY_ENVOY})
_UNTOUCHED = f"(?i)(:.*|{_PRIVATE}.*|{'|'.join(_KEPT)})"
"""Headers that servers must not change, beside `x-envoy-…` and `host`, which Envoy itself protects.
With another `:path` a request would be routed again, past the guards that have run before."""


NAMES = (*(name for name, _, _ in _GRPC), HTTP)
"""The filters of every chain, in their order."""


def installed(name: str) -> Message:
    """The filter in every chain under one of these names."""
    kinds = {it: (fails_open, as_bytes) for it, fails_open, as_bytes in _GRPC}
    if name not in kinds:
        return places.installed()
    fails_open, as_bytes = kinds[name]
    result = _filter(fails_open=fails_open)
    if as_bytes:
        result.with_request_body.CopyFrom(pb.BufferSettings(max_request_bytes=1024))
        result.with_request_body.pack_as_bytes = True
    result.grpc_service.CopyFrom(encoding.grpc(_NOBODY))
    _write_unless(result.filter_enabled_metadata)
    return result


def _write_unless(target: metadata_pb2.MetadataMatcher) -> None:
    """Asks the server about every request, except those that the script has marked (`UNASKED`)."""
    target.filter = UNASKED.place
    target.path.add(key=UNASKED.key)
    target.value.string_match.exact = UNASKED.value
    target.invert = True


def off() -> Iterator[tuple[str, Message]]:
    """No server is asked, by any of the filters."""
    for name, _, _ in _GRPC:
        yield name, pb.ExtAuthzPerRoute(disabled=True)
    yield HTTP, places.empty()


def always(node: nodes.Authorization, cluster: str) -> Message:
    """A filter of its own that asks one server about every request that reaches it."""
    if node.protocol == "http":
        return _http(node, cluster)
    result = _filter(fails_open=node.fail_open)
    if node.body is not None:
        result.with_request_body.CopyFrom(_body(node.body))
    if node.request_headers:
        _write_patterns(result.allowed_headers, node.request_headers)
    result.grpc_service.CopyFrom(encoding.grpc(cluster, node.authority))
    result.grpc_service.timeout.CopyFrom(encoding.seconds(node.timeout or 0))
    return result


def policy(node: nodes.Authorization, cluster: str) -> Iterator[tuple[str, Message]]:
    """The server of a route, and what it is sent; filters that it does not use are turned off."""
    told = dict(off())
    if node.protocol == "grpc" and not node.request_headers:
        wanted = (node.fail_open, node.body is not None and node.body.as_bytes)
        told[next(name for name, *kind in _GRPC if tuple(kind) == wanted)] = _grpc(node, cluster)
    else:  # Envoy has no list of headers for a route, so the route has a filter of its own
        told[HTTP] = places.filled(CLOSED, always(node, cluster))
    yield from told.items()


def _filter(*, fails_open: bool) -> pb.ExtAuthz:
    result = pb.ExtAuthz(
        transport_api_version=config_source_pb2.V3,
        failure_mode_allow=fails_open,
        clear_route_cache=True,
        include_peer_certificate=True,
        validate_mutations=True,
        status_on_error=http_status_pb2.HttpStatus(code=http_status_pb2.Forbidden),
    )
    result.disallowed_headers.patterns.add(prefix=_PRIVATE)
    result.decoder_header_mutation_rules.disallow_expression.regex = _UNTOUCHED
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
