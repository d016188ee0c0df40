"""Headers changed on the way: a policy as Envoy's lists of headers to add and to remove.

Values are literal text. Envoy reads `%` in them as the start of a format, so each is doubled:
otherwise a tenant could have Envoy write out its internals, or refuse the whole RouteConfiguration.
Which header names may be changed at all is decided in `dag.headers`.
"""

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
        target.request_headers_to_add.extend(_options(request))
        target.request_headers_to_remove.extend(request.remove)
    if response is not None:
        target.response_headers_to_add.extend(_options(response))
        target.response_headers_to_remove.extend(response.remove)


def _options(policy: nodes.HeaderPolicy) -> Iterable[base_pb2.HeaderValueOption]:
    for name, value in policy.set:
        yield _option(name, value, _OVERWRITE)
    for name, value in policy.add:
        yield _option(name, value, _APPEND)


def _option(
    name: str, value: str, action: base_pb2.HeaderValueOption.HeaderAppendAction
) -> base_pb2.HeaderValueOption:
    return base_pb2.HeaderValueOption(
        header=base_pb2.HeaderValue(key=name, value=literal(value)),
        append_action=action,
        keep_empty_value=True,
    )


def literal(value: str) -> str:
    """Text that Envoy's formatter writes out as it is."""
    return value.replace("%", "%%")
