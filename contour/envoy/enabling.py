"""A route's configuration for a filter that says only whether requests pass the filter."""

from envoy.config.route.v3 import route_components_pb2 as pb
from google.protobuf.any_pb2 import Any as Packed

from contour.envoy import encoding


def _packed(*, disabled: bool) -> Packed:
    result = pb.FilterConfig(disabled=disabled)
    if not disabled:
        result.config.SetInParent()
    return encoding.packed(result)


DISABLED = _packed(disabled=True)
"""Requests do not pass the filter."""

ENABLED = _packed(disabled=False)
"""Requests pass the filter, without further configuration."""
