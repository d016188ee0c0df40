"""The constraints of fields in Envoy's proto files (protoc-gen-validate) that concern a single
value: required fields, lengths of texts and lists, ranges of numbers.

The others, and Envoy's further checks, are left to Envoy itself (`contour.host.validating`).
"""

import operator
from collections.abc import Callable, Iterator

from google.protobuf import any_pb2, duration_pb2, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from validate import validate_pb2

from contour.envoy import definitions
from dag.rawconfig.content import Remark

_BOUNDS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "gt": ("more than", operator.gt),
    "gte": ("at least", operator.ge),
    "lt": ("less than", operator.lt),
    "lte": ("at most", operator.le),
}
_LENGTHS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "min_len": ("at least", operator.ge),
    "min_bytes": ("at least", operator.ge),
    "min_items": ("at least", operator.ge),
    "max_len": ("at most", operator.le),
    "max_bytes": ("at most", operator.le),
    "max_items": ("at most", operator.le),
}


def violations(message: Message, path: str = "") -> Iterator[Remark]:
    """The constraints that a message and those inside it violate."""
    if isinstance(message, any_pb2.Any):
        yield from _of_any(message, path)
        return
    of = definitions.of(message.DESCRIPTOR.full_name)
    if of is None:
        return
    for oneof in of.oneofs:
        is_required = oneof.GetOptions().Extensions[validate_pb2.required]
        if is_required and message.WhichOneof(oneof.name) is None:
            names = ", ".join(it.name for it in oneof.fields)
            yield Remark(path, f"needs one of {names}")
    for field in of.fields:
        rules = field.GetOptions().Extensions[validate_pb2.rules]
        yield from _field(message, field, rules, f"{path}.{field.name}")


def _of_any(message: any_pb2.Any, path: str) -> Iterator[Remark]:
    of = definitions.of(message.TypeName())
    if of is not None:
        inner = message_factory.GetMessageClass(of)()
        if message.Unpack(inner):
            yield from violations(inner, path)


def _field(
    message: Message, field: FieldDescriptor, rules: validate_pb2.FieldRules, path: str
) -> Iterator[Remark]:
    value = getattr(message, field.name)
    if field.is_repeated:
        yield from _bounded(rules.repeated, len(value), "entries", _LENGTHS, path)
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for index, it in enumerate(value):
                yield from violations(it, f"{path}[{index}]")
    elif field.message_type is not None:
        yield from _single(message, field, rules, path)
    elif not field.has_presence or message.HasField(field.name):
        yield from _scalar(value, rules, path)


def _single(
    message: Message, field: FieldDescriptor, rules: validate_pb2.FieldRules, path: str
) -> Iterator[Remark]:
    if message.HasField(field.name):
        value = getattr(message, field.name)
        # A wrapper, such as UInt32Value, has the rules of what it wraps.
        is_wrapper = [it.name for it in value.DESCRIPTOR.fields] == ["value"]
        if isinstance(value, duration_pb2.Duration):
            yield from _duration(value, rules.duration, path)
        else:
            yield from _scalar(value.value, rules, path) if is_wrapper else violations(value, path)
    elif field.containing_oneof is None and _is_required(rules):
        yield Remark(path, "is required")


def _duration(value: duration_pb2.Duration, rules: Message, path: str) -> Iterator[Remark]:
    for name, (words, holds) in _BOUNDS.items():
        bound = getattr(rules, name)
        if rules.HasField(name) and not holds(value.ToNanoseconds(), bound.ToNanoseconds()):
            yield Remark(path, f"must be {words} {bound.ToJsonString()}")
    if value.ToNanoseconds() < 0:
        yield Remark(path, "must not be negative")


def _is_required(rules: validate_pb2.FieldRules) -> bool:
    return rules.message.required or rules.any.required or rules.duration.required


def _scalar(value: object, rules: validate_pb2.FieldRules, path: str) -> Iterator[Remark]:
    kind = rules.WhichOneof("type")
    if isinstance(value, str | bytes) and kind in ("string", "bytes"):
        of = getattr(rules, kind)
        if value or not of.ignore_empty:
            yield from _bounded(of, len(value), "characters", _LENGTHS, path)
    elif isinstance(value, int | float) and kind not in (None, "enum", "bool"):
        yield from _bounded(getattr(rules, kind), value, "", _BOUNDS, path)


def _bounded(
    rules: Message,
    value: float,
    what: str,
    known: dict[str, tuple[str, Callable[[float, float], bool]]],
    path: str,
) -> Iterator[Remark]:
    for name, (words, holds) in known.items():
        if name in rules.DESCRIPTOR.fields_by_name and rules.HasField(name):
            bound = getattr(rules, name)
            if not holds(value, bound):
                text = f"must have {words} {bound} {what}" if what else f"must be {words} {bound}"
                yield Remark(path, text)
