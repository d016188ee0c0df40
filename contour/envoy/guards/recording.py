"""Records headers in the dynamic metadata of a request: Envoy's header_to_metadata filter."""

from envoy.extensions.filters.http.header_to_metadata.v3 import header_to_metadata_pb2 as pb

FILTER = "envoy.filters.http.header_to_metadata"


def nothing() -> pb.Config:
    """Records nothing unless a route configures it."""
    return pb.Config()


def rule(header: str, place: str, key: str, pattern: str = "", by: str = "") -> pb.Config.Rule:
    """Records a header under a key of a place (namespace), if it is there; what matches the pattern
    is replaced by `by` there."""
    result = pb.Config.Rule(header=header)
    found = result.on_header_present
    found.metadata_namespace, found.key = place, key
    if pattern:
        found.regex_value_rewrite.pattern.regex = pattern
        found.regex_value_rewrite.substitution = by
    return result
