"""How long a request and each of its tries may take, and when it is tried again.

Gateway API, "HTTPRouteTimeouts" (GEP-1742) and "HTTPRouteRetry" (GEP-1731). Zero is without limit.
Whether there are retries is known only after policies have been applied: without any there is one
try, so the shorter of both limits holds (`settled`). A limit of more than a day is served as a day.
What the backend has not begun to process is retried whenever retries are asked for, answers only
with the codes that are given. A request that may have been processed is sent again only where
attempts have a time limit (`backendRequest`): the limit is there to try again.
"""

from crds.gateway.httproute import HTTPRouteRule
from crds.records import replace
from dag import nodes
from dag.values import durations

NOT_PROCESSED = ("connect-failure", "refused-stream", "reset-before-request", "unavailable")
"""Envoy's words for no connection, a rejected request (HTTP/2, gRPC), a reset before sending."""
RESET = "reset"
"""Envoy's word for an attempt that is over without an answer: reset, or given up after its limit;
it has none for the limit alone."""


def timeout(rule: HTTPRouteRule) -> float | None:
    """Seconds for the whole request; 0 is without limit, None where nothing is said."""
    return _seconds(rule.timeouts.request) if rule.timeouts is not None else None


def try_timeout(rule: HTTPRouteRule) -> float | None:
    """Seconds for each try; 0 is without limit, None where nothing is said."""
    return _seconds(rule.timeouts.backend_request) if rule.timeouts is not None else None


def retry(rule: HTTPRouteRule) -> nodes.Retry | None:
    """When and how often a request is tried again; None where nothing is said."""
    wanted = rule.retry
    if wanted is None:
        return None
    if wanted.attempts == 0:
        return nodes.Retry((), 0)
    codes = tuple(sorted(set(wanted.codes)))
    after = (*NOT_PROCESSED, *([RESET] if try_timeout(rule) else []))
    return nodes.Retry(
        on=(*after, "retriable-status-codes") if codes else after,
        attempts=wanted.attempts,
        status_codes=codes,
        backoff=_seconds(wanted.backoff) or None,
    )


def settled(forward: nodes.Forward) -> nodes.Forward:
    """The limit of a try as Envoy is told: as part of the retries, or of the whole without any.

    Where each try has a limit, the whole has that which is asked for, not Envoy's own.
    """
    limit, found = forward.try_timeout, forward.retry
    if limit is None:
        return forward
    if found is not None and found.attempts:
        found = replace(found, per_try_timeout=limit or None)
        return replace(forward, timeout=forward.timeout or 0.0, retry=found, try_timeout=None)
    shortest = min((it for it in (forward.timeout, limit) if it), default=0.0)
    return replace(forward, timeout=shortest, try_timeout=None)


def _seconds(text: str | None) -> float | None:
    """The form was checked when the route was decoded; only the length can be refused."""
    return min(durations.seconds(text), durations.LONGEST) if text is not None else None
