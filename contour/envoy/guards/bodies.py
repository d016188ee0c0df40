"""How large the body of a request may be. It is buffered, so that nobody sees half of one.

The filter knows no "no limit", and would buffer what no route takes; so it stands in a place.
"""

from envoy.extensions.filters.http.buffer.v3 import buffer_pb2 as pb
from google.protobuf.message import Message

from contour.envoy.guards import places

NAME = "contour.body_limit"
"""The place of the filter."""


def policy(limit: int) -> Message:
    """So many bytes."""
    result = pb.Buffer()
    result.max_request_bytes.value = limit
    return places.filled("envoy.filters.http.buffer", result)
