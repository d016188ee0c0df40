"""Generated BackendTrafficPolicies: each served field at the limits of its form."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from crds.envoygateway.backendhealth import METHODS

Document = dict[str, Any]

_TIMES = ("0s", "1ms", "10s", "1h30m", "99999h")
_TRIGGERS = ("5xx", "reset", "connect-failure", "gateway-error", "unavailable", "cancelled")
_CODES = (100, 200, 404, 429, 500, 503, 599)
_COUNTS = (0, 1, 1024, 2**32 - 1)
_HEADERS = ("x-user", "X-Tenant", "cookie", "x-a_b", "a" * 200, ":path", "a b", "ü")


def timeout(chance: Random) -> Document:
    """`timeout`."""
    names = (
        "connectionIdleTimeout", "requestTimeout", "streamIdleTimeout", "maxStreamDuration",
        "maxConnectionDuration",
    )  # fmt: skip
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
        made["numAttemptsPerPriority"] = chance.choice((0, 1, 2**31 - 1))
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
        {
            "type": "Cookie",
            "cookie": {"name": "c", "ttl": "1h", "attributes": {"Secure": "", "a": "ü%", "b": ";"}},
        },
        {"type": "QueryParams", "queryParams": [{"name": "a b"}, {"name": "ü"}]},
    )
    kind = chance.choice(("ConsistentHash", "LeastRequest", "Random", "RoundRobin"))
    made: Document = {"type": kind}
    if kind == "ConsistentHash":
        table = chance.choice((2, 7, 65537, 5000011, 9))
        made["consistentHash"] = chance.choice(hashes) | {"tableSize": table}
    elif chance.random() < 0.7:
        made["slowStart"] = {"window": chance.choice(_TIMES)}
    return {"loadBalancer": made}


def circuit_breaker(chance: Random) -> Document:
    """`circuitBreaker`."""
    names = (
        "maxConnections", "maxPendingRequests", "maxParallelRequests", "maxParallelRetries",
        "maxRequestsPerConnection",
    )  # fmt: skip
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
    if chance.random() < 0.5:
        method = chance.choice(METHODS)
        http |= {"method": method, "retriableStatuses": _some(chance, _CODES)}
        if method in ("POST", "PUT"):
            http["requestBody"] = chance.choice(_PAYLOADS)
        http["expectedResponse"] = chance.choice(_PAYLOADS)
    tcp = {it: chance.choice(_PAYLOADS) for it in ("send", "receive") if chance.random() < 0.5}
    kinds: tuple[Document, ...] = (
        {"type": "TCP", "tcp": tcp},
        {"type": "HTTP", "http": http},
        {"type": "GRPC", "grpc": {"service": "a/ü"}},
    )
    kind = chance.choice(kinds)
    active = kind | times | counts | ({"overrides": {"port": 99}} if chance.random() < 0.3 else {})
    if chance.random() < 0.5:
        active["initialJitter"] = chance.choice(("0s", "1ms", "10ms"))
    passive: Document = {"maxEjectionPercent": chance.choice((0, 50, 100))}
    if chance.random() < 0.5:
        passive |= {
            "splitExternalLocalOriginErrors": True,
            "consecutiveLocalOriginFailures": chance.choice(_COUNTS),
            "failurePercentageThreshold": chance.choice((0, 100)),
            "alwaysEjectOneEndpoint": True,
        }
    for name in ("interval", "baseEjectionTime"):
        passive[name] = chance.choice(_TIMES)
    for name in ("consecutive5XxErrors", "consecutiveGatewayErrors"):
        passive[name] = chance.choice(_COUNTS)
    checks = chance.choice(({"active": active}, {"passive": passive}))
    return {"healthCheck": {"panicThreshold": chance.choice((0, 1, 100)), **checks}}


_UNITS = ("Second", "Minute", "Hour", "Day", "Week", "Month", "Year")
_TEXTS = ("", "a", "ü%", "%REQ(x)%", '"\\', "x" * 1024)
_EXPRESSIONS = ("a+", "(?i)[a-z]{1,50}", '"\\d\\\\"', "/a|b", "%REQ(x)%", "ü.*", "a\nb")
_PAYLOADS: tuple[Document, ...] = (
    {"type": "Text", "text": "ü%"},
    {"type": "Text", "text": ""},
    {"type": "Binary", "binary": "AAE="},
)


def rate_limit(chance: Random) -> Document:
    """`rateLimit`."""
    kinds = chance.choice((("local",), ("global",), ("local", "global")))
    return {"rateLimit": {it: {"rules": _rules(chance, it)} for it in kinds}}


def _rules(chance: Random, kind: str) -> list[Document]:
    return [_rule(chance, kind) for _ in range(chance.choice((1, 2, 5)))]


def _rule(chance: Random, kind: str) -> Document:
    counts = _COUNTS[1:] if kind == "local" else _COUNTS
    made: Document = {
        "limit": {"requests": chance.choice(counts), "unit": chance.choice(_UNITS)},
        "clientSelectors": [_selector(chance) for _ in range(chance.choice((0, 1, 1, 8)))],
    }
    costs = ("request",) if kind == "local" else ("request", "response")
    if chance.random() < 0.5:
        number = chance.choice((0, 1, 10**9))
        made["cost"] = {it: {"from": "Number", "number": number} for it in _some(chance, costs)}
    if chance.random() < 0.5:
        made |= {"shadowMode": chance.choice((True, False)), "shared": kind == "global"}
    if chance.random() < 0.5:
        made["xRateLimitHeaders"] = chance.choice(("Off", "DraftVersion03"))
    return made


def _selector(chance: Random) -> Document:
    methods = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
    path = chance.choice(("Exact", "PathPrefix", "RegularExpression"))
    value = f"/{chance.choice(_TEXTS)[:1000]}" if path != "RegularExpression" else None
    ranges = ("0.0.0.0/0", "10.1.2.3/8", "192.0.2.1", "::/0", "2001:db8::1/128", "::ffff:1.2.3.4")
    every: Document = {
        "headers": [_value(chance, ("x-user", "X-A_b", "cookie")) for _ in range(3)],
        "methods": [{"value": it, **_inverted(chance)} for it in _some(chance, methods)],
        "path": {
            "type": path,
            "value": value or chance.choice(_EXPRESSIONS),
            **_inverted(chance),
        },
        "queryParams": [_value(chance, ("q", "a b", "ü%")) for _ in range(3)],
        "sourceCIDR": {
            "type": chance.choice(("Exact", "Distinct")),
            "value": chance.choice(ranges),
            **_inverted(chance),
        },
    }
    return {it: every[it] for it in _some(chance, tuple(every))}


def _value(chance: Random, names: tuple[str, ...]) -> Document:
    kind = chance.choice(("Exact", "RegularExpression", "Distinct"))
    made: Document = {"type": kind, "name": chance.choice(names)}
    if kind == "Distinct":
        return made
    return made | {
        "value": chance.choice(_TEXTS if kind == "Exact" else _EXPRESSIONS),
        **_inverted(chance),
    }


def _inverted(chance: Random) -> Document:
    return {"invert": True} if chance.random() < 0.3 else {}


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
        match: Document = {"statusCodes": codes}
        if chance.random() < 0.5:
            match["responseHeaders"] = _answer_headers(chance)
        entry = {"match": match, "source": chance.choice(("All", "Local", "Backend"))}
        if chance.random() < 0.3:
            entries.append(entry | {"redirect": _redirect(chance)})
            continue
        if chance.random() < 0.5:
            response["header"] = {
                "set": [{"name": "x-a", "value": chance.choice(bodies[1:4])}],
                "add": [{"name": "set-cookie", "value": "a=b"}],
            }
        entries.append(entry | {"response": response})
    return {"responseOverride": entries}


def _answer_headers(chance: Random) -> list[Document]:
    values = {"Exact": "ü%", "Prefix": "a" * 1024, "Suffix": "b", "RegularExpression": "a|[b-c]+"}
    kinds = _some(chance, tuple(values))
    return [{"name": "X-a", "value": {"type": it, "value": values[it]}} for it in kinds]


def _redirect(chance: Random) -> Document:
    parts: Document = {
        "scheme": "https",
        "hostname": "a.example.com",
        "port": chance.choice((1, 443, 65535)),
        "path": {"type": "ReplaceFullPath", "replaceFullPath": "/ü%" + "x" * 900},
        "statusCode": 301,
    }
    return {it: parts[it] for it in parts if chance.random() < 0.5}


def fault_injection(chance: Random) -> Document:
    """`faultInjection`."""
    delay = {"fixedDelay": chance.choice(("0s", "1ms")), "percentage": chance.choice(_SHARES)}
    abort: Document = {"percentage": chance.choice(_SHARES)}
    abort |= chance.choice(({"httpStatus": chance.choice((200, 501, 599))}, {"grpcStatus": 16}))
    made: Document = {"delay": delay} if chance.random() < 0.7 else {}
    return {
        "faultInjection": made | ({"abort": abort} if chance.random() < 0.7 or not made else {})
    }


_SHARES = (0, 0.0001, 33.3333, 100)


def compressor(chance: Random) -> Document:
    """`compressor`."""
    return {"compressor": _compressors(chance)}


def compression(chance: Random) -> Document:
    """`compression`."""
    return {"compression": _compressors(chance)}


def _compressors(chance: Random) -> list[Document]:
    made: list[Document] = [{"type": it} for it in _some(chance, ("Gzip", "Brotli", "Zstd"))]
    for it in made:
        if chance.random() < 0.5:
            it["minContentLength"] = chance.choice((30, "1Ki", 2**32 - 1))
    return made


def http_upgrade(_: Random) -> Document:
    """`httpUpgrade`."""
    return {"httpUpgrade": [{"type": "websocket"}]}


def tcp_keepalive(chance: Random) -> Document:
    """`tcpKeepalive`."""
    made: Document = {it: chance.choice(_TIMES) for it in ("idleTime", "interval")}
    return {"tcpKeepalive": {"probes": chance.choice((1, 9, 2**31 - 1)), **made}}


def connection(chance: Random) -> Document:
    """`connection`."""
    ahead = {
        "perEndpointPercent": chance.choice((100, 101, 300)),
        "predictivePercent": chance.choice((100, 300)),
    }
    limits = {
        "bufferLimit": chance.choice((0, 1, "32Ki", "1G")),
        "socketBufferLimit": chance.choice((1, "32Ki", "3Gi")),
    }
    return {"connection": {**limits, "preconnect": ahead}}


def use_client_protocol(_: Random) -> Document:
    """`useClientProtocol`."""
    return {"useClientProtocol": True}


def http2(chance: Random) -> Document:
    """`http2`."""
    pings = {it: chance.choice(("1ms", "10s", "99999h")) for it in ("interval", "idleInterval")}
    return {
        "http2": {
            "initialStreamWindowSize": chance.choice((65535, "64Ki", 2**31 - 1)),
            "initialConnectionWindowSize": chance.choice((65535, "1Mi", 2**31 - 1)),
            "maxConcurrentStreams": chance.choice((1, 2**31 - 1)),
            "onInvalidMessage": chance.choice(("TerminateConnection", "TerminateStream")),
            "connectionKeepalive": {**pings, "intervalJitter": chance.choice((0, 100))},
        }
    }


def proxy_protocol(chance: Random) -> Document:
    """`proxyProtocol`."""
    return {"proxyProtocol": {"version": chance.choice(("V1", "V2"))}}


def dns(chance: Random) -> Document:
    """`dns`."""
    families = ("IPv4", "IPv6", "IPv4Preferred", "IPv6Preferred", "IPv4AndIPv6")
    return {
        "dns": {
            "dnsRefreshRate": chance.choice(("2ms", "10s", "99999h")),
            "respectDnsTtl": chance.choice((True, False)),
            "lookupFamily": chance.choice(families),
        }
    }


FIELDS: Mapping[str, Callable[[Random], Document]] = {
    "timeout": timeout,
    "retry": retry,
    "loadBalancer": load_balancer,
    "circuitBreaker": circuit_breaker,
    "healthCheck": health_check,
    "rateLimit": rate_limit,
    "requestBuffer": request_buffer,
    "responseOverride": response_override,
    "faultInjection": fault_injection,
    "compressor": compressor,
    "compression": compression,
    "httpUpgrade": http_upgrade,
    "tcpKeepalive": tcp_keepalive,
    "useClientProtocol": use_client_protocol,
    "connection": connection,
    "http2": http2,
    "proxyProtocol": proxy_protocol,
    "dns": dns,
}


def every(chance: Random) -> Document:
    """All of them on one route."""
    return {name: value for make in FIELDS.values() for name, value in make(chance).items()}


def _some(chance: Random, values: tuple[Any, ...]) -> list[Any]:
    return chance.sample(values, chance.randrange(1, min(4, len(values)) + 1))
