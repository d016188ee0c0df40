"""Rewrites of paths, for backends and in redirects.

Replacing a prefix keeps one slash between the replacement and the rest (Gateway API,
HTTPPathModifier: `/foo` replaced by `/` makes `/foo/bar` into `/bar`), which Envoy's plain prefix
rewrite does not. Where a regex is needed, users' texts are escaped in it.
"""

from typing import TypeAlias

import re2
from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.type.matcher.v3 import regex_pb2

from dag import nodes

Target: TypeAlias = pb.RouteAction | pb.RedirectAction


def write_prefix(target: Target, path: nodes.Path, replacement: str) -> None:
    """Replaces what the route's path matched."""
    kept = replacement.rstrip("/")
    match path:
        case nodes.Segments(matched) | nodes.Prefix(matched) if kept or matched.endswith("/"):
            target.prefix_rewrite = kept + "/" if matched.endswith("/") else kept
        case nodes.Segments(matched) | nodes.Prefix(matched):
            _write_regex(target.regex_rewrite, f"^{re2.escape(matched)}/*", "/")
        case nodes.Exact() | nodes.Regex():
            write_whole(target, replacement or "/")


def write_whole(target: Target, path: str) -> None:
    """Replaces the whole path and keeps the query."""
    _write_regex(target.regex_rewrite, "^/.*", path)


def write_substitution(target: regex_pb2.RegexMatchAndSubstitute, node: nodes.Substitution) -> None:
    """Replaces what a user's expression matches."""
    target.pattern.regex = node.pattern
    target.substitution = node.text


def _write_regex(target: regex_pb2.RegexMatchAndSubstitute, pattern: str, replacement: str) -> None:
    target.pattern.regex = pattern
    # A backslash in a substitution refers to a group.
    target.substitution = replacement.replace("\\", "\\\\")
