"""Match conditions of an HTTPProxy: which requests a route or an include takes.

Which combinations are allowed (one path condition, no exact path in an include …) is judged by the
rules, which say so on the object's status: here every field may be set.
"""

from typing import Annotated

from pydantic import StringConstraints

from crds.fields import COOKIE_NAME, TOKEN, Flag, NonEmpty
from crds.meta import model


@model
class HeaderMatchCondition:
    """A condition on a request header. Several of them on one header must all hold."""

    name: NonEmpty
    """The header, in any case; `:method` and `:authority` work too."""
    present: Flag = False
    """The header is there, whatever its value."""
    notpresent: Flag = False
    """The header is not there. `false` does not mean that it has to be there."""
    contains: str = ""
    """A text that the value has in it."""
    notcontains: str = ""
    """A text that the value does not have in it."""
    ignore_case: Flag = False
    """Compare without regard to case; has no effect on `regex`."""
    exact: str = ""
    """The whole value."""
    notexact: str = ""
    """What the value is not."""
    regex: str = ""
    """An expression (RE2) that the whole value matches."""
    treat_missing_as_empty: Flag = False
    """With a negative condition: a missing header counts as an empty one and so meets it."""


@model
class QueryParameterMatchCondition:
    """A condition on a query parameter; exactly one of the operators is set."""

    name: str
    """The parameter; its case counts."""
    exact: str = ""
    """The whole value."""
    prefix: str = ""
    """How the value starts."""
    suffix: str = ""
    """How the value ends."""
    regex: str = ""
    """An expression (RE2) that the whole value matches."""
    contains: str = ""
    """A text that the value has in it."""
    ignore_case: Flag = False
    """Compare without regard to case; has no effect on `regex`."""
    present: Flag = False
    """The parameter is there, whatever its value."""


@model
class CookieMatchCondition:
    """A condition on a cookie; exactly one of the operators is set. Beside Contour's fields."""

    name: Annotated[str, StringConstraints(pattern=COOKIE_NAME, max_length=256)]
    """The cookie; its case counts."""
    present: Flag = False
    """The cookie is there, whatever its value."""
    exact: str = ""
    """The whole value."""
    contains: str = ""
    """A text that the value has in it."""
    regex: str = ""
    """An expression (RE2) that the whole value matches."""


@model
class MatchCondition:
    """One condition on a request: exactly one of the fields is set."""

    prefix: str = ""
    """How the path starts; starts with `/`."""
    exact: str = ""
    """The whole path; starts with `/`. Not in includes."""
    regex: str = ""
    """An expression (RE2) that the whole path matches; starts with `/`. Not in includes."""
    header: HeaderMatchCondition | None = None
    """A condition on a header."""
    query_parameter: QueryParameterMatchCondition | None = None
    """A condition on a query parameter."""
    method: Annotated[str, StringConstraints(pattern=TOKEN, max_length=64)] | None = None
    """The method, such as GET. Beside Contour's fields."""
    cookie: CookieMatchCondition | None = None
    """A condition on a cookie. Beside Contour's fields."""
