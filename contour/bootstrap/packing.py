"""The few protobuf values that every part of the bootstrap is made of."""

from pathlib import PurePath

from envoy.config.core.v3 import address_pb2
from google.protobuf import any_pb2, duration_pb2, message

from contour.bootstrap import settings


def packed(content: message.Message) -> any_pb2.Any:
    """An extension's configuration as Envoy wants it: typed."""
    result = any_pb2.Any()
    result.Pack(content)
    return result


def seconds(number: float) -> duration_pb2.Duration:
    """A duration, exact to the millisecond."""
    result = duration_pb2.Duration()
    result.FromMilliseconds(round(number * 1000))
    return result


def pipe(path: PurePath, mode: int = 0) -> address_pb2.Address:
    """A Unix socket; with a mode, where Envoy is the one who makes it."""
    return address_pb2.Address(pipe=address_pb2.Pipe(path=str(path), mode=mode))


def socket_address(address: settings.SocketAddress) -> address_pb2.Address:
    """A TCP address."""
    return address_pb2.Address(
        socket_address=address_pb2.SocketAddress(address=address.host, port_value=address.port)
    )
