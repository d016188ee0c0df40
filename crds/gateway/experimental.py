"""Fields of an HTTPRoute rule that are or were experimental: retries, session persistence.

GEP-1731, in the standard channel since v1.7, and GEP-1619.
"""

from typing import Annotated, Any

from pydantic import Field, Strict

from crds.fields import GatewayDuration, Natural32
from crds.gateway.known import Known
from crds.meta import model
from crds.rules import rule


@model
class HTTPRouteRetry:
    """When a failed request is retried."""

    codes: tuple[Annotated[int, Strict(), Field(ge=400, le=599)], ...] = ()
    attempts: Natural32 = 1
    """Attempts after the first one; 0 is no retry. v1.6 has no default, and allows no 0."""
    backoff: GatewayDuration | None = None
    """The base interval between two attempts."""


@model
class CookieConfig:
    """How long the cookie of a session is valid."""

    lifetime_type: Annotated[str, Known("Permanent", "Session")] = "Session"


def _permanent_cookie_has_a_timeout(it: Any) -> bool:
    is_permanent = it.cookie_config is not None and it.cookie_config.lifetime_type == "Permanent"
    return it.absolute_timeout is not None or not is_permanent


@model
class SessionPersistence:
    """The requests of one session go to the same endpoint."""

    session_name: str | None = Field(default=None, max_length=128)
    absolute_timeout: GatewayDuration | None = None
    type: Annotated[str, Known("Cookie", "Header")] = "Cookie"
    cookie_config: CookieConfig | None = None
    _timeout = rule(
        "AbsoluteTimeout must be specified when cookie lifetimeType is Permanent",
        _permanent_cookie_has_a_timeout,
    )
    _cookie = rule(
        "cookieConfig can only be set with type Cookie",
        lambda it: it.cookie_config is None or it.type != "Header",
    )
