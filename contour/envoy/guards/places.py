"""Places in a filter chain into which a route puts a filter of its own (Envoy's `Composite`).

For filters that a route cannot configure completely, and for those that are not stable in Envoy:
they run only for routes that use them.
"""

from collections.abc import Sequence
from typing import cast

from envoy.config.core.v3 import extension_pb2
from envoy.extensions.common.matching.v3 import extension_matcher_pb2 as pb
from envoy.extensions.filters.common.matcher.action.v3 import skip_action_pb2
from envoy.extensions.filters.http.composite.v3 import composite_pb2
from google.protobuf.message import Message
from xds.type.matcher.v3 import matcher_pb2

from contour.envoy import encoding


def installed() -> Message:
    """An empty place."""
    result = pb.ExtensionWithMatcher(xds_matcher=_always(skip_action_pb2.SkipFilter()))
    result.extension_config.name = "composite"
    result.extension_config.typed_config.Pack(composite_pb2.Composite())
    return cast(Message, result)


def filled(name: str, content: Message) -> Message:
    """A route's configuration that puts one filter there, with its whole configuration."""
    return filled_with([(name, content)])


def filled_with(filters: Sequence[tuple[str, Message]]) -> Message:
    """A route's configuration that puts several filters there, in order, each with its name."""
    found = _always(action(filters))
    return cast(Message, pb.ExtensionWithMatcherPerRoute(xds_matcher=found))


def action(filters: Sequence[tuple[str, Message]]) -> composite_pb2.ExecuteFilterAction:
    """Runs several filters in order, each with its name and whole configuration."""
    made = [
        extension_pb2.TypedExtensionConfig(name=name, typed_config=encoding.packed(content))
        for name, content in filters
    ]
    result = composite_pb2.ExecuteFilterAction()
    if len(made) == 1:
        result.typed_config.CopyFrom(made[0])
    else:
        result.filter_chain.typed_config.extend(made)
    return result


def empty() -> Message:
    """An empty place instead of the virtual host's filters."""
    skipped = _always(skip_action_pb2.SkipFilter())
    return cast(Message, pb.ExtensionWithMatcherPerRoute(xds_matcher=skipped))


def _always(action: Message) -> matcher_pb2.Matcher:
    result = matcher_pb2.Matcher()
    result.on_no_match.action.name = "place"
    result.on_no_match.action.typed_config.CopyFrom(encoding.packed(action))
    return result
