"""Rate limits: local ones, counted by each Envoy, and global ones, by a rate limit service.

Elsewhere: the service (`dag.ratelimitclient`), the translation to xDS
(`contour.envoy.guards.ratelimits`).
"""

from typing import Final, Literal

from crds.meta import ObjectRef
from crds.records import dataclass
from dag.nodes.matches import Path, QueryMatch
from dag.nodes.texts import HeaderMatch

LIMIT_STATUSES: Final = frozenset(
    {*range(400, 418), *range(421, 425), 426, 428, 429, 431, *range(500, 509), 510, 511}
)
"""The statuses that Envoy can answer beyond a limit; it refuses any other status there."""

LimitUnit = Literal["Second", "Minute", "Hour", "Day", "Week", "Month", "Year"]
"""A month has 30 days, a year 365."""


@dataclass(frozen=True, slots=True)
class LocalRateLimit:
    """So many requests per unit of time, per Envoy; routes of a virtual host share its limit."""

    requests: int
    unit: Literal["second", "minute", "hour"]
    burst: int = 0
    status: int = 429
    """One of `LIMIT_STATUSES`."""
    response_headers: tuple[tuple[str, str], ...] = ()
    """Headers that are added to the answer."""


@dataclass(frozen=True, slots=True)
class GenericKey:
    """A fixed entry of a descriptor."""

    value: str
    key: str = "generic_key"


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """The value of a header; without the header there is no descriptor."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class HeaderValueMatch:
    """An entry if headers match, or (unless `expect`) if they do not."""

    headers: tuple[HeaderMatch, ...]
    value: str
    expect: bool = True


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """The client's address."""


DescriptorEntry = GenericKey | RequestHeader | HeaderValueMatch | RemoteAddress


@dataclass(frozen=True, slots=True)
class ClientRange:
    """The range that the client's address is in; another range is no value that is counted."""

    cidr: str
    """In its canonical form."""
    inverted: bool = False
    """The client's address is not in it."""


@dataclass(frozen=True, slots=True)
class PathMatch:
    """A condition on the path, without the query."""

    path: Path
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class QueryValueMatch:
    """A parameter of the query matches, or (unless `expect`) it does not or is missing."""

    query: QueryMatch
    expect: bool = True


@dataclass(frozen=True, slots=True)
class QueryValue:
    """The value of a parameter of the query; without it there is no descriptor."""

    name: str


CountedEntry = (
    HeaderValueMatch
    | RequestHeader
    | ClientRange
    | RemoteAddress
    | PathMatch
    | QueryValueMatch
    | QueryValue
)
"""A condition on a request that is counted. Entries with several values count each value
separately: `RequestHeader`, `RemoteAddress`, `QueryValue`."""


@dataclass(frozen=True, slots=True)
class LocalLimit:
    """One of several limits that each Envoy enforces on the requests that meet all conditions."""

    requests: int
    unit: LimitUnit
    entries: tuple[CountedEntry, ...] = ()
    cost: int | None = None
    """What a request counts; None: 1."""
    is_shadow: bool = False
    """Requests beyond it pass, and are counted."""
    tells: bool = False
    """Answers say how many requests are left (`x-ratelimit-remaining`)."""
    tells_by_itself: bool = False
    """`tells` is only the default: the rule does not set it."""


@dataclass(frozen=True, slots=True)
class LocalLimits:
    """Limits per Envoy: a request has to be within all those that count it."""

    limits: tuple[LocalLimit, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """A rule of a RateLimitFilter or BackendTrafficPolicy on the requests of a rule of a route.

    Requests are counted by a rate limit service, which alone is told how many may pass
    (`CountedRule`). Each listener and host has a count of its own, and so has each value that is
    counted separately.
    """

    owner: ObjectRef
    """The filter or policy."""
    rule: str
    """The identity of the rule in its owner."""
    entries: tuple[CountedEntry, ...]
    """All have to hold, or the request is not counted."""
    is_shared: bool = False
    """The requests of all routes are counted together."""
    cost: int | None = None
    """What a request counts; None: 1. With 0 it passes while others leave room."""
    late_cost: int | None = None
    """The further cost of a request once it is answered; None: none."""
    tells: bool = False
    """Answers say how many requests are left (`x-ratelimit-remaining`)."""
    tells_by_itself: bool = False
    """`tells` is only the default: the rule does not set it."""


@dataclass(frozen=True, slots=True)
class CountedRule:
    """Such a rule for the rate limit service, for all routes together."""

    name: str
    unit: LimitUnit
    entries: tuple[CountedEntry, ...]
    requests: int
    is_shadow: bool = False
    """Requests beyond the limit pass, and are counted."""


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Descriptors sent to the rate limit service (`RateLimitService` of the settings).

    Envoy does not ask about redirects and direct answers: rules warn there. On a route these
    replace those of the virtual host.
    """

    descriptors: tuple[tuple[DescriptorEntry, ...], ...]
