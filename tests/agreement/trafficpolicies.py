"""Generated BackendTrafficPolicies: each served field at the limits of its form."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

Document = dict[str, Any]

_TIMES = ("0s", "1ms", "10s", "1h30m", "99999h")
_TRIGGERS = ("5xx", "reset", "connect-failure", "gateway-error", "unavailable", "cancelled")
_CODES = (100, 200, 404, 429, 500, 503, 599)
_COUNTS = (0, 1, 1024, 2**32 - 1)
_HEADERS = ("x-user", "X-Tenant", "cookie", "x-a_b", "a" * 200, ":path", "a b", "ü")


def timeout(chance: Random) -> Document:
    """`timeout`."""
    names = ("connectionIdleTimeout", "requestTimeout", "streamIdleTimeout", "maxStreamDuration")
    http = {it: chance.choice(_TIMES) for it in names if chance.random() < 0.7}
    tcp = {"connectTimeout": chance.choice(_TIMES)}
    return {"timeout": {"http": http, "tcp": tcp}}


def retry(chance: Random) -> Document:
    """`retry`."""
    made: Document = {"numRetries": chance.choice((0, 1, 2, 2**31 - 1))}
    if chance.random() < 0.7:
        made["retryOn"] = {
            "triggers": _some(chance, _TRIGGERS),
            "httpStatusCodes": _some(chance, _CODES),
        }
    if chance.random() < 0.7:
        back_off = {it: chance.choice(_TIMES) for it in ("baseInterval", "maxInterval")}
        made["perRetry"] = {"timeout": chance.choice(_TIMES), "backOff": back_off}
    return {"retry": made}


def load_balancer(chance: Random) -> Document:
    """`loadBalancer`."""
    name = chance.choice(_HEADERS)
    hashes: tuple[Document, ...] = (
        {"type": "SourceIP"},
        {"type": "Header", "header": {"name": name}},
        {"type": "Headers", "headers": [{"name": it} for it in _some(chance, _HEADERS)]},
        {"type": "Cookie", "cookie": {"name": "c%", "ttl": chance.choice(_TIMES)}},
        {"type": "Cookie", "cookie": {"name": "ü"}},
        {"type": "QueryParams", "queryParams": [{"name": "a b"}, {"name": "ü"}]},
    )
    kind = chance.choice(("ConsistentHash", "LeastRequest", "Random", "RoundRobin"))
    made: Document = {"type": kind}
    if kind == "ConsistentHash":
        made["consistentHash"] = chance.choice(hashes)
    elif chance.random() < 0.7:
        made["slowStart"] = {"window": chance.choice(_TIMES)}
    return {"loadBalancer": made}


def circuit_breaker(chance: Random) -> Document:
    """`circuitBreaker`."""
    names = ("maxConnections", "maxPendingRequests", "maxParallelRequests", "maxParallelRetries")
    made: Document = {it: chance.choice(_COUNTS) for it in names if chance.random() < 0.7}
    if chance.random() < 0.5:
        made["perEndpoint"] = {"maxConnections": chance.choice(_COUNTS)}
    if chance.random() < 0.5:
        share = {
            "numerator": chance.choice((0, 1, 3)),
            "denominator": chance.choice((3, 2**31 - 1)),
        }
        made["retryBudget"] = {"percent": share, "minRetryConcurrency": chance.choice(_COUNTS)}
    return {"circuitBreaker": made}


def health_check(chance: Random) -> Document:
    """`healthCheck`."""
    times = {it: chance.choice(_TIMES) for it in ("timeout", "interval") if chance.random() < 0.7}
    names = ("unhealthyThreshold", "healthyThreshold")
    counts = {it: chance.choice((1, 3, 2**31 - 1)) for it in names if chance.random() < 0.7}
    http: Document = {"path": chance.choice(("/", "/a%20b?c", "/" + "x" * 500))}
    if chance.random() < 0.5:
        http |= {"hostname": "a.example.com", "expectedStatuses": _some(chance, _CODES)}
    kind = chance.choice(({"type": "TCP"}, {"type": "HTTP", "http": http}))
    active = kind | times | counts | ({"overrides": {"port": 99}} if chance.random() < 0.3 else {})
    passive: Document = {"maxEjectionPercent": chance.choice((0, 50, 100))}
    for name in ("interval", "baseEjectionTime"):
        passive[name] = chance.choice(_TIMES)
    for name in ("consecutive5XxErrors", "consecutiveGatewayErrors"):
        passive[name] = chance.choice(_COUNTS)
    return {"healthCheck": chance.choice(({"active": active}, {"passive": passive}))}


def rate_limit(chance: Random) -> Document:
    """`rateLimit`."""
    unit = chance.choice(("Second", "Minute", "Hour"))
    limit = {"requests": chance.choice(_COUNTS[1:]), "unit": unit}
    return {"rateLimit": {"type": "Local", "local": {"rules": [{"limit": limit}]}}}


def request_buffer(chance: Random) -> Document:
    """`requestBuffer`."""
    limits = (1, "1", "4Ki", "1.5M", "3Gi", 2**32 - 1)
    return {"requestBuffer": {"limit": chance.choice(limits)}}


def response_override(chance: Random) -> Document:
    """`responseOverride`."""
    bodies = ("", "ü%", "%REQ(x)%", "x" * 4096, '{"a": 1}')
    entries = []
    for _ in range(chance.choice((1, 2, 10))):
        codes: list[Document] = [{"value": it} for it in _some(chance, _CODES)]
        codes.append({"type": "Range", "range": {"start": 500, "end": chance.choice((501, 599))}})
        response: Document = {"body": {"type": "Inline", "inline": chance.choice(bodies)}}
        if chance.random() < 0.5:
            response |= {"contentType": "application/json", "statusCode": chance.choice(_CODES[1:])}
        entries.append({"match": {"statusCodes": codes}, "response": response})
    return {"responseOverride": entries}


def http_upgrade(_: Random) -> Document:
    """`httpUpgrade`."""
    return {"httpUpgrade": [{"type": "websocket"}]}


FIELDS: Mapping[str, Callable[[Random], Document]] = {
    "timeout": timeout,
    "retry": retry,
    "loadBalancer": load_balancer,
    "circuitBreaker": circuit_breaker,
    "healthCheck": health_check,
    "rateLimit": rate_limit,
    "requestBuffer": request_buffer,
    "responseOverride": response_override,
    "httpUpgrade": http_upgrade,
}


def every(chance: Random) -> Document:
    """All of them on one route."""
    return {name: value for make in FIELDS.values() for name, value in make(chance).items()}


def _some(chance: Random, values: tuple[Any, ...]) -> list[Any]:
    return chance.sample(values, chance.randrange(1, min(4, len(values)) + 1))
