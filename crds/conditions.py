"""Match conditions of an HTTPProxy: which requests a route or an include matches.

Every field may be set here. The rules decide which combinations are allowed (one path condition, no
exact path in an include) and report the others in the object's status.
"""

from typing import Annotated

from pydantic import StringConstraints

from crds.fields import COOKIE_NAME, TOKEN, Flag, NonEmpty
from crds.meta import model


@model
class HeaderMatchCondition:
    """A condition on one request header. Exactly one operator must be set, and several conditions
    on the same header must all hold."""

    name: NonEmpty
    """The name of the header, which is case-insensitive. The pseudo-headers `:method` and
    `:authority` may be matched too."""
    present: Flag = False
    """If true, the request must have the header; its value may be anything."""
    notpresent: Flag = False
    """If true, the request must not have the header. `false` does not require the header."""
    contains: str = ""
    """The value of the header must contain this text. A request without the header does not
    match."""
    notcontains: str = ""
    """The value of the header must not contain this text. A request without the header matches only
    with `treatMissingAsEmpty`."""
    ignore_case: Flag = False
    """If true, the value is compared without regard to case. This has no effect on `regex`."""
    exact: str = ""
    """The value of the header must be equal to this text. A request without the header does not
    match."""
    notexact: str = ""
    """The value of the header must not be equal to this text. A request without the header matches
    only with `treatMissingAsEmpty`."""
    regex: str = ""
    """The whole value of the header must match this RE2 expression of at most 1024 characters. An
    expression that does not compile is an error in the status."""
    treat_missing_as_empty: Flag = False
    """If true, a missing header counts as an empty one, so that `notcontains` and `notexact` match
    it. Other operators ignore this."""


@model
class QueryParameterMatchCondition:
    """A condition on one query parameter. Exactly one operator must be set; otherwise the route or
    include is dropped."""

    name: str
    """The name of the query parameter, which is case-sensitive; it has from 1 to 1024 bytes."""
    exact: str = ""
    """The value of the parameter must be equal to this text."""
    prefix: str = ""
    """The value of the parameter must start with this text."""
    suffix: str = ""
    """The value of the parameter must end with this text."""
    regex: str = ""
    """The whole value of the parameter must match this RE2 expression of at most 1024 characters.
    An expression that does not compile drops the route or include."""
    contains: str = ""
    """The value of the parameter must contain this text."""
    ignore_case: Flag = False
    """If true, the value is compared without regard to case. This has no effect on `regex`."""
    present: Flag = False
    """If true, the request must have the parameter; its value may be anything."""


@model
class CookieMatchCondition:
    """A condition on one cookie of the request. Exactly one operator must be set; otherwise the
    route or include is dropped. Upstream Contour does not have this type."""

    name: Annotated[str, StringConstraints(pattern=COOKIE_NAME, max_length=256)]
    """The name of the cookie, which is case-sensitive; it has at most 256 characters."""
    present: Flag = False
    """If true, the request must have the cookie; its value may be anything."""
    exact: str = ""
    """The value of the cookie must be equal to this text."""
    contains: str = ""
    """The value of the cookie must contain this text."""
    regex: str = ""
    """The whole value of the cookie must match this RE2 expression of at most 1024 characters. An
    expression that does not compile drops the route or include."""


@model
class MatchCondition:
    """One condition on a request. All conditions of a route or an include must hold, and at most
    one of them may be a condition on the path."""

    prefix: str = ""
    """The path of the request must start with this text, compared character by character: `/foo`
    also matches `/foobar`. It starts with `/` and is appended to the prefixes of the includes."""
    exact: str = ""
    """The path of the request must be equal to this text, which starts with `/`. This condition is
    not allowed in an include."""
    regex: str = ""
    """The whole path of the request must match this RE2 expression, which starts with `/`. This
    condition is not allowed in an include."""
    header: HeaderMatchCondition | None = None
    """The request must meet this condition on a header, such as `x-version`."""
    query_parameter: QueryParameterMatchCondition | None = None
    """The request must meet this condition on a parameter of its query string."""
    method: Annotated[str, StringConstraints(pattern=TOKEN, max_length=64)] | None = None
    """The request must have this HTTP method, such as `GET`; the case matters. Upstream Contour
    does not have this field."""
    cookie: CookieMatchCondition | None = None
    """The request must meet this condition on one of its cookies. Upstream Contour does not have
    this field."""
