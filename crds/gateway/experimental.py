"""Fields of an HTTPRoute rule that are or were experimental: retries, session persistence.

GEP-1731, in the standard channel since v1.7, and GEP-1619.
"""

from typing import Annotated, Any

from pydantic import Field, Strict, StringConstraints

from crds.fields import GatewayDuration, Natural32
from crds.gateway.known import Known
from crds.meta import model
from crds.rules import rule


@model
class HTTPRouteRetry:
    """When a failed request is retried."""

    codes: tuple[Annotated[int, Strict(), Field(ge=400, le=599)], ...] = ()
    """The statuses of responses after which a request is retried."""
    attempts: Natural32 = 1
    """Attempts after the first one; 0 is no retry. v1.6 has no default, and allows no 0."""
    backoff: GatewayDuration | None = None
    """The base interval between two attempts."""


_Lifetime = Annotated[str, Known("Permanent", "Session")]
_SessionName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$", min_length=1, max_length=256),
]


@model
class CookieConfig:
    """How long the cookie of a session is valid, as v1.6 writes it."""

    lifetime_type: _Lifetime = "Session"
    """`Session` ends with the browser; `Permanent` lasts for `absoluteTimeout`."""


@model
class SessionCookie:
    """The cookie of a session."""

    name: _SessionName | None = None
    """If absent, one that no other rule has."""
    path: str = Field(default="/", max_length=1024)
    """Its attribute `Path`."""
    lifetime_type: _Lifetime = "Session"
    """`Session` ends with the browser; `Permanent` lasts for `absoluteTimeout`."""


@model
class SessionHeader:
    """The header of a session."""

    name: _SessionName
    """The name of the header that carries the session."""


def _permanent_cookie_has_a_timeout(it: Any) -> bool:
    cookie = it.cookie or it.cookie_config
    is_permanent = cookie is not None and cookie.lifetime_type == "Permanent"
    return it.absolute_timeout is not None or not is_permanent


def _is_written_in_one_way(it: "SessionPersistence") -> bool:
    is_old = it.session_name is not None or it.cookie_config is not None
    return not is_old or (it.cookie is None and it.header is None)


@model
class SessionPersistence:
    """The requests of one session go to the same endpoint.

    Written with `cookie` or `header` since v1.7, with `sessionName` and `cookieConfig` before.
    """

    session_name: str | None = Field(default=None, max_length=128)
    """The name of the cookie or of the header that carries the session."""
    absolute_timeout: GatewayDuration | None = None
    """How long a session lasts, whatever is sent in it."""
    type: Annotated[str, Known("Cookie", "Header")] = "Cookie"
    """Whether a cookie or a header carries the session."""
    cookie_config: CookieConfig | None = None
    cookie: SessionCookie | None = None
    header: SessionHeader | None = None
    _timeout = rule(
        "AbsoluteTimeout must be specified when cookie lifetimeType is Permanent",
        _permanent_cookie_has_a_timeout,
    )
    _cookie = rule(
        "cookieConfig can only be set with type Cookie",
        lambda it: it.cookie_config is None or it.type != "Header",
    )
    _new_cookie = rule(
        "cookie must be nil if type is not Cookie",
        lambda it: it.cookie is None or it.type != "Header",
    )
    _new_header = rule(
        "header must be nil if type is not Header",
        lambda it: it.header is None or it.type != "Cookie",
    )
    _one_way = rule(
        "sessionName and cookieConfig of v1.6 must not be set beside cookie or header of v1.7",
        _is_written_in_one_way,
    )
