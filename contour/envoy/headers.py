"""Header policies as Envoy's lists of headers to add and to remove.

Envoy reads `%` in values as the start of a format, so it is doubled in literal text: otherwise a
tenant could make Envoy reveal internal values, or refuse the whole RouteConfiguration. Operators
are nodes of their own, and are checked here again. Which operators exist, and which headers may be
changed, is decided in `dag.values.headers`.
"""

import re
from collections.abc import Iterable
from typing import TypeAlias

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2 as pb

from dag import nodes

_OVERWRITE = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
_APPEND = base_pb2.HeaderValueOption.APPEND_IF_EXISTS_OR_ADD

Target: TypeAlias = pb.Route | pb.WeightedCluster.ClusterWeight


def write_policies(
    target: Target, request: nodes.HeaderPolicy | None, response: nodes.HeaderPolicy | None
) -> None:
    """Fills in the changes of requests and of responses."""
    if request is not None:
        target.request_headers_to_add.extend(options(request))
        target.request_headers_to_remove.extend(request.remove)
    if response is not None:
        target.response_headers_to_add.extend(options(response))
        target.response_headers_to_remove.extend(response.remove)


def overwriting(name: str, value: nodes.Value) -> base_pb2.HeaderValueOption:
    """A header that replaces others of its name."""
    return _option(name, value, _OVERWRITE)


def options(policy: nodes.HeaderPolicy) -> Iterable[base_pb2.HeaderValueOption]:
    """What is set and what is added."""
    for name, value in policy.set:
        yield _option(name, value, _OVERWRITE)
    for name, value in policy.add:
        yield _option(name, value, _APPEND)


def _option(
    name: str, value: nodes.Value, action: base_pb2.HeaderValueOption.HeaderAppendAction.ValueType
) -> base_pb2.HeaderValueOption:
    return base_pb2.HeaderValueOption(
        header=base_pb2.HeaderValue(key=name, value=formatted(value)),
        append_action=action,
        keep_empty_value=True,
    )


def formatted(value: nodes.Value) -> str:
    """A value in Envoy's format syntax."""
    if isinstance(value, str):
        return literal(value)
    return "".join(literal(it) if isinstance(it, str) else _operator(it) for it in value.pieces)


_OPERATOR = re.compile(r"[A-Z][A-Z0-9_]*")
_ARGUMENT = re.compile(r"[^%()\r\n\0]+")
_TIME = re.compile(r"[^()\r\n\0]+")


def _operator(node: nodes.Operator) -> str:
    if not _OPERATOR.fullmatch(node.name):
        raise ValueError(f"{node.name!r} is not the name of an operator")
    if not node.argument:
        return f"%{node.name}%"
    if not (_TIME if node.name == "START_TIME" else _ARGUMENT).fullmatch(node.argument):
        raise ValueError(f"{node.argument!r} is not the argument of an operator")
    limit = f":{node.length}" if node.length else ""
    return f"%{node.name}({node.argument}){limit}%"


def literal(value: str) -> str:
    """Text that Envoy's formatter leaves unchanged."""
    return value.replace("%", "%%")
