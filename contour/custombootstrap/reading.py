"""Reads a user's text from a file or a field: the kind of change, and documents within limits.

A file holds either a bootstrap, which replaces the usual one, or an object with the fields of a
ContourConfiguration's `spec.envoy.bootstrap`. No bootstrap has fields of these names.
"""

import json

from contour.custombootstrap import patching
from contour.envoy.parsing import Found
from contour.files import parse
from crds import screening
from crds.complaints import dotted
from crds.custombootstrap import LONGEST, CustomBootstrap, read
from crds.raw import Raw, is_mapping, mapping
from dag.rawconfig.content import Remark

_FIELDS = frozenset(("type", "value", "jsonPatches"))


def from_text(text: str) -> tuple[CustomBootstrap | None, Found]:
    """The change that the text of a file asks for; None if there is an error."""
    found = Found()
    value = document(text, "", found)
    if found.errors:
        return None, found
    if not value or not value.keys() <= _FIELDS:
        return CustomBootstrap(value=text), found
    custom = read(value)
    if isinstance(custom, CustomBootstrap):
        return custom, found
    found.errors += [Remark(dotted(it.path), it.message) for it in custom]
    return None, found


def as_text(custom: CustomBootstrap) -> str:
    """A text in JSON that `from_text` reads back, without dollar signs: Kubernetes would expand
    `$(NAME)`."""
    patches = [patching.operation(it) for it in custom.json_patches]
    found: Raw = {"type": custom.type, "value": custom.value, "jsonPatches": patches}
    return json.dumps({key: it for key, it in found.items() if it}).replace("$", "\\u0024")


def document(text: str, path: str, found: Found) -> Raw:
    """The object of a text in YAML or JSON; notes an error if there is none."""
    if len(text) > LONGEST:
        size = f"has {len(text):,} characters; at most {LONGEST:,} are allowed"
        found.errors.append(Remark(path, size))
        return {}
    try:
        read = parse.value(text.encode())
    except parse.MalformedError as error:
        found.errors.append(Remark(path, f"line {error.line + 1}: {error.message}"))
        return {}
    why = screening.refusal(read, parse.MAX_DEPTH) if is_mapping(read) else ""
    value = {} if why else mapping(screening.without_nulls(read))
    if not value:
        found.errors.append(Remark(path, why or "must be an object, and is not"))
    return value
