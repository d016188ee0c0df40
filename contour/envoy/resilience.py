"""Load balancing, health checks, outlier detection and circuit breakers of a cluster.

Success rates are no reason to eject an endpoint: which of two good ones is the worse is chance.
Health checks are as frequent without traffic as with it, so that users get the interval they wrote.
"""

from collections.abc import Mapping

from envoy.config.cluster.v3 import cluster_pb2 as pb
from envoy.config.core.v3 import base_pb2, health_check_pb2
from envoy.type.v3 import http_pb2
from google.protobuf import duration_pb2, wrappers_pb2

from contour.envoy import encoding
from contour.xds import wire
from dag import nodes

_BALANCING: Mapping[str, pb.Cluster.LbPolicy.ValueType] = {
    "RoundRobin": pb.Cluster.ROUND_ROBIN,
    "Random": pb.Cluster.RANDOM,
    "WeightedLeastRequest": pb.Cluster.LEAST_REQUEST,
    "RingHash": pb.Cluster.RING_HASH,
    "Maglev": pb.Cluster.MAGLEV,
}
_CHECKER = "contour-envoy-healthcheck"
"""The host that health checks ask for, as in Contour."""


def write_balancing(target: pb.Cluster, balancing: nodes.Balancing) -> None:
    """Fills in the load balancing."""
    target.lb_policy = _BALANCING[balancing]


def write_table(target: pb.Cluster, node: nodes.Cluster) -> None:
    """Fills in the size of the hash table."""
    if node.balancing == "Maglev" and node.table_size is not None:
        target.maglev_lb_config.table_size.value = node.table_size


def write_limits(target: pb.Cluster, node: nodes.CircuitBreakers) -> None:
    """Fills in the circuit breakers."""
    if node == nodes.CircuitBreakers():
        return
    threshold = target.circuit_breakers.thresholds.add(track_remaining=True)
    _write_number(threshold.max_connections, node.connections)
    _write_number(threshold.max_pending_requests, node.pending_requests)
    _write_number(threshold.max_requests, node.requests)
    _write_number(threshold.max_retries, node.retries)
    if node.connections_per_host is not None:
        host = target.circuit_breakers.per_host_thresholds.add()
        host.max_connections.value = node.connections_per_host


def write_budget(target: pb.Cluster, node: nodes.RetryBudget | None) -> None:
    """Fills in the retry budget; the circuit breakers have been written before."""
    if node is None:
        return
    every = target.circuit_breakers.thresholds
    budget = (every[0] if every else every.add(track_remaining=True)).retry_budget
    budget.budget_percent.value = node.percent
    budget.min_retry_concurrency.value = node.always
    if node.interval is not None:
        interval = encoding.encoded(encoding.seconds(node.interval))
        budget.MergeFromString(wire.field(_BUDGET_INTERVAL, interval))


_BUDGET_INTERVAL = 3
"""The number of a field that the wheel of xDS messages does not know, in Envoy since 1.39: in
`circuit_breaker.proto` it is `budget_interval`. Older Envoys ignore it."""


def write_health(target: pb.Cluster, node: nodes.Cluster) -> None:
    """Fills in health checks and outlier detection."""
    target.common_lb_config.healthy_panic_threshold.value = node.panic_percent
    if node.health_check is not None:
        target.ignore_health_on_host_removal = True
        _write_check(target.health_checks.add(), node.health_check, node.protocol)
    if node.outliers is not None:
        _write_outliers(target, node.outliers)


def _write_check(
    target: health_check_pb2.HealthCheck,
    node: nodes.HealthCheck,
    protocol: nodes.UpstreamProtocol,
) -> None:
    target.interval.CopyFrom(encoding.seconds(node.interval))
    target.no_traffic_interval.CopyFrom(encoding.seconds(node.interval))
    target.timeout.CopyFrom(encoding.seconds(node.timeout))
    target.unhealthy_threshold.value = node.unhealthy_threshold
    target.healthy_threshold.value = node.healthy_threshold
    _write_duration(target.initial_jitter, node.jitter)
    if node.grpc_service is not None:
        target.grpc_health_check.service_name = node.grpc_service
        target.grpc_health_check.authority = node.host or _CHECKER
        return
    if not node.path:
        _write_exchange(target.tcp_health_check, node)
        return
    http = target.http_health_check
    if node.sent:
        http.send.text = node.sent.hex()
    if node.expected:
        http.receive.add(text=node.expected.hex())
    http.path, http.host = node.path, node.host or _CHECKER
    for start, end in node.statuses:
        http.expected_statuses.add(start=start, end=end)
    for start, end in node.retriable:
        http.retriable_statuses.add(start=start, end=end)
    if node.method:
        http.method = base_pb2.RequestMethod.Value(node.method)
    if protocol in ("h2", "h2c"):
        http.codec_client_type = http_pb2.HTTP2


def _write_exchange(
    target: health_check_pb2.HealthCheck.TcpHealthCheck, node: nodes.HealthCheck
) -> None:
    """Fills in what a TCP check sends and expects; without both, the connection only has to
    open."""
    target.SetInParent()
    if node.sent:
        target.send.text = node.sent.hex()
    if node.expected:
        target.receive.add(text=node.expected.hex())


def _write_outliers(target: pb.Cluster, node: nodes.OutlierDetection) -> None:
    outliers = target.outlier_detection
    outliers.enforcing_success_rate.value = 0
    _write_number(outliers.consecutive_5xx, node.consecutive_5xx)
    if node.consecutive_gateway_errors is not None:
        outliers.consecutive_gateway_failure.value = node.consecutive_gateway_errors
        outliers.enforcing_consecutive_gateway_failure.value = 100
    _write_duration(outliers.interval, node.interval)
    _write_duration(outliers.base_ejection_time, node.ejection_time)
    longest = node.max_ejection_time
    if longest is not None:
        longest = max(longest, node.ejection_time or 30.0)
    _write_duration(outliers.max_ejection_time, longest)
    _write_number(outliers.max_ejection_percent, node.max_ejection_percent)
    if node.local_failures is not None:
        outliers.split_external_local_origin_errors = True
        outliers.consecutive_local_origin_failure.value = node.local_failures
        outliers.enforcing_local_origin_success_rate.value = 0
    if node.failure_percent is not None:
        outliers.failure_percentage_threshold.value = node.failure_percent
        outliers.enforcing_failure_percentage.value = 100
    if node.ejects_one:
        outliers.always_eject_one_host.value = True


def write_slow_start(target: pb.Cluster, node: nodes.Cluster) -> None:
    """Fills in slow start, which only two load balancing policies support."""
    if node.slow_start is None or node.balancing not in ("RoundRobin", "WeightedLeastRequest"):
        return
    is_round = node.balancing == "RoundRobin"
    balancer = target.round_robin_lb_config if is_round else target.least_request_lb_config
    slow = balancer.slow_start_config
    slow.slow_start_window.CopyFrom(encoding.seconds(node.slow_start.window))
    slow.aggression.default_value = node.slow_start.aggression
    slow.aggression.runtime_key = "contour.slow_start.aggression"
    slow.min_weight_percent.value = node.slow_start.min_weight_percent


def _write_number(target: wrappers_pb2.UInt32Value, number: int | None) -> None:
    if number is not None:
        target.value = number


def _write_duration(target: duration_pb2.Duration, number: float | None) -> None:
    if number is not None:
        target.CopyFrom(encoding.seconds(number))
