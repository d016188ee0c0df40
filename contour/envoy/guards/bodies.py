"""How large the body of a request may be. It is buffered, so that nobody sees half of one.

The filter is off by the heads of all RouteConfigurations, for in a chain it needs a limit.
"""

from envoy.extensions.filters.http.buffer.v3 import buffer_pb2 as pb

NAME = "envoy.filters.http.buffer"


def installed() -> pb.Buffer:
    """A limit that no route has."""
    result = pb.Buffer()
    result.max_request_bytes.value = 1
    return result


def policy(limit: int) -> pb.BufferPerRoute:
    """So many bytes."""
    result = pb.BufferPerRoute()
    result.buffer.max_request_bytes.value = limit
    return result


def off() -> pb.BufferPerRoute:
    """No limit, and nothing is buffered."""
    return pb.BufferPerRoute(disabled=True)
