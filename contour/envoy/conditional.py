"""Filters that run only for requests with certain headers or hosts, which Envoy itself matches.

Most requests do not match, and a script would cost each of them more than all other filters.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, cast

from envoy.extensions.common.matching.v3 import extension_matcher_pb2 as pb
from envoy.extensions.filters.common.matcher.action.v3 import skip_action_pb2
from envoy.type.matcher.v3 import http_inputs_pb2
from google.protobuf.message import Message
from xds.type.matcher.v3 import matcher_pb2, regex_pb2

from contour.envoy import encoding
from dag.values import hostnames


class HeaderPattern(NamedTuple):
    """A header, and an RE2 expression for its whole value."""

    header: str
    expression: str


def only_if(patterns: tuple[HeaderPattern, ...], content: Message) -> Message:
    """A filter that runs for requests for which one of at least two patterns matches."""
    result = _begun(content)
    skipped = _skipped(result)
    for it in patterns:
        _write(skipped.not_matcher.or_matcher.predicate.add(), it)
    return cast(Message, result)


def for_host(host: str, exceptions: Sequence[str], content: Message) -> Message:
    """A filter that runs for requests for a host, but not for its subdomains.

    It runs for every spelling of the host that Envoy accepts, which ignores everything after the
    last colon, and takes brackets for an address.
    """
    if host == hostnames.EVERY and not exceptions:
        return content
    result = _begun(content)
    if exceptions:
        names = "|".join(_host(it, "[^:]+") for it in exceptions)
        _write(_skipped(result), HeaderPattern(_AUTHORITY, f"(?i)({names})(:[0-9]+)?"))
    if host != hostnames.EVERY:
        pattern = HeaderPattern(_AUTHORITY, f"(?i){_host(host, '.+')}(:.*)?")
        _write(_skipped(result).not_matcher, pattern)
    return cast(Message, result)


_AUTHORITY = ":authority"


def _host(name: str, labels: str) -> str:
    return labels + re.escape(name[1:]) if name.startswith("*.") else re.escape(name)


def _begun(content: Message) -> pb.ExtensionWithMatcher:
    result = pb.ExtensionWithMatcher()
    result.extension_config.name = "conditional"
    result.extension_config.typed_config.CopyFrom(encoding.packed(content))
    return result


def _skipped(target: pb.ExtensionWithMatcher) -> matcher_pb2.Matcher.MatcherList.Predicate:
    """Adds an empty condition, to be filled in, under which the filter does not run."""
    added = target.xds_matcher.matcher_list.matchers.add()
    added.on_match.action.name = "skip"
    added.on_match.action.typed_config.CopyFrom(encoding.packed(skip_action_pb2.SkipFilter()))
    return added.predicate


def _write(target: matcher_pb2.Matcher.MatcherList.Predicate, pattern: HeaderPattern) -> None:
    wanted = target.single_predicate
    wanted.input.name = pattern.header
    wanted.input.typed_config.CopyFrom(
        encoding.packed(http_inputs_pb2.HttpRequestHeaderMatchInput(header_name=pattern.header))
    )
    expression = regex_pb2.RegexMatcher(regex=pattern.expression)
    expression.google_re2.SetInParent()
    wanted.value_match.safe_regex.CopyFrom(expression)
