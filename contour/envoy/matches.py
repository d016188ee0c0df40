"""The conditions of a route as Envoy's RouteMatch.

Each condition means what its node means. Users' values are passed to Envoy as literals, or as
regexes that have been compiled before; none is composed here.
"""

from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.type.matcher.v3 import string_pb2
from envoy.type.v3 import percent_pb2

from dag import nodes


def write_match(target: pb.RouteMatch, match: nodes.Match) -> None:
    """Fills in every condition of a match."""
    _write_path(target, match.path)
    if match.method:
        header = target.headers.add(name=":method")
        header.string_match.exact = match.method
    else:
        _write_no_trace(target.headers.add(name=":method"))
    for wanted in match.headers:
        write_header(target.headers.add(name=wanted.name), wanted)
    for query in match.queries:
        write_query(target.query_parameters.add(name=query.name), query.value)
    for cookie in match.cookies:
        target.headers.add(name="cookie").string_match.safe_regex.regex = cookie.expression
    if match.is_grpc:
        target.grpc.SetInParent()
    if match.drawn is not None:
        share = target.runtime_fraction.default_value
        share.numerator, share.denominator = match.drawn, percent_pb2.FractionalPercent.MILLION


def _write_no_trace(target: pb.HeaderMatcher) -> None:
    """Excludes TRACE, which a route takes only if it asks for it (`scripts`)."""
    target.string_match.exact = "TRACE"
    target.invert_match = True


def write_one_host(target: pb.RouteMatch) -> None:
    """Requires that the request names exactly one host, since Envoy only compares what is before
    the last colon."""
    header = target.headers.add(name=":authority")
    header.string_match.safe_regex.regex = "[^,@]*[^,@:]"


def _write_path(target: pb.RouteMatch, path: nodes.Path) -> None:
    match path:
        case nodes.Exact():
            target.path = path.path
        case nodes.Prefix():
            target.prefix = path.path
        case nodes.Segments():
            target.path_separated_prefix = path.path
        case nodes.Regex():
            target.safe_regex.regex = path.expression


def write_header(target: pb.HeaderMatcher, wanted: nodes.HeaderMatch) -> None:
    """Fills in a condition on a header."""
    if wanted.value.operator == "present":
        target.present_match = True
    else:
        write_value(target.string_match, wanted.value)
    target.invert_match = wanted.inverted
    target.treat_missing_header_as_empty = wanted.missing_as_empty


def write_query(target: pb.QueryParameterMatcher, wanted: nodes.ValueMatch) -> None:
    """Fills in a condition on a query parameter."""
    if wanted.operator == "present":
        target.present_match = True
    else:
        write_value(target.string_match, wanted)


def write_value(target: string_pb2.StringMatcher, wanted: nodes.ValueMatch) -> None:
    """Fills in a condition on a text; `present` cannot be written in this form."""
    if wanted.operator == "regex":
        target.safe_regex.regex = wanted.value
        return
    setattr(target, wanted.operator, wanted.value)
    target.ignore_case = wanted.ignore_case
