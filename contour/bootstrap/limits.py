"""Limits of one Envoy: memory, connections, the size of regular expressions, and statistics.

Follows Envoy's guide "Configuring Envoy as an edge proxy". The limits of a single listener or route
come over xDS and are elsewhere.
"""

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.metrics.v3 import stats_pb2
from envoy.config.overload.v3 import overload_pb2
from envoy.extensions.resource_monitors.downstream_connections.v3 import (
    downstream_connections_pb2,
)
from envoy.extensions.resource_monitors.fixed_heap.v3 import fixed_heap_pb2
from envoy.type.matcher.v3 import regex_pb2, string_pb2
from google.protobuf import wrappers_pb2

from contour.bootstrap import control_plane, packing, settings

REGEX_PROGRAM_SIZE = 1000
"""The largest RE2 program Envoy accepts; rules refuse larger ones before they are sent."""

_HEAP = "envoy.resource_monitors.fixed_heap"
_CONNECTIONS = "envoy.resource_monitors.global_downstream_max_connections"

_HEAP_ACTIONS = {
    "envoy.overload_actions.shrink_heap": 0.90,
    "envoy.overload_actions.disable_http_keepalive": 0.92,
    "envoy.overload_actions.stop_accepting_requests": 0.95,
    "envoy.overload_actions.stop_accepting_connections": 0.98,
}
"""From harmless to drastic, each at a used share of the heap."""


def overload(given: settings.Settings) -> overload_pb2.OverloadManager:
    """Refuses connections, and sheds requests if there is a heap limit, before memory runs out."""
    connections = downstream_connections_pb2.DownstreamConnectionsConfig(
        max_active_downstream_connections=given.connections
    )
    result = overload_pb2.OverloadManager(
        refresh_interval=packing.seconds(0.25),
        resource_monitors=[
            overload_pb2.ResourceMonitor(
                name=_CONNECTIONS, typed_config=packing.packed(connections)
            )
        ],
    )
    if given.heap_bytes is not None:
        _add_heap(result, given.heap_bytes)
    return result


def _add_heap(result: overload_pb2.OverloadManager, size: int) -> None:
    heap = fixed_heap_pb2.FixedHeapConfig(max_heap_size_bytes=size)
    result.resource_monitors.add(name=_HEAP, typed_config=packing.packed(heap))
    for name, share in _HEAP_ACTIONS.items():
        threshold = overload_pb2.ThresholdTrigger(value=share)
        trigger = overload_pb2.Trigger(name=_HEAP, threshold=threshold)
        result.actions.add(name=name, triggers=[trigger])


def runtime(given: settings.Settings) -> bootstrap_pb2.LayeredRuntime:
    """The layer of the control plane, and above it the settings that cannot be changed while Envoy
    runs.

    There is no admin layer.
    """
    told = bootstrap_pb2.RuntimeLayer(name="dynamic")
    told.rtds_layer.name = "dynamic"
    told.rtds_layer.rtds_config.CopyFrom(control_plane.runtime_source())
    layer = bootstrap_pb2.RuntimeLayer(name="hardening")
    layer.static_layer.update(
        {
            "re2.max_program_size.error_level": REGEX_PROGRAM_SIZE,
            "re2.max_program_size.warn_level": REGEX_PROGRAM_SIZE,
        }
    )
    if given.authorities:
        layer.static_layer.update({control_plane.FEDERATION: True})
    return bootstrap_pb2.LayeredRuntime(layers=[told, layer])


_KEPT_WHOLE = (
    "cluster_manager.",
    f"cluster.{control_plane.NAME}.",
    "connection_limit.",
    "control_plane.",
    "filesystem.",
    "listener_manager.",
    "local.http_local_rate_limit.",
    "local_rate_limit.",
    "main_thread.",
    "overload.",
    "ratelimit.",
    "server.",
    "workers.",
)

_KEPT_IN_PART = (
    r"listener\..*(?:[^s]|[^d]s)",
    r"http\.[^.]+\.[^.]+",
    r"http\.[^.]+\.(scoped_rds|tracing)\..+",
)
"""The statistics of a listener's connections, without the end of each of its certificates
(`expiration_unix_time_seconds`), and those of its requests, without those of its hundreds of
RouteConfigurations."""

KEPT_OF_A_CLUSTER = frozenset(
    {
        "membership_healthy",
        "membership_total",
        "ratelimit.error",
        "ratelimit.over_limit",
        "upstream_cx_active",
        "upstream_cx_connect_fail",
        "upstream_cx_overflow",
        "upstream_cx_total",
        "upstream_rq_active",
        "upstream_rq_active_overflow",
        "upstream_rq_pending_overflow",
        "upstream_rq_retry",
        "upstream_rq_retry_overflow",
        "upstream_rq_time",
        "upstream_rq_timeout",
        "upstream_rq_total",
        "upstream_rq_2xx",
        "upstream_rq_3xx",
        "upstream_rq_4xx",
        "upstream_rq_5xx",
    }
)
"""The statistics of each Service; those of `ratelimit` exist from the first request that could not
be counted, or was over its limit."""


def statistics() -> stats_pb2.StatsConfig:
    """Some twenty series per Service and none per route, host, endpoint or certificate.

    With 5,000 Services a scrape is 4 MB instead of 83 MB, and Envoy needs 209 MiB instead of 313
    MiB.
    """
    patterns = [string_pb2.StringMatcher(prefix=prefix) for prefix in _KEPT_WHOLE]
    patterns += [
        string_pb2.StringMatcher(safe_regex=regex_pb2.RegexMatcher(regex=regex))
        for regex in _KEPT_IN_PART
    ]
    patterns += [string_pb2.StringMatcher(suffix=f".{name}") for name in sorted(KEPT_OF_A_CLUSTER)]
    return stats_pb2.StatsConfig(
        stats_matcher=stats_pb2.StatsMatcher(
            inclusion_list=string_pb2.ListStringMatcher(patterns=patterns)
        ),
        use_all_default_tags=wrappers_pb2.BoolValue(value=True),
    )


def deferred_statistics() -> bootstrap_pb2.Bootstrap.DeferredStatOptions:
    """Traffic statistics are created with the first traffic, so 5,000 Services are ready in 0.4 s
    instead of 0.6 s."""
    return bootstrap_pb2.Bootstrap.DeferredStatOptions(enable_deferred_creation_stats=True)
