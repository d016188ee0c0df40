"""Questions and replies of the tests, as encoded messages."""

from collections.abc import Iterable

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2
from envoy.config.rbac.v3 import rbac_pb2
from envoy.config.route.v3 import route_components_pb2
from google.protobuf import any_pb2, message, struct_pb2

from contour.hooks import wire

ROUTE_TYPE = "type.googleapis.com/envoy.config.route.v3.Route"
PAIRS = {"a": "1", "b": "2", "c": "3", "d": "4"}


def encoded(it: message.Message) -> bytes:
    return it.SerializeToString(deterministic=True)


def host(name: str = "shop", *domains: str) -> bytes:
    return encoded(route_components_pb2.VirtualHost(name=name, domains=domains or (name,)))


def about_host(body: bytes | None = None) -> bytes:
    """A question about a virtual host."""
    request = wire.Request({"virtual_host": (body or host(),)})
    return wire.encoded_request("VirtualHost", request)


def host_reply(body: bytes) -> bytes:
    return wire.encoded_reply("VirtualHost", {"virtual_host": (body,)})


def about_clusters(*names: str) -> bytes:
    request = wire.Request({"clusters": tuple(cluster(it) for it in names)})
    return wire.encoded_request("Translation", request)


def cluster(name: str) -> bytes:
    return encoded(cluster_pb2.Cluster(name=name))


def metadata(pairs: Iterable[tuple[str, str]]) -> bytes:
    """A Struct whose entries are encoded in the given order."""
    result = b""
    for key, text in pairs:
        value = struct_pb2.Value(string_value=text).SerializeToString()
        entry = _field(1, key.encode()) + _field(2, value)
        result += _field(1, entry)
    return result


def mapped(pairs: Iterable[tuple[str, str]], *, depth: int = 1) -> bytes:
    """The host, with a map of another language's order inside that many `Any`."""
    body = _field(1, b"shop") + _field(2, b"shop")
    value = any_pb2.Any(
        type_url="type.googleapis.com/google.protobuf.Struct", value=metadata(pairs)
    )
    for _ in range(depth - 1):
        value = any_pb2.Any(
            type_url="type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
            value=_field(1, b"x") + _field(2, value.SerializeToString()),
        )
    # typed_per_filter_config is field 15 of a VirtualHost
    return body + _field(15, _field(1, b"filter") + _field(2, value.SerializeToString()))


def typed(type_url: str, value: bytes) -> bytes:
    """The host, with the configuration of a filter."""
    body = route_components_pb2.VirtualHost(name="shop", domains=["shop"])
    body.typed_per_filter_config["filter"].CopyFrom(any_pb2.Any(type_url=type_url, value=value))
    return encoded(body)


def permitting(levels: int, times: int) -> bytes:
    """The host, with permissions so many levels deep in an `Any`, and the same so often in it."""
    name = "type.googleapis.com/envoy.config.rbac.v3.Permission"
    value = encoded(rbac_pb2.Permission(any=True))
    for _ in range(times):
        permission = rbac_pb2.Permission()
        permission.matcher.name = "x"
        permission.matcher.typed_config.CopyFrom(any_pb2.Any(type_url=name, value=value))
        for _ in range(levels):
            permission = rbac_pb2.Permission(not_rule=permission)
        value = encoded(permission)
    return typed(name, value)


def listing(levels: int) -> bytes:
    """The host, with an empty list inside so many others in its metadata: two messages for each."""
    value = struct_pb2.Value(list_value=struct_pb2.ListValue())
    for _ in range(levels):
        value = struct_pb2.Value(list_value=struct_pb2.ListValue(values=[value]))
    body = route_components_pb2.VirtualHost(name="shop", domains=["shop"])
    body.metadata.filter_metadata["x"].fields["y"].CopyFrom(value)
    return encoded(body)


def strange(body: bytes) -> bytes:
    """A message with a field that nobody knows."""
    return body + _field(12345, b"new")


def header(key: str, value: str) -> base_pb2.HeaderValueOption:
    return base_pb2.HeaderValueOption(header=base_pb2.HeaderValue(key=key, value=value))


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])
