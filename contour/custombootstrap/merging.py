"""Merges one message into another, as JSON: values of the second win, and lists are appended.

Fields are matched by the protobuf definitions, so that both spellings of a name are the same field,
and a member of a `oneof` replaces the other members. Configurations of extensions (`Any`) are
merged if they have the same type; otherwise the second replaces the first.
"""

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from contour.envoy import definitions, parsing
from crds.raw import Raw, is_list, is_mapping

_ANY = "google.protobuf.Any"
_STRUCT = "google.protobuf.Struct"
_TYPE = "@type"


def merged(of: Descriptor, base: Raw, extra: Raw) -> Raw:
    """Both merged, with the field names of the proto files; both are valid JSON of that message."""
    if of.full_name == _ANY:
        return _merged_any(base, extra)
    if of.full_name.startswith("google.protobuf."):
        return {**base, **extra} if of.full_name == _STRUCT else extra
    result, fields = dict(base), parsing.fields_of(of)
    for key, value in extra.items():
        field = fields[key]
        for other in field.containing_oneof.fields if field.containing_oneof else ():
            if other is not field and other.name != field.name:
                result.pop(other.name, None)
        result[field.name] = _joined(field, result.get(field.name), value)
    return result


def _joined(field: FieldDescriptor, base: object, extra: object) -> object:
    if is_list(extra) and is_list(base):
        return [*base, *extra]
    if not is_mapping(extra) or not is_mapping(base) or field.message_type is None:
        return extra
    if field.message_type.GetOptions().map_entry:
        return {**base, **extra}
    return merged(field.message_type, base, extra)


def _merged_any(base: Raw, extra: Raw) -> Raw:
    names = [str(it.get(_TYPE, "")).rpartition("/")[2] for it in (base, extra)]
    inner = definitions.of(names[1])
    if names[0] != names[1] or inner is None:
        return extra
    own = [{key: it for key, it in value.items() if key != _TYPE} for value in (base, extra)]
    return {_TYPE: base[_TYPE], **merged(inner, *own)}
