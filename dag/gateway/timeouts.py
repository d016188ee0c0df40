"""How long a request may take, and when it is tried again.

Gateway API, "HTTPRouteTimeouts" (GEP-1742) and "HTTPRouteRetry" (GEP-1731). Zero is without limit.
Without retries there is one try, so the shorter of both limits holds. A limit of more than a day
is served as a day. What the backend has not begun to process is retried whenever retries are asked
for, answers only with the codes that are given. A request that may have been processed is sent
again only where attempts have a time limit (`backendRequest`): the limit is there to try again.
"""

from crds.gateway.httproute import HTTPRouteRule
from dag import nodes
from dag.values import durations

NOT_PROCESSED = ("connect-failure", "refused-stream", "reset-before-request", "unavailable")
"""Envoy's words for no connection, a rejected request (HTTP/2, gRPC), a reset before sending."""
RESET = "reset"
"""Envoy's word for an attempt that is over without an answer: reset, or given up after its limit;
it has none for the limit alone."""


def timeout(rule: HTTPRouteRule) -> float | None:
    """Seconds for the whole request; 0 is without limit, None where nothing is said."""
    limits = rule.timeouts
    if limits is None:
        return None
    tried = retry(rule)
    if tried is not None and tried.attempts:
        return _seconds(limits.request) if limits.request is not None else None
    given = [_seconds(it) for it in (limits.request, limits.backend_request) if it is not None]
    return min((it for it in given if it), default=0.0) if given else None


def retry(rule: HTTPRouteRule) -> nodes.Retry | None:
    """When and how often a request is tried again; None where nothing is said."""
    wanted = rule.retry
    if wanted is None:
        return None
    if wanted.attempts == 0:
        return nodes.Retry((), 0)
    limit = rule.timeouts.backend_request if rule.timeouts is not None else None
    per_try = (_seconds(limit) or None) if limit is not None else None
    codes = tuple(sorted(set(wanted.codes)))
    after = (*NOT_PROCESSED, *([RESET] if per_try else []))
    return nodes.Retry(
        on=(*after, "retriable-status-codes") if codes else after,
        attempts=wanted.attempts,
        per_try_timeout=per_try,
        status_codes=codes,
        backoff=(_seconds(wanted.backoff) or None) if wanted.backoff is not None else None,
    )


def _seconds(text: str) -> float:
    """The form was checked when the route was decoded; only the length can be refused."""
    return min(durations.seconds(text), durations.LONGEST)
