"""Rate limits: local ones in Envoy itself, global ones by a rate limit service.

A local limit of a virtual host is one bucket for all its routes, because Envoy keeps a bucket for
each configuration. Global limits are sent as descriptors; Envoy sends none for a route without a
cluster, so rules warn about that.
"""

from collections.abc import Iterable
from typing import TypeAlias

from envoy.config.core.v3 import config_source_pb2
from envoy.config.ratelimit.v3 import rls_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb
from envoy.extensions.filters.http.local_ratelimit.v3 import local_rate_limit_pb2 as local_pb
from envoy.extensions.filters.http.ratelimit.v3 import rate_limit_pb2 as global_pb
from envoy.extensions.filters.network.ratelimit.v3 import rate_limit_pb2 as streams_pb
from envoy.type.v3 import http_status_pb2, percent_pb2, token_bucket_pb2

from contour.envoy import encoding, headers, names
from contour.envoy.guards import counted
from contour.ratelimits import messages
from dag import nodes

LOCAL = "envoy.filters.http.local_ratelimit"
GLOBAL = "envoy.filters.http.ratelimit"
FILTERS = "envoy.filters.http.ratelimit.filters"
"""The filter for RateLimitFilters and BackendTrafficPolicies, which another service counts."""
_STAGE = 1
"""The stage of `FILTERS`, which ignores the limits of `GLOBAL`, of stage 0."""

_COUNTED = "local"
"""The prefix of what Envoy counts of all buckets. After `http` it would take the rest for the name
of a connection manager, and call the metric `envoy_rate_limited`. The installed filter, which
counts nothing, keeps that prefix: another would drain all connections once."""

Target: TypeAlias = route_pb.VirtualHost | route_pb.RouteAction

SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86400,
    "week": 7 * 86400,
    "month": 30 * 86400,
    "year": 365 * 86400,
}


def installed_local() -> local_pb.LocalRateLimit:
    """Without a bucket nothing is limited."""
    return local_pb.LocalRateLimit(stat_prefix="http")


def installed_global(node: nodes.RateLimitService, cluster: str) -> global_pb.RateLimit:
    """The filter for the service that counts; it is not asked without descriptors."""
    result = global_pb.RateLimit(
        domain=node.domain,
        failure_mode_deny=not node.fail_open,
        rate_limited_as_resource_exhausted=node.resource_exhausted,
    )
    if node.x_ratelimit_headers:
        result.enable_x_ratelimit_headers = global_pb.RateLimit.DRAFT_VERSION_03
    write_service(result, node, cluster)
    return result


def write_service(
    target: global_pb.RateLimit | streams_pb.RateLimit, node: nodes.RateLimitService, cluster: str
) -> None:
    """Fills in which service is asked, and for how long it is waited."""
    if node.timeout is not None:
        target.timeout.CopyFrom(encoding.seconds(node.timeout))
    target.rate_limit_service.CopyFrom(
        rls_pb2.RateLimitServiceConfig(
            grpc_service=encoding.grpc(cluster), transport_api_version=config_source_pb2.V3
        )
    )


def installed_filters(node: nodes.RateLimitService, cluster: str) -> global_pb.RateLimit:
    """The filter for the service that counts for RateLimitFilters and policies; routes without
    limits do not ask it."""
    result = installed_global(node, cluster)
    result.stage = _STAGE
    return result


def limits(found: Iterable[nodes.Limit], bucket: str) -> global_pb.RateLimitPerRoute:
    """The descriptors for the requests of a route, which are counted in a bucket of this name."""
    result = global_pb.RateLimitPerRoute()
    for it in found:
        target = result.rate_limits.add()
        counted.write_key(target.actions.add(), RULE, names.limit_rule(it.owner, it.rule))
        counted.write_key(target.actions.add(), BUCKET, SHARED if it.is_shared else bucket)
        for index, entry in enumerate(it.entries):
            counted.write_condition(target.actions.add(), entry, index)
        if it.late_cost is not None:
            late = result.rate_limits.add()
            late.CopyFrom(target)
            late.apply_on_stream_done = True
            late.hits_addend.number.value = it.late_cost
        _write_count(target, it.cost, tells=it.tells)
    return result


RULE, BUCKET = "rule", messages.BUCKET
"""The keys of the first two entries of each descriptor: the rule with the limit, and the bucket in
which requests are counted together."""
SHARED = "shared"
"""The bucket of all routes."""


def _write_count(target: route_pb.RateLimit, cost: int | None, *, tells: bool) -> None:
    if cost is not None:
        target.hits_addend.number.value = cost
    if tells:
        target.MergeFromString(_TELLS)


_TELLS = bytes((7 << 3, 2))
"""`x_ratelimit_option: DRAFT_VERSION_03`, which Envoy knows since 1.38, and the wheel of xDS
messages does not."""


def local(node: nodes.LocalRateLimit | nodes.LocalLimits) -> local_pb.LocalRateLimit:
    """A local rate limit."""
    return _several(node) if isinstance(node, nodes.LocalLimits) else _one(node)


def _several(node: nodes.LocalLimits) -> local_pb.LocalRateLimit:
    """A bucket for each limit, and for each value that a limit counts separately."""
    result = _enforced()
    _write_bucket(result.token_bucket, 2**32 - 1, 1)  # for requests that no limit counts
    result.always_consume_default_token_bucket.value = False
    result.max_dynamic_descriptors.value = MOST_VALUES
    for number, it in enumerate(node.limits):
        target, made = result.rate_limits.add(), result.descriptors.add()
        counted.write_key(target.actions.add(), RULE, str(number))
        made.entries.add(key=RULE, value=str(number))
        for index, entry in enumerate(it.entries):
            counted.write_condition(target.actions.add(), entry, index)
            key, value = counted.condition(entry, index)
            made.entries.add(key=key, value=value)
        _write_count(target, it.cost, tells=it.tells)
        _write_bucket(made.token_bucket, it.requests, SECONDS[it.unit.lower()])
        if it.is_shadow:
            made.MergeFromString(_SHADOW)
    return result


MOST_VALUES = 10_000
"""The number of values that one limit counts separately; the one that has not been seen for the
longest time is forgotten, and starts with a new bucket. Envoy's default of 20 would make a limit
ineffective. A bucket takes some 300 bytes."""

_SHADOW = bytes((3 << 3, 1))
"""`shadow_mode`, which the wheel of xDS messages does not know."""


def _one(node: nodes.LocalRateLimit) -> local_pb.LocalRateLimit:
    result = _enforced()
    bucket = result.token_bucket
    _write_bucket(bucket, node.requests, SECONDS[node.unit])
    bucket.max_tokens += node.burst
    result.status.code = http_status_pb2.StatusCode.ValueType(node.status)
    for name, value in node.response_headers:
        result.response_headers_to_add.append(headers.overwriting(name, value))
    return result


def _enforced() -> local_pb.LocalRateLimit:
    result = local_pb.LocalRateLimit(stat_prefix=_COUNTED)
    for enabled in (result.filter_enabled, result.filter_enforced):
        enabled.default_value.numerator = 100
        enabled.default_value.denominator = percent_pb2.FractionalPercent.HUNDRED
    return result


def _write_bucket(target: token_bucket_pb2.TokenBucket, requests: int, seconds: int) -> None:
    target.max_tokens = target.tokens_per_fill.value = requests
    target.fill_interval.CopyFrom(encoding.seconds(seconds))


def off_local() -> local_pb.LocalRateLimit:
    """Turns off the virtual host's limit. Envoy requires a bucket, which is not used."""
    result = local_pb.LocalRateLimit(stat_prefix=_COUNTED)
    result.token_bucket.max_tokens = 1
    result.token_bucket.fill_interval.CopyFrom(encoding.seconds(SECONDS["hour"]))
    return result


def off_global() -> global_pb.RateLimitPerRoute:
    """Turns off the virtual host's limits."""
    return global_pb.RateLimitPerRoute(vh_rate_limits=global_pb.RateLimitPerRoute.IGNORE)


def write_descriptors(target: Target, node: nodes.RateLimits) -> None:
    """Adds the descriptors that are sent to the service."""
    for entries in node.descriptors:
        _write_entries(target.rate_limits.add(), entries)


def _write_entries(target: route_pb.RateLimit, entries: Iterable[nodes.DescriptorEntry]) -> None:
    for entry in entries:
        action = target.actions.add()
        match entry:
            case nodes.GenericKey():
                action.generic_key.descriptor_key = entry.key
                action.generic_key.descriptor_value = entry.value
            case nodes.RequestHeader():
                action.request_headers.header_name = entry.name
                action.request_headers.descriptor_key = entry.key
            case nodes.HeaderValueMatch():
                counted.write_header_match(action.header_value_match, entry)
            case nodes.RemoteAddress():
                action.remote_address.SetInParent()
