"""Header names and values of users: which ones Envoy would refuse, or a proxy must not set.

Envoy accepts a name with a space in it and refuses a whole RouteConfiguration for a line break in a
value, so both are decided here (RFC 9110, sections 5.1, 5.5 and 7.6.1). Content-Length frames a
message (RFC 9112, section 6.3): whoever may change it can forge the next message on the connection,
which may be of another client. Headers by which Envoy tells backends about the client, and those
that it obeys itself, cannot be changed by authors of routes (`request_refusal`); the configuration
may.
"""

import re2

_TOKEN = re2.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

MAX_VALUE_LENGTH = 4096
"""Characters."""

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

FRAMING = "content-length"

TOLD_BY_ENVOY = frozenset(
    {
        "x-envoy-external-address",
        "x-envoy-internal",
        "x-forwarded-client-cert",
        "x-forwarded-for",
        "x-forwarded-proto",
    }
)
"""Headers about the client and its connection. Backends trust them, since Envoy replaces or extends
what clients send. `X-Forwarded-Host` is not among them: Envoy passes on a client's unchanged."""

OBEYED_BY_ENVOY = frozenset(
    {
        "x-contour-routes",  # the table of hosts, `contour.envoy.shards`
        "x-envoy-decorator-operation",
        "x-envoy-downstream-service-cluster",
        "x-envoy-downstream-service-node",
        "x-envoy-expected-rq-timeout-ms",
        "x-envoy-force-trace",
        "x-envoy-hedge-on-per-try-timeout",
        "x-envoy-ip-tags",
        "x-envoy-max-retries",
        "x-envoy-original-url",
        "x-envoy-retriable-header-names",
        "x-envoy-retriable-status-codes",
        "x-envoy-retry-grpc-on",
        "x-envoy-retry-on",
        "x-envoy-upstream-alt-stat-name",
        "x-envoy-upstream-rq-per-try-timeout-ms",
        "x-envoy-upstream-rq-timeout-ms",
    }
)
"""Headers that Envoy removes from external requests before it reads them (Envoy documentation,
"HTTP header sanitizing"), and one of ours. Users may set other names that begin with `X-Envoy-`."""


def name_refusal(name: str) -> str | None:
    """Why a route may not match on this header, as the end of a sentence; None if it may."""
    if not _TOKEN.fullmatch(name.removeprefix(":")):
        return "is not a valid header name"
    return None


def change_refusal(name: str) -> str | None:
    """Why this header may not be set, added or removed, in requests or answers; None if it may."""
    if name.startswith(":") or not _TOKEN.fullmatch(name):
        return "is not a valid header name"
    lowered = name.lower()
    if lowered == "host":
        return "cannot be changed here: rewrite the host name instead"
    if lowered in HOP_BY_HOP:
        return "belongs to the connection and cannot be changed"
    if lowered == FRAMING:
        return "says where the message ends and cannot be changed"
    return None


def request_refusal(name: str) -> str | None:
    """Why authors of routes may not change this header of requests; None if they may."""
    if refusal := change_refusal(name):
        return refusal
    if name.lower() in TOLD_BY_ENVOY:
        return "tells backends of the client, is written by Envoy, and cannot be changed"
    if name.lower() in OBEYED_BY_ENVOY:
        return "is an instruction to Envoy and cannot be changed"
    return None


def value_refusal(value: str) -> str | None:
    """Why this cannot be the value of a header, as the end of a sentence; None if it can."""
    if len(value) > MAX_VALUE_LENGTH:
        return f"is longer than {MAX_VALUE_LENGTH} characters"
    if any(it in value for it in "\r\n\0"):
        return "holds a line break or NUL"
    return None
