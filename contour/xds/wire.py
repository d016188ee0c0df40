"""Writes the protobuf wire format by hand, so that messages are joined from bytes that all streams
share.

Encoded fields may be concatenated (protobuf, "Encoding", Last One Wins): the encoding of a
message is the encodings of its fields, one behind the other. Field numbers are those of
`envoy/service/discovery/v3/discovery.proto` and `google/protobuf/any.proto`.
"""

from collections.abc import Iterable


def field(number: int, payload: bytes) -> bytes:
    """A length-delimited field."""
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def delta_resource(name: str, type_url: str, version: str, body: bytes) -> bytes:
    """`DeltaDiscoveryResponse.resources`: one resource with its own version."""
    resource = field(1, version.encode()) + field(2, _any(type_url, body)) + field(3, name.encode())
    return field(2, resource)


def sotw_resource(name: str, type_url: str, version: str, body: bytes) -> bytes:
    """`DiscoveryResponse.resources`: the bare resource; its version is the response's."""
    return field(2, _any(type_url, body))


def delta_response(
    type_url: str, resources: Iterable[bytes], removed: Iterable[str], nonce: str
) -> bytes:
    """A `DeltaDiscoveryResponse` around resources that are encoded already."""
    gone = (field(6, name.encode()) for name in removed)
    return b"".join((*resources, *gone, field(4, type_url.encode()), field(5, nonce.encode())))


def sotw_response(type_url: str, resources: Iterable[bytes], version: str, nonce: str) -> bytes:
    """A `DiscoveryResponse` around resources that are encoded already."""
    head = field(1, version.encode())
    return b"".join((head, *resources, field(4, type_url.encode()), field(5, nonce.encode())))


def _any(type_url: str, body: bytes) -> bytes:
    return field(1, type_url.encode()) + field(2, body)


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
