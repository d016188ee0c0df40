"""Which filter chain serves a connection: the listener's matcher over the name a client asks for.

The matcher is no part of any chain: Envoy takes a new one without draining connections, where a
name added to a chain's own list would drain that chain. Each host is a piece of its own; an encoded
message that occurs in several pieces is merged by whoever decodes them (Protocol Buffers, "Last One
Wins"), so the entries of all hosts make one map:

    exact names → their chains; else wildcards, the longest first → theirs; else → the default chain

10,000 hosts over 100 certificates: 1.5 MB, Envoy serves a new host after 57 ms and takes 260 MB;
with a chain per host it was 2.9 s and 700 MB.
"""

from collections.abc import Iterable

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.matching.common_inputs.network.v3 import network_inputs_pb2
from google.protobuf import wrappers_pb2
from xds.type.matcher.v3 import domain_pb2, matcher_pb2

from contour.envoy import encoding

_INPUT = "envoy.matching.inputs.server_name"
_WILDCARDS = "envoy.matching.custom_matchers.domain_matcher"


def exact_input() -> bytes:
    """What the map of exact names looks at; must be there if, and only if, there is one."""
    result = listener_pb2.Listener()
    _write_input(result.filter_chain_matcher.matcher_tree)
    return encoding.encoded(result)


def exact(host: str, chain: str) -> bytes:
    """One entry of the map of exact names."""
    result = listener_pb2.Listener()
    entries = result.filter_chain_matcher.matcher_tree.exact_match_map.map
    _write_chain(entries[host], chain)
    return encoding.encoded(result)


def wildcards(chains: Iterable[tuple[str, str]]) -> bytes:
    """Hosts such as `*.example.com` with their chains: a listener's all in one."""
    matcher = domain_pb2.ServerNameMatcher()
    for host, chain in chains:
        entry = matcher.domain_matchers.add(domains=[host])
        _write_chain(entry.on_match, chain)
    result = listener_pb2.Listener()
    tree = result.filter_chain_matcher.on_no_match.matcher.matcher_tree
    _write_input(tree)
    tree.custom_match.name = _WILDCARDS
    tree.custom_match.typed_config.CopyFrom(encoding.packed(matcher))
    return encoding.encoded(result)


def default(chain: str) -> bytes:
    """Every other name, and none. Without this piece such connections are closed."""
    result = listener_pb2.Listener()
    _write_chain(result.filter_chain_matcher.on_no_match.matcher.on_no_match, chain)
    return encoding.encoded(result)


def _write_input(target: matcher_pb2.Matcher.MatcherTree) -> None:
    target.input.name = _INPUT
    target.input.typed_config.Pack(network_inputs_pb2.ServerNameInput())


def _write_chain(target: matcher_pb2.Matcher.OnMatch, chain: str) -> None:
    target.action.name = "chain"  # Envoy goes by the type; each host has a copy
    target.action.typed_config.Pack(wrappers_pb2.StringValue(value=chain))
