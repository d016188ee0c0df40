"""Forwarding of requests to backends: clusters and weights, mirrors, timeouts, retries, rewrites.

A share of the traffic without a backend is answered 500 (Gateway API, HTTPBackendRef): it goes to a
cluster that does not exist, and the route sets the status for that. A route without any backend has
a direct response (`routes`). Header policies of a backend apply before those of the route, so the
route's win (as in Contour); the same holds for rewrites of cookies.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.extensions.retry.priority.previous_priorities.v3 import (
    previous_priorities_config_pb2,
)
from envoy.type.v3 import percent_pb2

from contour.envoy import encoding, headers, paths, redirects
from contour.envoy.guards import cookies, sessions
from dag import nodes

ClusterNames = Mapping[nodes.AnyCluster, str]

NOWHERE = "no-backend"
"""The name of a cluster that does not exist. Names of real ones contain slashes."""

_MOST_WEIGHT = 2**32 - 1


def write_forward(
    target: pb.RouteAction, node: nodes.Forward, path: nodes.Path, names: ClusterNames
) -> None:
    """Fills in where a request goes and what happens to it on the way."""
    _write_clusters(target, node, [it for it in node.backends if it.weight], names)
    if node.timeout is not None:
        target.timeout.CopyFrom(encoding.seconds(node.timeout))
    if node.idle_timeout is not None:
        target.idle_timeout.CopyFrom(encoding.seconds(node.idle_timeout))
    if node.rewrite is not None:
        _write_rewrite(target, node.rewrite, path)
    if node.retry is not None and (node.retry.attempts or node.retry.per_try_timeout is not None):
        _write_retry(target.retry_policy, node.retry)
    if node.websockets:
        target.upgrade_configs.add(upgrade_type="websocket")
    for mirror in node.mirrors:
        _write_mirror(target.request_mirror_policies.add(), mirror, names)
    for policy in node.hash_policies:
        _write_hash(target.hash_policy.add(), policy)
    if node.internal_redirect is not None:
        redirects.write_internal(target.internal_redirect_policy, node.internal_redirect)


def _write_clusters(
    target: pb.RouteAction,
    node: nodes.Forward,
    backends: Sequence[nodes.Backend],
    names: ClusterNames,
) -> None:
    if any(it.cluster is None for it in backends):
        target.cluster_not_found_response_code = _NOT_FOUND[node.missing]
    if len(backends) == 1 and not is_special(backends[0]):
        target.cluster = _name(backends[0], names)
        return
    weights = _weights(backends)
    for backend, weight in zip(backends, weights, strict=True):
        share = target.weighted_clusters.clusters.add(name=_name(backend, names))
        share.weight.value = weight
        share.host_rewrite_literal = backend.host
        headers.write_policies(share, backend.request_headers, backend.response_headers)
        if backend.cookies:
            every = cookies.policy((*node.cookies, *backend.cookies))
            share.typed_per_filter_config[cookies.NAME].CopyFrom(encoding.packed(every))
        if backend.session is not None:
            kept = encoding.packed(sessions.policy(backend.session))
            share.typed_per_filter_config[sessions.NAME].CopyFrom(kept)


_NOT_FOUND = {
    404: pb.RouteAction.NOT_FOUND,
    500: pb.RouteAction.INTERNAL_SERVER_ERROR,
    503: pb.RouteAction.SERVICE_UNAVAILABLE,
}


def is_special(backend: nodes.Backend) -> bool:
    """Whether a share has more settings than its cluster."""
    changes = (backend.request_headers, backend.response_headers)
    own = (*changes, backend.session)
    return bool(backend.host or backend.cookies) or any(it is not None for it in own)


def _name(backend: nodes.Backend, names: ClusterNames) -> str:
    return NOWHERE if backend.cluster is None else names[backend.cluster]


def _weights(backends: Iterable[nodes.Backend]) -> Sequence[int]:
    """The weights; Envoy refuses a sum over 32 bits, so larger ones are scaled down."""
    given = [it.weight for it in backends]
    total = sum(given)
    if total <= _MOST_WEIGHT:
        return given
    return [max(1, it * (_MOST_WEIGHT - len(given)) // total) for it in given]


def _write_rewrite(target: pb.RouteAction, rewrite: nodes.Rewrite, path: nodes.Path) -> None:
    if rewrite.host:
        target.host_rewrite_literal = rewrite.host
    elif rewrite.host_header:
        target.host_rewrite_header = rewrite.host_header
    elif rewrite.host_from_path is not None:
        paths.write_substitution(target.host_rewrite_path_regex, rewrite.host_from_path)
    elif rewrite.host_of_endpoint:
        target.auto_host_rewrite.value = True
    target.append_x_forwarded_host = rewrite.tells_host
    if rewrite.path is not None:
        paths.write_substitution(target.regex_rewrite, rewrite.path)
    elif rewrite.full_path is not None:
        paths.write_whole(target, rewrite.full_path)
    elif rewrite.prefix is not None:
        paths.write_prefix(target, path, rewrite.prefix)


_STATUS_CODES = "retriable-status-codes"


def _write_retry(target: pb.RetryPolicy, retry: nodes.Retry) -> None:
    more = (_STATUS_CODES,) if retry.status_codes else ()
    conditions: dict[str, None] = dict.fromkeys((*retry.on, *more))
    target.retry_on = ",".join(conditions)
    target.num_retries.value = retry.attempts
    if retry.per_try_timeout is not None:
        target.per_try_timeout.CopyFrom(encoding.seconds(retry.per_try_timeout))
    target.retriable_status_codes.extend(retry.status_codes)
    if retry.per_priority:
        _write_priorities(target.retry_priority, retry.per_priority)
    if retry.backoff:
        longest = max(retry.backoff, retry.max_backoff or retry.backoff * 10)
        target.retry_back_off.base_interval.CopyFrom(encoding.seconds(retry.backoff))
        target.retry_back_off.max_interval.CopyFrom(encoding.seconds(longest))


def _write_priorities(target: pb.RetryPolicy.RetryPriority, tries: int) -> None:
    """Fills in after how many tries a retry excludes the priorities that were tried."""
    target.name = "envoy.retry_priorities.previous_priorities"
    told = previous_priorities_config_pb2.PreviousPrioritiesConfig(update_frequency=tries)
    target.typed_config.CopyFrom(encoding.packed(told))


_MILLION = 1_000_000


def _write_mirror(
    target: pb.RouteAction.RequestMirrorPolicy, node: nodes.Mirror, names: ClusterNames
) -> None:
    """Adds a mirror. Its share is rounded up to millionths."""
    target.cluster = names[node.cluster]
    share = Fraction(node.numerator, node.denominator) * _MILLION
    target.runtime_fraction.default_value.numerator = min(_MILLION, -(-share // 1))
    target.runtime_fraction.default_value.denominator = percent_pb2.FractionalPercent.MILLION
    target.disable_shadow_host_suffix_append = True


def _write_hash(target: pb.RouteAction.HashPolicy, node: nodes.HashPolicy) -> None:
    target.terminal = node.is_terminal
    match node.source:
        case "Cookie":
            target.cookie.name = node.name
            target.cookie.path = node.path
            if node.ttl is not None:
                target.cookie.ttl.CopyFrom(encoding.seconds(node.ttl))
            for name, value in node.attributes:
                target.cookie.attributes.add(name=name, value=value)
        case "Header":
            target.header.header_name = node.name
        case "Query":
            target.query_parameter.name = node.name
        case "SourceIp":
            target.connection_properties.source_ip = True
