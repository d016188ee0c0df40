"""How long a request may take, and when it is tried again.

Gateway API, "HTTPRouteTimeouts" (GEP-1742) and "HTTPRouteRetry" (GEP-1731). Zero is without limit.
Without retries there is one try, so the shorter of both limits holds. A limit of more than a day
is served as a day. Connections that fail are retried whenever retries are asked for, answers only
with the codes that are given.
"""

from crds.gateway.httproute import HTTPRouteRule
from dag import nodes
from dag.values import durations

CONNECTION_ERRORS = ("connect-failure", "refused-stream", "reset")
"""Envoy's words for a connection that is refused, reset, or answers too late."""


def timeout(rule: HTTPRouteRule) -> float | None:
    """Seconds for the whole request; 0 is without limit, None where nothing is said."""
    limits = rule.timeouts
    if limits is None:
        return None
    if rule.retry is not None:
        return _seconds(limits.request) if limits.request is not None else None
    given = [_seconds(it) for it in (limits.request, limits.backend_request) if it is not None]
    return min((it for it in given if it), default=0.0) if given else None


def retry(rule: HTTPRouteRule) -> nodes.Retry | None:
    """When and how often a request is tried again."""
    wanted = rule.retry
    if wanted is None:
        return None
    limit = rule.timeouts.backend_request if rule.timeouts is not None else None
    codes = tuple(sorted(set(wanted.codes)))
    return nodes.Retry(
        on=(*CONNECTION_ERRORS, "retriable-status-codes") if codes else CONNECTION_ERRORS,
        attempts=wanted.attempts or 1,
        per_try_timeout=(_seconds(limit) or None) if limit is not None else None,
        status_codes=codes,
        backoff=(_seconds(wanted.backoff) or None) if wanted.backoff is not None else None,
    )


def _seconds(text: str) -> float:
    """The form was checked when the route was decoded; only the length can be refused."""
    return min(durations.seconds(text), durations.LONGEST)
