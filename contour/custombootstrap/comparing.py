"""How two messages differ, field by field, with the paths of the fields."""

import json
from collections.abc import Iterator

from google.protobuf import json_format
from google.protobuf.message import Message

from crds.raw import is_list, is_mapping
from dag.rawconfig.content import Remark

_LONGEST = 160


def compared(path: str, wanted: Message, found: Message | None) -> Iterator[Remark]:
    """The differences of the second message from the first."""
    if wanted != found:
        yield from _differing(path, _plain(wanted), None if found is None else _plain(found))


def _plain(message: Message) -> object:
    """As JSON, with the names of the proto files, and configurations of extensions unpacked."""
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def _differing(path: str, wanted: object, found: object) -> Iterator[Remark]:
    if wanted == found:
        return
    if is_mapping(wanted) and is_mapping(found):
        for key in sorted(wanted.keys() | found.keys()):
            yield from _differing(f"{path}.{key}", wanted.get(key), found.get(key))
    elif is_list(wanted) and is_list(found) and len(wanted) == len(found):
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _differing(f"{path}[{index}]", one, other)
    elif wanted is None:
        yield Remark(path, f"must not be set, and is {_short(found)}")
    elif found is None:
        yield Remark(path, f"must stay {_short(wanted)}, and is missing")
    else:
        yield Remark(path, f"must stay {_short(wanted)}, not {_short(found)}")


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
