"""The messages with the configuration of a rate limit service, and the request message.

The wheel of xDS messages does not have the former, so they are declared here. Source:
`ratelimit/config/ratelimit/v3/rls_conf.proto` of envoyproxy/ratelimit 3fb702589d36, without the
fields that we never send. The wheel has `RateLimitRequest`, but with keys and values that must be
UTF-8; here they are bytes, because Envoy sends the values of headers unchanged. Fields that we do
not read are left out. The types are in `messages.pyi`.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

_LIMITS, _REQUEST = "ratelimit.config.ratelimit.v3", "envoy.service.ratelimit.v3"
_TYPES = descriptor_pb2.FieldDescriptorProto
_UNITS = ("UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK")

BUCKET = "bucket"
"""The key of the descriptor entry that names the bucket. It comes from Envoy's configuration, never
from a client."""

SECONDS = {1: 1, 2: 60, 3: 3600, 4: 86400, 5: 30 * 86400, 6: 365 * 86400, 7: 7 * 86400}


def _limits() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="contour/ratelimits/rls_conf.proto", package=_LIMITS, syntax="proto3"
    )
    unit = file.enum_type.add(name="RateLimitUnit")
    for number, name in enumerate(_UNITS):
        unit.value.add(name=name, number=number)
    config = file.message_type.add(name="RateLimitConfig")
    _field(config, 1, "name", _TYPES.TYPE_STRING)
    _field(config, 2, "domain", _TYPES.TYPE_STRING)
    _field(config, 3, "descriptors", _TYPES.TYPE_MESSAGE, "RateLimitDescriptor", repeated=True)
    descriptor = file.message_type.add(name="RateLimitDescriptor")
    _field(descriptor, 1, "key", _TYPES.TYPE_STRING)
    _field(descriptor, 2, "value", _TYPES.TYPE_STRING)
    _field(descriptor, 3, "rate_limit", _TYPES.TYPE_MESSAGE, "RateLimitPolicy")
    _field(descriptor, 4, "descriptors", _TYPES.TYPE_MESSAGE, "RateLimitDescriptor", repeated=True)
    _field(descriptor, 5, "shadow_mode", _TYPES.TYPE_BOOL)
    limit = file.message_type.add(name="RateLimitPolicy")
    _field(limit, 1, "unit", _TYPES.TYPE_ENUM, "RateLimitUnit")
    _field(limit, 2, "requests_per_unit", _TYPES.TYPE_UINT32)
    return file


def _request() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="contour/ratelimits/rls.proto", package=_REQUEST, syntax="proto3"
    )
    request = file.message_type.add(name="RateLimitRequest")
    _field(request, 1, "domain", _TYPES.TYPE_STRING)
    _field(request, 2, "descriptors", _TYPES.TYPE_MESSAGE, "Descriptor", repeated=True)
    _field(request, 3, "hits_addend", _TYPES.TYPE_UINT32)
    descriptor = file.message_type.add(name="Descriptor")
    _field(descriptor, 1, "entries", _TYPES.TYPE_MESSAGE, "Entry", repeated=True)
    _field(descriptor, 3, "hits_addend", _TYPES.TYPE_MESSAGE, "Addend")
    entry = file.message_type.add(name="Entry")
    _field(entry, 1, "key", _TYPES.TYPE_BYTES)
    _field(entry, 2, "value", _TYPES.TYPE_BYTES)
    addend = file.message_type.add(name="Addend")  # google.protobuf.UInt64Value
    _field(addend, 1, "value", _TYPES.TYPE_UINT64)
    return file


def _declared(file: descriptor_pb2.FileDescriptorProto) -> list[type[Message]]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{it.name}"))
        for it in file.message_type
    ]


def _field(
    message: descriptor_pb2.DescriptorProto,
    number: int,
    name: str,
    kind: "descriptor_pb2.FieldDescriptorProto.Type.ValueType",
    of: str = "",
    *,
    repeated: bool = False,
) -> None:
    made = message.field.add(name=name, number=number, type=kind)
    made.label = _TYPES.LABEL_REPEATED if repeated else _TYPES.LABEL_OPTIONAL
    if of:
        made.type_name = of


RateLimitConfig, RateLimitDescriptor, RateLimitPolicy = _declared(_limits())
RateLimitRequest, Descriptor, Entry, Addend = _declared(_request())
