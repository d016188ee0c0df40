"""The filters of an HTTPRoute that protect a backend: CORS and external authorization.

If one of them were ignored, what it protects would be open.
"""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from crds.fields import Flag, Natural32, Positive32
from crds.gateway.known import Known
from crds.gateway.matches import METHODS, HeaderName
from crds.gateway.references import BackendObjectReference
from crds.meta import model
from crds.rules import rule

Origin = Annotated[
    str,
    StringConstraints(
        pattern=r"(^\*$)|(^(http(s)?):\/\/"
        r"(((\*\.)?([a-zA-Z0-9\-]+\.)*[a-zA-Z0-9-]+|\*)(:([0-9]{1,5}))?)$)",
        min_length=1,
        max_length=253,
    ),
]


def _stars_stand_alone(cors: Any) -> bool:
    lists = (cors.allow_origins, cors.allow_methods, cors.allow_headers)
    return not any("*" in it and len(it) > 1 for it in lists)


@model
class HTTPCORSFilter:
    """The cross-origin requests that browsers may send (CORS)."""

    allow_origins: tuple[Origin, ...] = Field(default=(), max_length=64)
    """Origins whose pages may send requests; the host may begin with a wildcard."""
    allow_credentials: Flag | None = None
    """Whether browsers may send cookies and the like."""
    allow_methods: Annotated[tuple[str, ...], Known(*METHODS, "*")] = Field(
        default=(), max_length=9
    )
    """Methods that browsers may use; `*` stands for all."""
    allow_headers: tuple[HeaderName, ...] = Field(default=(), max_length=64)
    """Headers that browsers may send; `*` stands for all."""
    expose_headers: tuple[HeaderName, ...] = Field(default=(), max_length=64)
    """Headers of responses that pages may read."""
    max_age: Positive32 = 5
    """The number of seconds for which browsers may cache the response to a preflight request."""
    _stars = rule(
        "allowOrigins, allowMethods and allowHeaders cannot contain '*' alongside others",
        _stars_stand_alone,
    )


@model
class GRPCAuthConfig:
    """What a gRPC authorization service gets of the request."""

    allowed_headers: tuple[str, ...] = Field(default=(), max_length=64)
    """Headers of requests that the authorization service is sent."""


@model
class HTTPAuthConfig:
    """What an HTTP authorization service gets of the request, and what is used of its response."""

    path: (
        Annotated[
            str,
            StringConstraints(
                pattern=r"^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$",
                max_length=1024,
            ),
        ]
        | None
    ) = None
    """A prefix of the path of requests to the authorization service."""
    allowed_headers: tuple[str, ...] = Field(default=(), max_length=64)
    """Headers of requests that the authorization service is sent, beside the usual ones."""
    allowed_response_headers: tuple[str, ...] = Field(default=(), max_length=64)
    """Headers of its response that are added to the request for the backend."""


@model
class ForwardBodyConfig:
    """How much of the request body the authorization service gets."""

    max_size: Natural32 | None = None
    """The largest body that is sent to the authorization service, in bytes; 0 sends none."""


@model
class HTTPExternalAuthFilter:
    """A service that decides whether a request is allowed."""

    protocol: Annotated[str, Known("HTTP", "GRPC")]
    """Whether the authorization service speaks HTTP or Envoy's gRPC protocol."""
    backend_ref: BackendObjectReference
    grpc: GRPCAuthConfig | None = None
    http: HTTPAuthConfig | None = None
    forward_body: ForwardBodyConfig | None = None
    _protocol = rule(
        "exactly the field that protocol names must be specified: grpc or http",
        lambda it: (
            it.protocol not in {"HTTP", "GRPC"}
            or (
                (it.http is not None, it.grpc is not None)
                == (it.protocol == "HTTP", it.protocol == "GRPC")
            )
        ),
    )
