"""Which endpoints of a Service get requests: those that pass active and passive checks.

Zero means the default of upstream Contour. A check may take a minute at most: no request is served
before the first one has ended. Source: HTTPProxy reference, "HTTPHealthCheckPolicy",
"TCPHealthCheckPolicy"; passive checks are ours (Envoy, "Outlier detection").
"""

from crds import health as crd
from dag import nodes
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.values import durations, headers

HOST = "contour-envoy-healthcheck"
LONGEST_CHECK = 60.0
"""Seconds."""


def of_http(place: Place, policy: crd.HTTPHealthCheckPolicy | None) -> nodes.HealthCheck | None:
    """Requests that an endpoint has to answer."""
    if policy is None:
        return None
    at = place.at("healthCheckPolicy")
    if not policy.path.startswith("/"):
        raise Refused(problems.health_check_not_valid(at.at("path"), "must start with /"))
    for written in (policy.path, policy.host):
        if refusal := headers.value_refusal(written):
            raise Refused(problems.health_check_not_valid(at, f"{written[:60]!r} {refusal}"))
    for index, it in enumerate(policy.expected_statuses):
        if it.start >= it.end:
            raise Refused(
                problems.health_check_not_valid(
                    at.at("expectedStatuses", index), "start must be less than end"
                )
            )
    statuses = tuple((it.start, it.end) for it in policy.expected_statuses)
    return _check(at, policy, policy.path, policy.host or HOST, statuses)


def of_tcp(place: Place, policy: crd.TCPHealthCheckPolicy | None) -> nodes.HealthCheck | None:
    """Connections that an endpoint has to take."""
    return None if policy is None else _check(place.at("healthCheckPolicy"), policy, "", "", ())


def outliers(
    place: Place, policy: crd.OutlierDetectionPolicy | None
) -> nodes.OutlierDetection | None:
    """Answers that count against an endpoint."""
    if policy is None:
        return None
    at = place.at("outlierDetection")
    return nodes.OutlierDetection(
        consecutive_5xx=policy.consecutive_server_errors,
        consecutive_gateway_errors=policy.consecutive_gateway_errors,
        interval=_seconds(at.at("interval"), policy.interval),
        ejection_time=_seconds(at.at("baseEjectionTime"), policy.base_ejection_time),
        max_ejection_time=_seconds(at.at("maxEjectionTime"), policy.max_ejection_time),
        max_ejection_percent=policy.max_ejection_percent,
    )


def _check(
    place: Place,
    policy: crd.HTTPHealthCheckPolicy | crd.TCPHealthCheckPolicy,
    path: str,
    host: str,
    statuses: tuple[tuple[int, int], ...],
) -> nodes.HealthCheck:
    seconds = (policy.interval_seconds, policy.timeout_seconds)
    if not all(0 <= it <= durations.LONGEST for it in seconds):
        raise Refused(
            problems.health_check_not_valid(
                place, f"times are from 0 to {durations.LONGEST:.0f} seconds"
            )
        )
    return nodes.HealthCheck(
        path,
        host,
        interval=float(policy.interval_seconds or 10),
        timeout=min(float(policy.timeout_seconds or 2), LONGEST_CHECK),
        unhealthy_threshold=policy.unhealthy_threshold_count or 3,
        healthy_threshold=policy.healthy_threshold_count or 2,
        statuses=statuses,
    )


def _seconds(place: Place, text: str | None) -> float | None:
    found = durations.timeout(place, text, problems.health_check_not_valid)
    if found == 0:
        raise Refused(problems.health_check_not_valid(place, "cannot be without limit"))
    return found
