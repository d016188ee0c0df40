"""Whether a JSON value fits a field that holds no message; errors of Protobuf do not name it."""

import re
from collections.abc import Iterator, Mapping

from google.protobuf.descriptor import FieldDescriptor

from crds.raw import is_list, is_mapping

_RANGES: Mapping[int, tuple[int, int]] = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_WHOLE = re.compile(r"-?[0-9]{1,99}")


def of_wrapper(of: FieldDescriptor) -> FieldDescriptor | None:
    """The field inside a wrapper, such as UInt32Value, which is written like a scalar."""
    inner = of.message_type
    if inner is None or inner.file.name != "google/protobuf/wrappers.proto":
        return None
    return inner.fields_by_name["value"]


def misfits(of: FieldDescriptor, value: object, *, is_several: bool) -> Iterator[tuple[str, str]]:
    """The values of a field that do not fit, each by the end of its path, and why."""
    if is_several and is_list(value):
        every = [(f"[{index}]", it) for index, it in enumerate(value)]
    else:
        every = [("", value)]
    yield from ((place, why) for place, it in every if (why := _misfit(of, it)))


def _misfit(of: FieldDescriptor, value: object) -> str:
    if is_mapping(value) or is_list(value):
        return f"must not be {'an object' if is_mapping(value) else 'a list'}"
    if of.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return "" if value is None or isinstance(value, str) else "must be text"
    least, most = _RANGES.get(of.cpp_type, (0, 0))
    number = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value
    if not most or isinstance(number, bool) or not isinstance(number, int | float):
        return ""
    return "" if least <= number <= most else f"must be from {least} to {most}"
