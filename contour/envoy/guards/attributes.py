"""Conditions on Envoy's attributes of requests and responses, as expressions of CEL.

Envoy wants an expression parsed, with a number for each of its nodes.
"""

from cel.expr import syntax_pb2
from xds.type.matcher.v3 import cel_pb2, matcher_pb2
from xds.type.matcher.v3 import http_inputs_pb2 as pb

from contour.envoy import encoding

Expression = syntax_pb2.Expr
Predicate = matcher_pb2.Matcher.MatcherList.Predicate


def condition(expression: Expression) -> Predicate:
    """Whether an expression is true."""
    _number(expression, 1)
    result = Predicate()
    found = result.single_predicate
    found.input.name = "envoy.matching.inputs.cel_data_input"
    found.input.typed_config.CopyFrom(encoding.packed(pb.HttpAttributesCelMatchInput()))
    wanted = cel_pb2.CelMatcher()
    wanted.expr_match.cel_expr_parsed.expr.CopyFrom(expression)
    found.custom_match.name = "envoy.matching.matchers.cel_matcher"
    found.custom_match.typed_config.CopyFrom(encoding.packed(wanted))
    return result


def equals(one: Expression, other: Expression) -> Expression:
    """`one == other`."""
    return _call("_==_", one, other)


def differs(one: Expression, other: Expression) -> Expression:
    """`one != other`."""
    return _call("_!=_", one, other)


def field(of: str, name: str) -> Expression:
    """`of.name`."""
    result = Expression()
    result.select_expr.operand.ident_expr.name = of
    result.select_expr.field = name
    return result


def entry(of: Expression, key: str) -> Expression:
    """`of[key]`."""
    return _call("_[_]", of, text(key))


def text(value: str) -> Expression:
    """A literal."""
    result = Expression()
    result.const_expr.string_value = value
    return result


def _call(function: str, *arguments: Expression) -> Expression:
    result = Expression()
    result.call_expr.function = function
    result.call_expr.args.extend(arguments)
    return result


def _number(target: Expression, first: int) -> int:
    """Numbers the nodes of an expression. Returns the next number."""
    target.id, following = first, first + 1
    for it in target.call_expr.args if target.HasField("call_expr") else ():
        following = _number(it, following)
    if target.HasField("select_expr"):
        following = _number(target.select_expr.operand, following)
    return following
