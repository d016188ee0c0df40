"""The size limit of request bodies. Bodies are buffered, so that no backend gets part of one.

Envoy compares what it has with the limit while more is to come: it does not compare a body that
arrives in one piece, such as one frame of HTTP/2 (at most 16 KiB).

The filter cannot be configured without a limit, and would buffer requests without a route; so it is
in a place.
"""

from envoy.extensions.filters.http.buffer.v3 import buffer_pb2 as pb
from google.protobuf.message import Message

from contour.envoy.guards import places

NAME = "contour.body_limit"
"""The place of the filter."""


def policy(limit: int) -> Message:
    """A limit in bytes."""
    result = pb.Buffer()
    result.max_request_bytes.value = limit
    return places.filled("envoy.filters.http.buffer", result)
