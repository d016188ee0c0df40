"""Filters that run only for requests with certain headers; Envoy looks at these by itself.

Most requests do not have them, and a script would cost each of them more than all else it needs.
"""

from typing import NamedTuple, cast

from envoy.extensions.common.matching.v3 import extension_matcher_pb2 as pb
from envoy.extensions.filters.common.matcher.action.v3 import skip_action_pb2
from envoy.type.matcher.v3 import http_inputs_pb2
from google.protobuf.message import Message
from xds.type.matcher.v3 import matcher_pb2, regex_pb2

from contour.envoy import encoding


class HeaderPattern(NamedTuple):
    """A header, and an RE2 expression that its whole value matches."""

    header: str
    expression: str


def only_if(patterns: tuple[HeaderPattern, ...], content: Message) -> Message:
    """A filter that runs for requests for which one of at least two patterns matches."""
    result = pb.ExtensionWithMatcher()
    result.extension_config.name = "conditional"
    result.extension_config.typed_config.CopyFrom(encoding.packed(content))
    skipped = result.xds_matcher.matcher_list.matchers.add()
    for it in patterns:
        _write(skipped.predicate.not_matcher.or_matcher.predicate.add(), it)
    skipped.on_match.action.name = "skip"
    skipped.on_match.action.typed_config.CopyFrom(encoding.packed(skip_action_pb2.SkipFilter()))
    return cast(Message, result)


def _write(target: matcher_pb2.Matcher.MatcherList.Predicate, pattern: HeaderPattern) -> None:
    wanted = target.single_predicate
    wanted.input.name = pattern.header
    wanted.input.typed_config.CopyFrom(
        encoding.packed(http_inputs_pb2.HttpRequestHeaderMatchInput(header_name=pattern.header))
    )
    expression = regex_pb2.RegexMatcher(regex=pattern.expression)
    expression.google_re2.SetInParent()
    wanted.value_match.safe_regex.CopyFrom(expression)
