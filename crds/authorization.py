"""External authorization: a service that Envoy asks whether a request may pass.

For virtual hosts and routes of an HTTPProxy, and for all of them in a ContourConfiguration.
"""

from typing import Any, Literal

from pydantic import Field

from crds.fields import Flag, NonEmpty, PositiveUint32, Timeout
from crds.meta import model
from crds.rules import rule


@model
class ExtensionServiceReference:
    """An ExtensionService."""

    api_version: NonEmpty | None = None
    """Its API version; `projectcontour.io/v1alpha1` if absent."""
    namespace: NonEmpty | None = None
    """Its namespace; the referrer's own if absent."""
    name: NonEmpty | None = None
    """Its name."""


@model
class AuthorizationPolicy:
    """How requests are authorized."""

    disabled: Flag = False
    """Let requests pass unasked."""
    context: dict[str, str] = Field(default_factory=dict)
    """Keys and values that the service is told; a route's win over its virtual host's."""


@model
class AuthorizationServerBufferSettings:
    """The part of the body that the service gets to see."""

    max_request_bytes: PositiveUint32 = 1024
    """How much of it."""
    allow_partial_message: Flag = False
    """Send what fits; otherwise a longer body is refused with status 413."""
    pack_as_bytes: Flag = False
    """Send it as bytes; otherwise as text in UTF-8."""


def _has_one_operator(header: Any) -> bool:
    operators = (header.exact, header.prefix, header.suffix, header.contains)
    return sum(it is not None for it in operators) == 1


@model
class HTTPAuthorizationServerAllowedHeaders:
    """Names of headers; exactly one of the operators is set."""

    exact: str | None = None
    """The whole name."""
    prefix: str | None = None
    """How the name starts."""
    suffix: str | None = None
    """How the name ends."""
    contains: str | None = None
    """A text that the name has in it."""
    ignore_case: Flag = False
    """Compare without regard to case."""
    _one = rule(
        "exactly one of exact, prefix, suffix and contains must be set",
        _has_one_operator,
        cel="(has(self.exact) ? 1 : 0) + (has(self.prefix) ? 1 : 0) + (has(self.suffix) ? 1 : 0)"
        " + (has(self.contains) ? 1 : 0) == 1",
    )


@model
class HTTPAuthorizationServerSettings:
    """How a service that speaks HTTP is asked."""

    path_prefix: str = ""
    """What is put in front of the request's path."""
    allowed_authorization_headers: tuple[HTTPAuthorizationServerAllowedHeaders, ...] = ()
    """Headers of the request that the service gets to see, beside Envoy's usual ones."""
    allowed_upstream_headers: tuple[HTTPAuthorizationServerAllowedHeaders, ...] = ()
    """Headers of the service's answer that the backend gets to see."""


@model
class AuthorizationServer:
    """The service, and how it is asked."""

    extension_ref: ExtensionServiceReference | None = None
    """The service."""
    auth_policy: AuthorizationPolicy | None = None
    """How requests are authorized where the route does not say."""
    response_timeout: Timeout | None = None
    """How long the service may take; the ExtensionService's own limit if absent."""
    fail_open: Flag = False
    """Let requests pass if the service does not answer."""
    with_request_body: AuthorizationServerBufferSettings | None = None
    """Send the body too."""
    service_type: Literal["http", "grpc"] = "grpc"
    """What the service speaks."""
    http_settings: HTTPAuthorizationServerSettings | None = None
    """How it is asked if it speaks HTTP."""
    _http = rule(
        "httpSettings can only be set when serviceType is 'http'",
        lambda it: it.http_settings is None or it.service_type == "http",
        cel="!has(self.httpSettings) || self.serviceType == 'http'",
    )
