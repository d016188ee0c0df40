"""What an HTTPProxy route answers without a backend, and how it handles a backend's redirects."""

from typing import Annotated, Literal

from pydantic import Field, Strict, StringConstraints

from crds.fields import ABSOLUTE_PATH, Flag, Port, Subdomain, Uint32
from crds.meta import model

AbsolutePath = Annotated[str, StringConstraints(pattern=ABSOLUTE_PATH)]
RedirectCode = Literal[301, 302, 303, 307, 308]


@model
class HTTPRequestRedirectPolicy:
    """The route answers with a redirect. The parts of the URL that are not set stay as they are in
    the request."""

    scheme: Literal["http", "https"] | None = None
    """The scheme of the new URL. If it changes and no port is set, the usual port of the scheme
    applies."""
    hostname: Subdomain | None = None
    """The host name of the new URL, which may not contain a wildcard."""
    port: Port | None = None
    """The port of the new URL, from 1 to 65535."""
    status_code: RedirectCode = 302
    """The HTTP status code of the redirect. The default is 302."""
    path: AbsolutePath | None = None
    """The path of the new URL, which starts with `/`. If `prefix` is set as well, the route is
    dropped."""
    prefix: AbsolutePath | None = None
    """This text, which starts with `/`, replaces the path prefix that the route matches. The route
    is dropped if it has no prefix condition, or if `path` is set as well."""


@model
class HTTPDirectResponsePolicy:
    """The route answers with a fixed response, and no backend is involved."""

    status_code: Annotated[int, Strict(), Field(ge=200, le=599)]
    """The HTTP status code of the response, from 200 to 599."""
    body: str = ""
    """The body of the response, at most 4096 bytes; a longer one drops the route. The default is an
    empty body."""


@model
class HTTPInternalRedirectPolicy:
    """Envoy itself follows certain redirects of the backend instead of passing them to the client.
    Without this policy it follows none."""

    max_internal_redirects: Uint32 | None = None
    """The number of redirects that Envoy follows for one request; the next one is passed to the
    client. The default is 1."""
    redirect_response_codes: tuple[RedirectCode, ...] = ()
    """The status codes of the redirects that Envoy follows. The default is 302 alone."""
    allow_cross_scheme_redirect: Literal["Always", "Never", "SafeOnly"] = "Never"
    """Whether Envoy follows a redirect that changes between http and https. SafeOnly allows it
    except from https to http. The default is Never."""
    deny_repeated_route_redirect: Flag = False
    """If true, Envoy does not follow a redirect to a route that this request has already passed.
    The default is false."""
