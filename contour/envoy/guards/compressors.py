"""The compression algorithms of a route, instead of that of the settings.

Their filters are in a place of their own, and the filter of the settings is disabled on the route.
"""

from collections.abc import Iterable

from envoy.extensions.filters.http.compressor.v3 import compressor_pb2 as pb
from google.protobuf.message import Message

from contour.envoy import compression, enabling
from contour.envoy.guards import places
from dag import nodes

NAME = "contour.compressors"
"""The place of the filters."""

USUAL = {False: enabling.DISABLED, True: enabling.ENABLED}
"""The route's configuration for the filter of the settings: whether requests pass it."""


def policy(found: Iterable[nodes.Compressor]) -> Message:
    """A filter for each algorithm; the client's preferred one is used, the first of equal ones."""
    made = [(compression.NAME, _filter(it, number)) for number, it in enumerate(found)]
    return places.filled_with(made)


def _filter(node: nodes.Compressor, number: int) -> pb.Compressor:
    result = compression.installed(node.algorithm)
    result.choose_first = number == 0
    if node.shortest != compression.SHORTEST:
        common = result.response_direction_config.common_config
        common.min_content_length.value = node.shortest
    return result
