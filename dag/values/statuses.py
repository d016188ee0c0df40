"""Status codes of answers whose content is ignored.

Envoy sends a body with any status. Clients read none after some of them, so they would take it for
the next response on the connection, which may be of another client (RFC 9112, section 6.3).
"""

BODILESS = frozenset({204, 304})
"""The statuses of answers without a body (RFC 9110, section 6.4.1)."""


def body_refusal(status: int | None) -> str | None:
    """Why an answer with this status gets no body, as the end of a sentence; None if it may."""
    if status not in BODILESS:
        return None
    return f"an answer with the status {status} has no body"
