"""Timeouts and retries: of a request and each of its tries.

Gateway API, "HTTPRouteTimeouts" (GEP-1742) and "HTTPRouteRetry" (GEP-1731). Zero is without limit.
Whether there are retries is known only after policies have been applied: without any there is one
try, so the shorter of both limits holds (`settled`). A limit of more than a day becomes a day. If
retries are asked for, requests that the backend has not begun to process are always retried;
answers only with the given codes. A request that may have been processed is retried only if tries
have a time limit (`backendRequest`), for that is what this limit is for.
"""

from crds.gateway.httproute import HTTPRouteRule
from crds.records import replace
from dag import nodes
from dag.values import durations

NOT_PROCESSED = ("connect-failure", "refused-stream", "reset-before-request", "unavailable")
"""Envoy's conditions: no connection, a rejected request (HTTP/2, gRPC), a reset before sending."""
RESET = "reset"
"""Envoy's condition for a try that ended without an answer: reset, or timed out; it has none for
the time limit alone."""


def timeout(rule: HTTPRouteRule) -> float | None:
    """Seconds for the whole request; 0 is without limit, None if it is not set."""
    return _seconds(rule.timeouts.request) if rule.timeouts is not None else None


def try_timeout(rule: HTTPRouteRule) -> float | None:
    """Seconds for each try; 0 is without limit, None if it is not set."""
    return _seconds(rule.timeouts.backend_request) if rule.timeouts is not None else None


def retry(rule: HTTPRouteRule) -> nodes.Retry | None:
    """When and how often a request is retried; None if it is not set."""
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
    """The action with the limit of a try where Envoy has it: in the retries, or without any in the
    whole.

    If each try has a limit, the whole has the one that is asked for (or none), not Envoy's default.
    """
    limit, found = forward.try_timeout, forward.retry
    if limit is None:
        return forward
    is_retried = found is not None and found.attempts > 0
    if found is not None:
        found = replace(found, per_try_timeout=(limit or None) if is_retried else None)
    whole = forward.timeout or 0.0
    if not is_retried:
        whole = min((it for it in (whole, limit) if it), default=0.0)
    return replace(forward, timeout=whole, retry=found, try_timeout=None)


ENVOYS_IDLE = 300.0
"""Seconds after which Envoy ends a request without a byte in either direction, unless somebody says
otherwise."""


def lasting(forward: nodes.Forward) -> nodes.Forward:
    """A settled action whose requests may be silent for as long as they may take: Envoy's own limit
    of silence would end them sooner."""
    whole, found = forward.timeout, forward.retry
    if whole is None or forward.idle_timeout is not None:
        return forward
    longest = whole or (found.per_try_timeout if found is not None else None)
    return forward if longest and longest <= ENVOYS_IDLE else replace(forward, idle_timeout=whole)


def _seconds(text: str | None) -> float | None:
    """The seconds of a duration, a day at most; its format was checked by decoding."""
    return min(durations.seconds(text), durations.LONGEST) if text is not None else None
