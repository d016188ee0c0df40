"""External authorization: a service that decides whether requests are allowed.

Used by virtual hosts and routes of an HTTPProxy, and for every host by a ContourConfiguration.
"""

from typing import Any, Literal

from pydantic import Field

from crds.fields import Flag, NonEmpty, PositiveUint32, Timeout
from crds.meta import model
from crds.rules import rule


@model
class ExtensionServiceReference:
    """A reference to the ExtensionService that decides. If it cannot be asked, what it protects
    answers 503."""

    api_version: NonEmpty | None = None
    """The API version of the ExtensionService. `projectcontour.io/v1alpha1` is the default and the
    only valid value."""
    namespace: NonEmpty | None = None
    """The namespace of the ExtensionService. The default is the namespace of the HTTPProxy; it is
    required in a ContourConfiguration."""
    name: NonEmpty | None = None
    """The name of the ExtensionService, which must exist and be valid."""


@model
class AuthorizationPolicy:
    """Whether requests are authorized, and what the authorization service is told about them."""

    disabled: Flag = False
    """If true, requests are allowed without asking the authorization service. The default is
    false."""
    context: dict[str, str] = Field(default_factory=dict)
    """Keys and values that the service gets with each request. Entries of a route replace those of
    its virtual host. A service of type `http` gets none, so they are an error there."""


@model
class AuthorizationServerBufferSettings:
    """The part of the request body that is sent to the authorization service."""

    max_request_bytes: PositiveUint32 = 1024
    """The number of bytes of the body that are sent at most. The default is 1024."""
    allow_partial_message: Flag = False
    """If true, the beginning of a longer body is sent. By default a request with a longer body is
    answered with 413."""
    pack_as_bytes: Flag = False
    """If true, the body is sent as raw bytes. By default it is sent as UTF-8 text."""


def _has_one_operator(header: Any) -> bool:
    operators = (header.exact, header.prefix, header.suffix, header.contains)
    return sum(it is not None for it in operators) == 1


@model
class HTTPAuthorizationServerAllowedHeaders:
    """A condition on names of headers. Exactly one of `exact`, `prefix`, `suffix` and `contains`
    must be set."""

    exact: str | None = None
    """The name of the header is equal to this text."""
    prefix: str | None = None
    """The name of the header starts with this text."""
    suffix: str | None = None
    """The name of the header ends with this text."""
    contains: str | None = None
    """The name of the header contains this text."""
    ignore_case: Flag = False
    """If true, names are compared without regard to case. The default is false; Envoy sends names
    in lower case."""
    _one = rule(
        "exactly one of exact, prefix, suffix and contains must be set",
        _has_one_operator,
        cel="(has(self.exact) ? 1 : 0) + (has(self.prefix) ? 1 : 0) + (has(self.suffix) ? 1 : 0)"
        " + (has(self.contains) ? 1 : 0) == 1",
    )


@model
class HTTPAuthorizationServerSettings:
    """How an authorization service of type `http` is asked."""

    path_prefix: str = ""
    """This text is put in front of the path of the request when the service is asked. It must start
    with `/`. The default is no prefix."""
    allowed_authorization_headers: tuple[HTTPAuthorizationServerAllowedHeaders, ...] = ()
    """Request headers that are sent to the service, in addition to those that Envoy always sends,
    such as `Host` and `Authorization`."""
    allowed_upstream_headers: tuple[HTTPAuthorizationServerAllowedHeaders, ...] = ()
    """Headers of the service's response that are added to the request for the backend. Headers that
    no route may change, such as `Content-Length`, are rejected."""


@model
class AuthorizationServer:
    """The service that decides whether requests are allowed, and how it is asked. If it is invalid,
    what it protects answers 503."""

    extension_ref: ExtensionServiceReference | None = None
    """The ExtensionService that decides. On a virtual host without it, the service of
    `globalExtAuth` in the configuration is asked; in `globalExtAuth` it is required."""
    auth_policy: AuthorizationPolicy | None = None
    """The policy of all routes that have no `authPolicy` of their own."""
    response_timeout: Timeout | None = None
    """The longest time that the service may take to decide, such as `500ms`. The default is the
    response timeout of the ExtensionService; without either there is no limit."""
    fail_open: Flag = False
    """If true, requests are allowed when the service cannot be reached or returns an error. By
    default they are answered with 403."""
    with_request_body: AuthorizationServerBufferSettings | None = None
    """The service also gets the beginning of the request body. By default it gets no body. It is
    asked once that part has arrived, so calls by gRPC whose clients stream wait for it."""
    service_type: Literal["http", "grpc"] = "grpc"
    """The protocol by which the service is asked: Envoy's gRPC authorization API, or plain HTTP.
    The default is `grpc`."""
    http_settings: HTTPAuthorizationServerSettings | None = None
    """Settings for a service of type `http`; the API server rejects them with any other type."""
    _http = rule(
        "httpSettings can only be set when serviceType is 'http'",
        lambda it: it.http_settings is None or it.service_type == "http",
        cel="!has(self.httpSettings) || self.serviceType == 'http'",
    )
