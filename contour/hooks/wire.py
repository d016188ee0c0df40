"""The messages of `envoygateway.extension`, the gRPC interface of Envoy Gateway's extensions.

The field numbers are those of Envoy Gateway (v0.4 to v1.9), so that servers written for it work
unchanged. The resources inside (a Route, a Cluster …) are declared as `bytes` here: on the wire
that is the same as an embedded message, and resources need not be decoded where they are only
passed on.

Fields that only newer releases of Envoy Gateway have (listeners and routes of the translation) are
not declared, because we do not send them; those that a server sends are listed by `decoded_reply`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields
from google.protobuf.message import DecodeError, Message

Hook = Literal["Route", "VirtualHost", "HTTPListener", "Translation"]
"""A hook, spelled as in the configuration."""
Field = Literal["route", "virtual_host", "listener", "clusters", "secrets"]
"""A field of a request or reply that holds resources."""
Resources = Mapping[Field, tuple[bytes, ...]]
"""Encoded messages by field; at most one in the fields of a single resource. An absent field is
the same as an empty one. Each is encoded in one piece: not every implementation of protobuf merges
a field that occurs twice, as in the joined parts of a resource."""

PACKAGE = "envoygateway.extension"
SERVICE = f"{PACKAGE}.EnvoyGatewayExtension"
RPCS: Mapping[Hook, str] = {
    "Route": "PostRouteModify",
    "VirtualHost": "PostVirtualHostModify",
    "HTTPListener": "PostHTTPListenerModify",
    "Translation": "PostTranslateModify",
}
"""The name of each hook's RPC."""
FIELDS: Mapping[Hook, tuple[Field, ...]] = {
    "Route": ("route",),
    "VirtualHost": ("virtual_host",),
    "HTTPListener": ("listener",),
    "Translation": ("clusters", "secrets"),
}
"""The fields that hold resources."""


_FIRST, _LONG = b"\x0a", 0x80
"""How a message begins whose field 1 is a string, and the length that needs more than one byte."""
_LONGEST = 70
"""The bits of the longest number."""


class UnreadableError(Exception):
    """The bytes are no message of the expected type."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a server is asked; the context of a route is empty for other hooks."""

    resources: Resources = field(repr=False)
    hostnames: tuple[str, ...] = ()
    """The host names of the route's host."""
    extension_resources: tuple[bytes, ...] = field(default=(), repr=False)
    """The objects that the route's rule refers to by `extensionRef`, each as JSON."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The resources that a server wants instead. For a hook about one resource, none means that it
    stays unmodified."""

    resources: Resources = field(repr=False)
    unknown: tuple[int, ...] = ()
    """The numbers of fields that the reply has and that are not declared."""

    @property
    def single(self) -> bytes | None:
        """The one resource; None if it is not modified."""
        return next((it for values in self.resources.values() for it in values), None)


def method(hook: Hook) -> str:
    """The path of a hook's RPC."""
    return f"/{SERVICE}/{RPCS[hook]}"


def encoded_request(hook: Hook, request: Request) -> bytes:
    """A request in bytes. The context is always there, if empty, as Envoy Gateway sends it."""
    body = _REQUESTS[hook](**_lists(hook, request.resources))
    context = getattr(body, _CONTEXTS[hook])  # made here, so without a type
    context.SetInParent()
    if hook == "Route":
        context.hostnames.extend(request.hostnames)
        for it in request.extension_resources:
            context.extension_resources.add(unstructured_bytes=it)
    return body.SerializeToString(deterministic=True)


def decoded_request(hook: Hook, body: bytes) -> Request:
    """What a server is asked. Raises UnreadableError."""
    found = _parsed(_REQUESTS[hook], body)
    context = getattr(found, _CONTEXTS[hook])  # made here, so without a type
    if hook != "Route":
        return Request(dict(_resources(hook, found)))
    objects = (it.unstructured_bytes for it in context.extension_resources)
    return Request(dict(_resources(hook, found)), tuple(context.hostnames), tuple(objects))


def encoded_reply(hook: Hook, resources: Resources) -> bytes:
    """A reply in bytes: equal resources give equal bytes."""
    return _REPLIES[hook](**_lists(hook, resources)).SerializeToString(deterministic=True)


def decoded_reply(hook: Hook, body: bytes) -> Reply:
    """What a server replied. Raises UnreadableError."""
    found = _parsed(_REPLIES[hook], body)
    fields = unknown_fields.UnknownFieldSet(found)
    unknown = sorted({fields[it].field_number for it in range(len(fields))})
    return Reply(dict(_resources(hook, found)), tuple(unknown))


def has_more_fields(body: bytes, most: int) -> bool:
    """Whether a message has more fields than that, without decoding it: millions of empty ones fit
    into a reply, and decoding them takes seconds."""
    at, number = 0, 0
    while at < len(body) and number <= most:
        tag, at = _varint(body, at)
        number += 1
        match tag & 7:
            case 0:
                _, at = _varint(body, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(body, at)
                at += length
            case 5:
                at += 4
            case _:  # the beginning and the end of a group have nothing but the tag
                pass
    return number > most


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
    found, shift = 0, 0
    while at < len(body) and shift < _LONGEST:
        byte = body[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < _LONG:
            break
    return found, at


def name(body: bytes) -> str:
    """The name of an encoded Cluster, Secret, Listener or virtual host, of which nothing else is
    decoded; a Route's is in another field. A name that comes first is the only one, as every
    encoder writes it. Raises UnreadableError."""
    if body[:1] == _FIRST and len(body) > 1 and body[1] < min(_LONG, len(body) - 1):
        return body[2 : 2 + body[1]].decode(errors="replace")
    return str(getattr(_parsed(_CLASSES["Named"], body), "name"))  # noqa: B009 — made here


def _lists(hook: Hook, resources: Resources) -> dict[str, bytes | list[bytes]]:
    if hook == "Translation":
        return {name: list(values) for name, values in resources.items()}
    return {name: it for name, values in resources.items() for it in values}


def _resources(hook: Hook, found: Message) -> Iterator[tuple[Field, tuple[bytes, ...]]]:
    for name in FIELDS[hook]:
        if hook == "Translation":
            yield name, tuple(getattr(found, name))
        elif found.HasField(name):
            yield name, (getattr(found, name),)


def _parsed(of: type[Message], body: bytes) -> Message:
    found = of()
    try:
        found.ParseFromString(body)
    except DecodeError as error:
        raise UnreadableError(str(error)) from error
    return found


# The definitions

_Kind = descriptor_pb2.FieldDescriptorProto
_CONTEXTS: Mapping[Hook, str] = {
    "Route": "post_route_context",
    "VirtualHost": "post_virtual_host_context",
    "HTTPListener": "post_listener_context",
    "Translation": "post_translate_context",
}
_CONTEXT_TYPES: Mapping[Hook, str] = {
    "Route": "PostRouteExtensionContext",
    "VirtualHost": "PostVirtualHostExtensionContext",
    "HTTPListener": "PostHTTPListenerExtensionContext",
    "Translation": "PostTranslateExtensionContext",
}


def _one(name: str, number: int, of: str = "") -> descriptor_pb2.FieldDescriptorProto:
    """A field that is there or not: of bytes, or of a message of this package.

    Presence of bytes is that of proto2; on the wire it makes no difference.
    """
    kind = _Kind.TYPE_MESSAGE if of else _Kind.TYPE_BYTES
    label = _Kind.LABEL_OPTIONAL
    return _Kind(name=name, number=number, type=kind, label=label, type_name=_path(of))


def _many(name: str, number: int, of: str = "") -> descriptor_pb2.FieldDescriptorProto:
    """A list of bytes, or of messages of this package."""
    result = _one(name, number, of)
    result.label = _Kind.LABEL_REPEATED
    return result


def _path(of: str) -> str | None:
    return f".{PACKAGE}.{of}" if of else None


def _type(
    name: str, *fields: descriptor_pb2.FieldDescriptorProto
) -> descriptor_pb2.DescriptorProto:
    return descriptor_pb2.DescriptorProto(name=name, field=fields)


def _definitions() -> Iterator[descriptor_pb2.DescriptorProto]:
    yield _type("ExtensionResource", _one("unstructured_bytes", 1))
    hostnames, named = _many("hostnames", 2), _one("name", 1)
    hostnames.type = named.type = _Kind.TYPE_STRING
    yield _type("Named", named)
    objects = _many("extension_resources", 1, "ExtensionResource")
    for hook, fields in FIELDS.items():
        rpc, context = RPCS[hook], _CONTEXT_TYPES[hook]
        yield _type(context, *((objects, hostnames) if hook == "Route" else ()))
        if hook != "Translation":
            yield _type(f"{rpc}Request", _one(fields[0], 1), _one(_CONTEXTS[hook], 2, context))
            yield _type(f"{rpc}Response", _one(fields[0], 1))
        else:
            lists = (_many("clusters", 2), _many("secrets", 3))
            yield _type(f"{rpc}Request", _one(_CONTEXTS[hook], 1, context), *lists)
            yield _type(f"{rpc}Response", _many("clusters", 1), _many("secrets", 2))


def _classes(names: Iterable[str]) -> Mapping[str, type[Message]]:
    """The classes of messages, from a pool of their own: nothing else in the process meets them."""
    pool = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(
        name="contour/hooks/wire.proto", package=PACKAGE, message_type=_definitions()
    )
    pool.AddSerializedFile(file.SerializeToString())
    return {
        it: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{it}"))
        for it in names
    }


_CLASSES = _classes(
    ["Named", *(f"{rpc}{it}" for rpc in RPCS.values() for it in ("Request", "Response"))]
)
_REQUESTS: Mapping[Hook, type[Message]] = {
    hook: _CLASSES[f"{rpc}Request"] for hook, rpc in RPCS.items()
}
_REPLIES: Mapping[Hook, type[Message]] = {
    hook: _CLASSES[f"{rpc}Response"] for hook, rpc in RPCS.items()
}
