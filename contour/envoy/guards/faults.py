"""Fault injection: delays and errors for requests that Envoy draws at random."""

from envoy.extensions.filters.http.fault.v3 import fault_pb2 as pb
from envoy.type.v3 import percent_pb2

from contour.envoy import encoding
from dag import nodes

NAME = "envoy.filters.http.fault"


def installed() -> pb.HTTPFault:
    """No fault."""
    return pb.HTTPFault()


def policy(node: nodes.Fault) -> pb.HTTPFault:
    """The delay comes before the error."""
    result = pb.HTTPFault()
    if node.delay is not None:
        result.delay.fixed_delay.CopyFrom(encoding.seconds(node.delay))
        _write_share(result.delay.percentage, node.delayed)
    if node.status is not None:
        result.abort.http_status = node.status
    elif node.grpc_status is not None:
        result.abort.grpc_status = node.grpc_status
    if result.HasField("abort"):
        _write_share(result.abort.percentage, node.aborted)
    return result


def off() -> pb.HTTPFault:
    """Turns off the virtual host's faults."""
    return pb.HTTPFault()


def _write_share(target: percent_pb2.FractionalPercent, number: int) -> None:
    target.numerator = number
    target.denominator = percent_pb2.FractionalPercent.MILLION
