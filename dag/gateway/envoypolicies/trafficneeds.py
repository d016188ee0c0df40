"""The fields of a BackendTrafficPolicy that have no effect beside its other fields.

Envoy Gateway 1.9 refuses most of these combinations by rules of its CRD.
"""

from collections.abc import Iterator

from crds.envoygateway import backendhealth as health
from crds.envoygateway import backendtrafficpolicy as crd
from crds.policies import RETRY_ON
from dag.gateway.envoypolicies.trafficupstreams import positive
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.shared import no_effect


def unmet(spec: crd.BackendTrafficPolicySpec, own: Place) -> Iterator[Problem]:
    """Tells of each field that lacks what it needs, or that another one replaces."""
    if spec.load_balancer is not None:
        yield from _of_balancer(spec.load_balancer, own.at("loadBalancer"))
    yield from _of_preconnect(spec, own.at("connection").at("preconnect"))
    if spec.retry is not None:
        yield from _of_retry(spec.retry, own.at("retry"))
    if spec.health_check is not None and spec.health_check.active is not None:
        yield from _of_check(spec.health_check.active, own.at("healthCheck").at("active"))
    if spec.request_buffer is not None:
        for index, it in enumerate(spec.http_upgrade):
            if is_websocket(it):
                why = "requestBuffer has Envoy read each request whole, and a WebSocket has no end"
                yield no_effect(own.at("httpUpgrade", index), why)
    if spec.compression and spec.compressor:
        yield no_effect(own.at("compression"), "compressor replaces it")


def is_websocket(found: crd.HTTPUpgrade) -> bool:
    """Whether an upgrade is to WebSockets; Envoy compares its type without case."""
    return found.type.lower() == "websocket"


_NOT_STARTED_SLOWLY = ("Random", "ConsistentHash")
_NOT_FORESEEN = ("LeastRequest", "ConsistentHash")
"""The ways to choose an endpoint of which Envoy does not know the next one."""
_HASHED = {
    "Header": "header",
    "Headers": "headers",
    "Cookie": "cookie",
    "QueryParams": "query_params",
}


def _of_balancer(found: crd.LoadBalancer, at: Place) -> Iterator[Problem]:
    if found.slow_start is not None and found.type in _NOT_STARTED_SLOWLY:
        yield no_effect(at.at("slowStart"), f"it is not for the type {found.type}")
    hashes = found.consistent_hash
    if hashes is None:
        return
    place = at.at("consistentHash")
    for type_, field in _HASHED.items():
        path = "queryParams" if type_ == "QueryParams" else field
        is_set = bool(getattr(hashes, field))
        if hashes.type == type_ and not is_set:
            yield no_effect(place, f"{path} must be set with the type {type_}")
        elif hashes.type != type_ and is_set:
            yield no_effect(place.at(path), f"it is not for the type {hashes.type}")


def _of_preconnect(spec: crd.BackendTrafficPolicySpec, at: Place) -> Iterator[Problem]:
    opened = spec.connection.preconnect if spec.connection is not None else None
    balancer = spec.load_balancer.type if spec.load_balancer is not None else ""
    is_asked = opened is not None and opened.predictive_percent is not None
    if is_asked and balancer in _NOT_FORESEEN:
        why = f"which endpoint is next is not known with the type {balancer} of loadBalancer"
        yield no_effect(at.at("predictivePercent"), why)


def _of_retry(found: crd.PolicyRetry, at: Place) -> Iterator[Problem]:
    on = found.retry_on or crd.RetryOn()
    for index, it in enumerate(on.triggers):
        place = at.at("retryOn").at("triggers", index)
        if it not in RETRY_ON:
            yield no_effect(place, f"Envoy knows no failure {it[:60]!r}")
        elif it == "retriable-status-codes" and not on.http_status_codes:
            yield no_effect(place, "httpStatusCodes must be set, too")
    if found.per_retry is not None:
        yield from _of_back_off(found.per_retry.back_off, at.at("perRetry").at("backOff"))


def _of_back_off(found: crd.BackOff | None, at: Place) -> Iterator[Problem]:
    longest = positive(found.max_interval) if found is not None else None
    if found is None or longest is None:
        return
    base = positive(found.base_interval)
    if base is None:
        yield no_effect(at.at("maxInterval"), "baseInterval must be set, too")
    elif longest < base:
        yield no_effect(at.at("maxInterval"), "it is shorter than baseInterval")


def _of_check(found: health.ActiveCheck, at: Place) -> Iterator[Problem]:
    for type_, other in (("TCP", found.tcp), ("GRPC", found.grpc)):
        if other is not None and found.type != type_:
            yield no_effect(at.at(type_.lower()), f"it is not for the type {found.type}")
    http = found.http
    if http is not None and http.request_body is not None and http.method not in ("POST", "PUT"):
        why = f"the method {http.method or 'GET'} has no body"
        yield no_effect(at.at("http").at("requestBody"), why)
