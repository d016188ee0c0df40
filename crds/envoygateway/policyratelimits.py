"""The rates of requests that a BackendTrafficPolicy allows.

The fields and limits are those of Envoy Gateway 1.9. A limit that is not served closes the routes.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.envoygateway.opaque import Opaque
from crds.fields import Flag, Int64, Uint32
from crds.meta import model
from crds.rules import rule
from crds.unserved import Unserved

_CLOSED = Unserved(guards=True)
_Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
_Text = Annotated[str, StringConstraints(max_length=1024)]
_Comparison = Literal["Exact", "RegularExpression", "Distinct"]


@model
class CountedHeader:
    """A header of the requests that are counted."""

    type: _Comparison = "Exact"
    """How the header is compared. `Exact` and `RegularExpression` count the requests whose header
    matches `value`; `Distinct` counts each value of the header apart. The default is `Exact`."""
    name: _Name
    """The name of the header, compared without case."""
    value: _Text | None = None
    """The value or regular expression. It must be absent with `Distinct` and present otherwise."""
    invert: Flag = False
    """Whether requests are meant whose header does not match, or is missing. Not with `Distinct`.
    The default is `false`."""


@model
class CountedMethod:
    """A method of the requests that are counted."""

    value: Literal["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]
    """The method, such as `GET`."""
    invert: Flag = False
    """Whether all other methods are meant. The default is `false`."""


@model
class CountedPath:
    """The path of the requests that are counted, without their query."""

    type: Literal["Exact", "PathPrefix", "RegularExpression"] = "PathPrefix"
    """How the path is compared: `Exact`, `PathPrefix` or `RegularExpression`. The default is
    `PathPrefix`, by path elements."""
    value: _Text = "/"
    """The path, the prefix or the regular expression that the path is compared with. The default is
    `/`."""
    invert: Flag = False
    """Whether requests with any other path are meant. The default is `false`."""


@model
class CountedParameter:
    """A query parameter of the requests that are counted."""

    type: _Comparison = "Exact"
    """How the parameter is compared. `Exact` and `RegularExpression` count the requests whose
    parameter matches `value`; `Distinct` counts each value apart. The default is `Exact`."""
    name: _Name
    """The name of the parameter."""
    value: _Text | None = None
    """The value or regular expression. It must be absent with `Distinct` and present otherwise."""
    invert: Flag = False
    """Whether requests are meant whose parameter does not match, or is missing. Not with
    `Distinct`. The default is `false`."""


@model
class CountedClients:
    """A range of client addresses."""

    type: Literal["Exact", "Distinct"] = "Exact"
    """`Exact` counts all clients of the range together, `Distinct` each of them apart. The default
    is `Exact`."""
    value: _Name
    """The range in CIDR notation, such as `192.0.2.0/24`."""
    invert: Flag = False
    """Whether clients are meant that are not in the range. The default is `false`."""


@model
class ClientSelector:
    """Conditions that a request must meet to be counted; all of them."""

    headers: tuple[CountedHeader, ...] = Field(default=(), max_length=128)
    """Conditions on the headers of the request; all of them have to hold."""
    methods: tuple[CountedMethod, ...] = ()
    """The methods that the request may have. Any one of them will do."""
    path: CountedPath | None = None
    """A condition on the path of the request, without its query."""
    query_params: tuple[CountedParameter, ...] = Field(default=(), max_length=16)
    """Conditions on the query parameters of the request; all of them have to hold."""
    source_cidr: CountedClients | None = Field(default=None, validation_alias="sourceCIDR")
    """The range of addresses that the client of the request must be in."""
    _some = rule(
        "at least one of headers, methods, path, sourceCIDR or queryParams must be specified",
        lambda it: it.headers or it.methods or it.path or it.query_params or it.source_cidr,
        "has(self.headers) || has(self.methods) || has(self.path) || has(self.sourceCIDR) "
        "|| has(self.queryParams)",
    )


@model
class LimitValue:
    """So many requests, or so much of what they cost, in one unit of time."""

    requests: Uint32
    """The number of requests, or of what they cost, that may pass in one unit of time."""
    unit: Literal["Second", "Minute", "Hour", "Day", "Week", "Month", "Year"]
    """The unit of time. A `Month` has 30 days, and a `Year` 365."""
    from_metadata: Annotated[Opaque | None, _CLOSED] = None
    """Which metadata of a request says the limit, in place of the number of `requests`."""


@model
class CostSource:
    """How much is counted of a request, and where that number comes from."""

    from_: Annotated[Literal["Number", "Metadata"], Unserved(guards=True, values=("Metadata",))] = (
        Field(validation_alias="from")
    )
    """Where the cost is: in `number`. `Metadata` is not served, and closes the routes."""
    number: Int64 | None = None
    """The cost of a request as a fixed number, from 0 to 1000000000."""
    metadata: Annotated[Opaque | None, _CLOSED] = None
    """Which metadata of a request says the cost."""
    _one = rule(
        "only one of number or metadata can be specified",
        lambda it: it.number is None or it.metadata is None,
        "!(has(self.number) && has(self.metadata))",
    )


@model
class Cost:
    """How much a request counts."""

    request: CostSource | None = None
    """What a request counts when it arrives. The default is 1; with 0 it is refused only after
    others have used up the limit. A rule of `local` with 0 has no effect."""
    response: CostSource | None = None
    """What it counts beside when its answer is complete, for later requests. Only of `global`."""


@model
class LimitRule:
    """A limit, and the requests that it counts."""

    client_selectors: tuple[ClientSelector, ...] = Field(default=(), max_length=8)
    """The requests that are counted: those that meet all selectors. Without any, all requests of
    the route are counted."""
    limit: LimitValue
    """How many requests may pass; further ones are answered 429."""
    cost: Cost | None = None
    """How much a request counts, 1 if absent."""
    shadow_mode: Flag | None = None
    """Whether requests beyond the limit pass, and are only counted. The default is `false`."""
    x_rate_limit_headers: Literal["Off", "DraftVersion03"] | None = None
    """Whether answers say how many requests are left, in `x-ratelimit-remaining` and its like:
    `DraftVersion03`, which is the default, or `Off`."""


@model
class LocalRule(LimitRule):
    """A limit that each Envoy counts on its own."""

    shared: Annotated[Flag, _CLOSED] = False
    """Whether the routes of the policy are counted together. Use `global` instead."""


@model
class GlobalRule(LimitRule):
    """A limit that all Envoys count together."""

    shared: Flag | None = None
    """Whether the requests of all routes of the policy are counted together, on all their hosts and
    Gateways. The default is `false`."""


@model
class LocalLimit:
    """Limits that each Envoy counts on its own, whatever the other Envoys of the fleet count."""

    rules: tuple[LocalRule, ...] = Field(default=(), max_length=16)
    """The limits. A request must be within all those that count it."""
    _response = rule(
        "response cost is not supported for Local Rate Limits",
        lambda it: all(each.cost is None or each.cost.response is None for each in it.rules),
        "self.rules.all(r, !has(r.cost) || !has(r.cost.response))",
    )
    _metadata = rule(
        "limit fromMetadata is not supported for Local Rate Limits",
        lambda it: all(each.limit.from_metadata is None for each in it.rules),
        "self.rules.all(r, !has(r.limit.fromMetadata))",
    )


@model
class GlobalLimit:
    """Limits that all Envoys count together."""

    rules: tuple[GlobalRule, ...] = Field(max_length=256)
    """The limits. Each of them counts on its own, and a request must be within all of them."""


@model
class PolicyRateLimit:
    """How many requests may pass; further ones are answered 429."""

    type: Literal["Global", "Local"] | None = None
    """Which of its neighbours is meant. It changes nothing."""
    local: LocalLimit | None = None
    """Limits that each Envoy counts on its own, for each route."""
    global_: GlobalLimit | None = Field(default=None, validation_alias="global")
    """Limits that all Envoys count together, by the rate limit service."""
