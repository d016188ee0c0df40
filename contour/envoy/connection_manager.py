"""The HTTP connection manager: how requests of a connection are read before they are routed.

It is hardened as in Envoy's guide "Configuring Envoy as an edge proxy": paths are normalized before
they are routed, and there are limits for unauthenticated clients. Contour's value is used where it
is stricter or its users rely on it.
"""

from collections.abc import Iterable
from typing import TypeAlias

from envoy.config.accesslog.v3 import accesslog_pb2
from envoy.config.core.v3 import protocol_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as pb,
)
from google.protobuf import duration_pb2

from contour.envoy import encoding, logs, shards
from contour.envoy import filters as http_filters
from contour.envoy.policy import Downstream
from dag import nodes
from dag.values import statuses

_STREAMS = 100
_HEADERS = 256
"""Browsers keep up to 180 cookies for a site and send each as a field of its own (RFC 9113, section
8.2.3). Envoy's own limit is 100; that of 60 KiB for all fields holds as well."""
_STREAM_WINDOW = 1024 * 1024
"""Bytes of a request that a client can send per round trip. With 64 KiB, as in Envoy's guide, an
upload over 100 ms gets 0.6 MB/s; with this value, 10 MB/s."""
_CONNECTION_WINDOW = 4 * _STREAM_WINDOW
"""Bytes that a client can make Envoy buffer: large enough that a few stalled uploads do not stop
the others."""

Pb: TypeAlias = pb.HttpConnectionManager


def plain(listener: str, policy: Downstream) -> Pb:
    """For plain HTTP."""
    result = _hardened(listener, policy, http_filters.plain(listener, policy))
    result.access_log.extend(logs.access_logs(policy.edge.http_log))
    return _routed(result, listener, policy, _HOST)


def secure(listener: str, policy: Downstream, tls: nodes.Tls) -> Pb:
    """For TLS connections with a known server name."""
    result = _hardened(listener, policy, http_filters.secure(listener, policy, tls))
    result.access_log.extend(logs.access_logs(policy.edge.https_log))
    _write_client(result, tls.clients)
    return _routed(result, listener, policy, f"%REQUESTED_SERVER_NAME%@{_HOST}")


def default(listener: str, policy: Downstream, tls: nodes.Tls) -> Pb:
    """For TLS connections without a known server name."""
    result = _hardened(listener, policy, http_filters.default(listener, policy, tls))
    result.access_log.extend(logs.access_logs(policy.edge.https_log))
    _write_client(result, tls.clients)
    return _routed(result, listener, policy, "")


def shared(listener: str, policy: Downstream, *, is_secure: bool) -> Pb:
    """What is the same for all connections of a listener: without routes and scripts."""
    result = _hardened(listener, policy, http_filters.shared(policy))
    edge = policy.edge
    result.access_log.extend(logs.access_logs(edge.https_log if is_secure else edge.http_log))
    return result


_HOST = "%REQ(:AUTHORITY)%"


def _routed(target: Pb, listener: str, policy: Downstream, said: str) -> Pb:
    """Fills in the source of routes: scoped RouteConfigurations, or the only one."""
    if policy.sharded:
        shards.write_scopes(target, listener, said)
    else:
        target.rds.route_config_name = listener
        target.rds.config_source.CopyFrom(encoding.aggregated())
    return target


def _write_client(target: Pb, node: nodes.ClientValidation | None) -> None:
    """Fills in what backends are told about the client's certificate; headers of clients about it
    are removed."""
    if node is None or node.forward is None:
        return
    target.forward_client_cert_details = Pb.SANITIZE_SET
    told = target.set_current_client_cert_details
    told.subject.value = node.forward.subject
    told.cert = node.forward.certificate
    told.chain = node.forward.chain
    told.dns = node.forward.dns
    told.uri = node.forward.uri


def _hardened(listener: str, policy: Downstream, filters: Iterable[pb.HttpFilter]) -> Pb:
    result = Pb(stat_prefix=listener, http_filters=filters, codec_type=_codec(policy))
    result.normalize_path.value = policy.edge.normalize_path
    result.merge_slashes = policy.merge_slashes
    result.path_with_escaped_slashes_action = SLASHES[policy.edge.escaped_slashes]
    underscores = UNDERSCORES[policy.edge.underscores]
    result.common_http_protocol_options.headers_with_underscores_action = underscores
    result.use_remote_address.value = True
    result.xff_num_trusted_hops = policy.num_trusted_hops
    result.strip_trailing_host_dot = policy.strip_trailing_host_dot
    result.preserve_external_request_id = True
    result.http_protocol_options.accept_http_10 = True
    result.http_protocol_options.allow_chunked_length = policy.edge.allow_chunked_length
    result.common_http_protocol_options.max_headers_count.value = (
        policy.edge.max_headers or _HEADERS
    )
    _write_http2(result.http2_protocol_options, policy.edge)
    _write_timeouts(result, policy)
    _write_edge(result, policy)
    _write_local_replies(result.local_reply_config)
    return result


SLASHES = {
    "UnescapeAndRedirect": Pb.UNESCAPE_AND_REDIRECT,
    "UnescapeAndForward": Pb.UNESCAPE_AND_FORWARD,
    "Keep": Pb.KEEP_UNCHANGED,
    "Reject": Pb.REJECT_REQUEST,
}
UNDERSCORES = {
    "Reject": protocol_pb2.HttpProtocolOptions.REJECT_REQUEST,
    "Drop": protocol_pb2.HttpProtocolOptions.DROP_HEADER,
    "Allow": protocol_pb2.HttpProtocolOptions.ALLOW,
}
_SERVER = {
    "overwrite": Pb.OVERWRITE,
    "append_if_absent": Pb.APPEND_IF_ABSENT,
    "pass_through": Pb.PASS_THROUGH,
}


def _write_edge(target: Pb, policy: Downstream) -> None:
    edge = policy.edge
    target.server_header_transformation = _SERVER[edge.server_header]
    if edge.max_requests_per_connection is not None:
        most = target.common_http_protocol_options.max_requests_per_connection
        most.value = edge.max_requests_per_connection
    if edge.tracing is not None:
        cluster = policy.names[edge.tracing.cluster]
        target.tracing.CopyFrom(logs.tracing(edge.tracing, cluster))


_Comparison = accesslog_pb2.ComparisonFilter


def _write_local_replies(target: pb.LocalReplyConfig) -> None:
    """Takes the body of Envoy's own answers with a status that has none. Envoy would send it, and
    clients would take it for the next response on the connection (RFC 9112, section 6.3).

    An authorization server may also refuse a request with a status that no answer has, or only one
    that another answer follows (RFC 9110, section 15.2): clients get 403.
    """
    bodiless = target.mappers.add()
    bodiless.body.inline_string = ""
    for status in sorted(statuses.BODILESS):
        _write_status(bodiless, _Comparison.EQ, status)
    wrong = target.mappers.add()
    wrong.body.inline_string = ""
    wrong.status_code.value = 403
    _write_status(wrong, _Comparison.LE, 199)
    _write_status(wrong, _Comparison.GE, 600)


def _write_status(target: pb.ResponseMapper, how: _Comparison.Op.ValueType, status: int) -> None:
    """Adds a condition on the status, of which one has to be met."""
    comparison = target.filter.or_filter.filters.add().status_code_filter.comparison
    comparison.op = how
    comparison.value.default_value = status
    comparison.value.runtime_key = f"contour.answers.without_body.{status}"


def _codec(policy: Downstream) -> Pb.CodecType.ValueType:
    if "HTTP/2" not in policy.http_versions:
        return Pb.HTTP1
    return Pb.AUTO if "HTTP/1.1" in policy.http_versions else Pb.HTTP2


def _write_http2(target: protocol_pb2.Http2ProtocolOptions, edge: nodes.Edge) -> None:
    """Fills in how many streams a client may open, and its flow control windows."""
    stream = edge.stream_window or _STREAM_WINDOW
    target.max_concurrent_streams.value = edge.max_concurrent_streams or _STREAMS
    target.initial_stream_window_size.value = stream
    connection = edge.connection_window or max(_CONNECTION_WINDOW, stream)
    target.initial_connection_window_size.value = connection


def _write_timeouts(target: Pb, policy: Downstream) -> None:
    given, connection = policy.timeouts, target.common_http_protocol_options
    for field, number in (
        (target.request_timeout, given.request),
        (target.request_headers_timeout, given.request_headers),
        (target.stream_idle_timeout, given.stream_idle),
        (target.delayed_close_timeout, given.delayed_close),
        (target.drain_timeout, given.connection_shutdown_grace),
        (connection.idle_timeout, given.connection_idle),
        (connection.max_connection_duration, given.max_connection_duration),
    ):
        _write_duration(field, number)


def _write_duration(target: duration_pb2.Duration, number: float | None) -> None:
    if number is not None:
        target.SetInParent()
        target.FromMicroseconds(round(number * 1_000_000))
