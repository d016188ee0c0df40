"""How often clients may ask: local limits in Envoy itself, global ones by a server that counts.

A local limit of a virtual host is one bucket for all its routes, for Envoy keeps a bucket for each
configuration it reads. Global limits are sent as descriptors; Envoy asks for no route without a
cluster, so rules warn there.
"""

from collections.abc import Iterable
from typing import TypeAlias

from envoy.config.core.v3 import config_source_pb2
from envoy.config.ratelimit.v3 import rls_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb
from envoy.extensions.filters.http.local_ratelimit.v3 import local_rate_limit_pb2 as local_pb
from envoy.extensions.filters.http.ratelimit.v3 import rate_limit_pb2 as global_pb
from envoy.type.matcher.v3 import address_pb2
from envoy.type.v3 import http_status_pb2, percent_pb2

from contour.envoy import encoding, headers, matches, names
from contour.xds import wire
from dag import nodes

LOCAL = "envoy.filters.http.local_ratelimit"
GLOBAL = "envoy.filters.http.ratelimit"
FILTERS = "envoy.filters.http.ratelimit.filters"
"""For RateLimitFilters, which another service counts."""
_STAGE = 1
"""Of `FILTERS`: it leaves alone what routes say to `GLOBAL`, of stage 0."""

Target: TypeAlias = route_pb.VirtualHost | route_pb.RouteAction

SECONDS = {"second": 1, "minute": 60, "hour": 3600}


def installed_local() -> local_pb.LocalRateLimit:
    """Without a bucket nothing is limited."""
    return local_pb.LocalRateLimit(stat_prefix="http")


def installed_global(node: nodes.RateLimitService, cluster: str) -> global_pb.RateLimit:
    """The service that counts; without descriptors it is not asked."""
    result = global_pb.RateLimit(
        domain=node.domain,
        failure_mode_deny=not node.fail_open,
        rate_limited_as_resource_exhausted=node.resource_exhausted,
    )
    if node.x_ratelimit_headers:
        result.enable_x_ratelimit_headers = global_pb.RateLimit.DRAFT_VERSION_03
    if node.timeout is not None:
        result.timeout.CopyFrom(encoding.seconds(node.timeout))
    result.rate_limit_service.CopyFrom(
        rls_pb2.RateLimitServiceConfig(
            grpc_service=encoding.grpc(cluster),
            transport_api_version=config_source_pb2.V3,
        )
    )
    return result


def installed_filters(node: nodes.RateLimitService, cluster: str) -> global_pb.RateLimit:
    """The service that counts for RateLimitFilters; routes without limits do not ask it."""
    result = installed_global(node, cluster)
    result.stage = _STAGE
    return result


def limits(found: Iterable[nodes.Limit], at: nodes.HostKey) -> global_pb.RateLimitPerRoute:
    """What the service is asked about the requests of a route."""
    result = global_pb.RateLimitPerRoute()
    for it in found:
        target = result.rate_limits.add()
        _write_key(target.actions.add(), RULE, names.filter_rule(it.filter, it.rule))
        _write_key(target.actions.add(), BUCKET, names.bucket(at, it))
        for index, entry in enumerate(it.entries):
            _write_condition(target.actions.add(), entry, index)
    return result


RULE, BUCKET = "rule", "bucket"
"""The keys of the first two entries of each descriptor: the rule of a RateLimitFilter, which has
the limit, and whose requests are counted together."""

Action: TypeAlias = route_pb.RateLimit.Action


def _write_key(target: Action, key: str, value: str) -> None:
    target.generic_key.descriptor_key, target.generic_key.descriptor_value = key, value


def _write_condition(target: Action, entry: nodes.CountedEntry, index: int) -> None:
    match entry:
        case nodes.HeaderValueMatch():
            _write_header_match(target.header_value_match, entry)
            target.header_value_match.descriptor_key = condition(entry, index)[0]
        case nodes.RequestHeader():
            target.request_headers.header_name = entry.name
            target.request_headers.descriptor_key = condition(entry, index)[0]
        case nodes.ClientRange():
            target.MergeFromString(_range(*condition(entry, index)))
        case nodes.RemoteAddress():
            target.remote_address.SetInParent()


def _range(key: str, cidr: str) -> bytes:
    """An action for clients within a range; for others there is no descriptor, so that nobody is
    asked. `RemoteAddressMatch` is known to Envoy since 1.38 at the latest, and not to the wheel of
    xDS messages; its fields are those of Envoy's `route_components.proto`."""
    address, _, length = cidr.partition("/")
    matcher = address_pb2.AddressMatcher()
    matcher.ranges.add(address_prefix=address).prefix_len.value = int(length)
    match = (
        wire.field(1, cidr.encode())
        + wire.field(2, key.encode())
        + wire.field(4, matcher.SerializeToString())
    )
    return wire.field(13, match)


def condition(entry: nodes.CountedEntry, index: int) -> tuple[str, str]:
    """The key and the value by which the service knows a condition; each value counts apart if
    there is none."""
    match entry:
        case nodes.HeaderValueMatch():
            return f"match-{index}", entry.value
        case nodes.RequestHeader():
            return f"header-{index}", ""
        case nodes.ClientRange():
            return f"range-{index}", entry.cidr
        case nodes.RemoteAddress():
            return "remote_address", ""


def local(node: nodes.LocalRateLimit) -> local_pb.LocalRateLimit:
    """So many requests a time."""
    result = local_pb.LocalRateLimit(stat_prefix="http")
    bucket = result.token_bucket
    bucket.max_tokens = node.requests + node.burst
    bucket.tokens_per_fill.value = node.requests
    bucket.fill_interval.CopyFrom(encoding.seconds(SECONDS[node.unit]))
    for enabled in (result.filter_enabled, result.filter_enforced):
        enabled.default_value.numerator = 100
        enabled.default_value.denominator = percent_pb2.FractionalPercent.HUNDRED
    result.status.code = http_status_pb2.StatusCode.ValueType(node.status)
    for name, value in node.response_headers:
        result.response_headers_to_add.append(headers.overwriting(name, value))
    return result


def off_local() -> local_pb.LocalRateLimit:
    """In place of the virtual host's. Envoy wants a bucket, but nobody draws from it."""
    result = local_pb.LocalRateLimit(stat_prefix="http")
    result.token_bucket.max_tokens = 1
    result.token_bucket.fill_interval.CopyFrom(encoding.seconds(SECONDS["hour"]))
    return result


def off_global() -> global_pb.RateLimitPerRoute:
    """In place of the virtual host's."""
    return global_pb.RateLimitPerRoute(vh_rate_limits=global_pb.RateLimitPerRoute.IGNORE)


def write_descriptors(target: Target, node: nodes.RateLimits) -> None:
    """What the service is asked about a request."""
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
                _write_header_match(action.header_value_match, entry)
            case nodes.RemoteAddress():
                action.remote_address.SetInParent()


def _write_header_match(
    target: route_pb.RateLimit.Action.HeaderValueMatch, node: nodes.HeaderValueMatch
) -> None:
    target.descriptor_value = node.value
    target.expect_match.value = node.expect
    for it in node.headers:
        matches.write_header(target.headers.add(name=it.name), it)
