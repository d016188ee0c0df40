"""Settings of HTTP/2, for clients and for backends."""

from envoy.config.core.v3 import protocol_pb2
from google.protobuf import duration_pb2

from dag import nodes


def write(
    target: protocol_pb2.Http2ProtocolOptions, node: nodes.ClientTraffic | nodes.Http2
) -> None:
    """Fills in what a policy says."""
    if node.stream_window is not None:
        target.initial_stream_window_size.value = node.stream_window
    if node.connection_window is not None:
        target.initial_connection_window_size.value = node.connection_window
    if node.max_streams is not None:
        target.max_concurrent_streams.value = node.max_streams
    if node.ends_stream_only is not None:
        target.override_stream_error_on_invalid_http_message.value = node.ends_stream_only
    if node.pings is not None:
        pings = target.connection_keepalive
        write_duration(pings.interval, node.pings.interval)
        write_duration(pings.timeout, node.pings.timeout)
        write_duration(pings.connection_idle_interval, node.pings.idle)
        pings.interval_jitter.value = node.pings.jitter


def write_duration(target: duration_pb2.Duration, number: float | None) -> None:
    """Fills in seconds, to the microsecond."""
    if number is not None:
        target.SetInParent()
        target.FromMicroseconds(round(number * 1_000_000))
