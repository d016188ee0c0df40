"""Guards of streams: network filters in front of Envoy's TCP proxy.

The listener also checks addresses, earlier (`server_names`): Envoy's network RBAC filter decides
when the first byte of a client arrives, and by then the proxy has dialled the backend
(envoyproxy/envoy#9023), so a silent client would read the backend's greeting. The filter applies in
addition, however a connection reached its chain. The limits decide before anything is dialled.
"""

from collections.abc import Iterator

from envoy.extensions.filters.network.local_ratelimit.v3 import local_rate_limit_pb2 as local_pb
from envoy.extensions.filters.network.ratelimit.v3 import rate_limit_pb2 as global_pb
from envoy.extensions.filters.network.rbac.v3 import rbac_pb2
from google.protobuf.message import Message

from contour.envoy import encoding, headers
from contour.envoy.guards import addresses, ratelimits
from contour.envoy.policy import Downstream
from dag import nodes

ADDRESSES = "envoy.filters.network.rbac"
LOCAL = "envoy.filters.network.local_ratelimit"
GLOBAL = "envoy.filters.network.ratelimit"


def filters(
    stat_prefix: str, node: nodes.StreamGuards | None, policy: Downstream
) -> Iterator[tuple[str, Message]]:
    """The filters, by name, in the order in which they decide."""
    if node is None:
        return
    if node.ip_filter is not None:
        rules = rbac_pb2.RBAC(stat_prefix=f"{stat_prefix}.")
        addresses.write_rules(rules.rules, node.ip_filter)
        yield ADDRESSES, rules
    if node.limit is not None:
        yield LOCAL, _local(stat_prefix, node.limit)
    if node.descriptors and policy.rate_limits is not None:
        cluster = policy.names[policy.rate_limits.cluster]
        yield GLOBAL, _global(stat_prefix, node, policy.rate_limits, cluster)


def _local(stat_prefix: str, node: nodes.ConnectionLimit) -> local_pb.LocalRateLimit:
    result = local_pb.LocalRateLimit(stat_prefix=stat_prefix)
    bucket = result.token_bucket
    bucket.max_tokens = node.connections + node.burst
    bucket.tokens_per_fill.value = node.connections
    bucket.fill_interval.CopyFrom(encoding.seconds(ratelimits.SECONDS[node.unit]))
    return result


def _global(
    stat_prefix: str, node: nodes.StreamGuards, service: nodes.RateLimitService, cluster: str
) -> global_pb.RateLimit:
    result = global_pb.RateLimit(
        stat_prefix=stat_prefix, domain=service.domain, failure_mode_deny=not service.fail_open
    )
    for entries in node.descriptors:
        descriptor = result.descriptors.add()
        for it in entries:
            key, value = _entry(it)
            descriptor.entries.add(key=key, value=value)
    ratelimits.write_service(result, service, cluster)
    return result


def _entry(node: nodes.GenericKey | nodes.RemoteAddress) -> tuple[str, str]:
    """An entry of a descriptor. Envoy reads values as formats; keys are those of the HTTP
    filter."""
    if isinstance(node, nodes.RemoteAddress):
        return "remote_address", "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"
    return node.key, headers.literal(node.value)
