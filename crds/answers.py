"""What an HTTPProxy route answers without a backend, and how it treats a backend's redirects."""

from typing import Annotated, Literal

from pydantic import Field, Strict, StringConstraints

from crds.fields import ABSOLUTE_PATH, Flag, Port, Subdomain, Uint32
from crds.meta import model

AbsolutePath = Annotated[str, StringConstraints(pattern=ABSOLUTE_PATH)]
RedirectCode = Literal[301, 302, 303, 307, 308]


@model
class HTTPRequestRedirectPolicy:
    """Sends the client elsewhere; what is absent stays as it was in the request."""

    scheme: Literal["http", "https"] | None = None
    """Another scheme."""
    hostname: Subdomain | None = None
    """Another host, without wildcard."""
    port: Port | None = None
    """Another port."""
    status_code: RedirectCode = 302
    """The status of the answer."""
    path: AbsolutePath | None = None
    """Another path; not together with `prefix`."""
    prefix: AbsolutePath | None = None
    """Another start in place of the matched prefix; not together with `path`."""


@model
class HTTPDirectResponsePolicy:
    """An answer that is given at once."""

    status_code: Annotated[int, Strict(), Field(ge=200, le=599)]
    """Its status."""
    body: str = ""
    """Its body."""


@model
class HTTPInternalRedirectPolicy:
    """Redirects of the backend that Envoy follows itself instead of handing them to the client."""

    max_internal_redirects: Uint32 | None = None
    """How many in a row; Envoy's own limit is 1."""
    redirect_response_codes: tuple[RedirectCode, ...] = ()
    """The status codes to follow; 302 if empty."""
    allow_cross_scheme_redirect: Literal["Always", "Never", "SafeOnly"] = "Never"
    """Whether to follow from http to https and back; SafeOnly: not from https to http."""
    deny_repeated_route_redirect: Flag = False
    """Do not follow to a route that was passed already."""
