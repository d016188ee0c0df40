"""Removes secrets from objects, texts and logs before they leave a machine. Pure.

Removed are the contents of Secrets, and secrets in annotations, environments, headers, arguments
and configuration that is written as text. In doubt, a value is removed.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping

from contour.collecting.texts import REDACTED, is_reference, is_secret, log, text
from contour.files import documents, parse
from crds import decode, raw
from crds.raw import Raw

__all__ = ["REDACTED", "log", "text", "thing", "value"]

_WHOLE_OBJECTS = re.compile(r"last-(applied|handled)-configuration$")
"""Annotations that hold the whole object once more."""
_SNIPPETS = re.compile(r"snippets?$|/config-[\w-]+$|(request|response)-set-header$", re.IGNORECASE)
"""Fields that hold the configuration of another proxy in its own language."""
_VALUES = re.compile(
    r"^(raw_?)?values?($|_?(prefix|suffix))|match(er)?$|(exact|contains|prefix|suffix|regex)$",
    re.IGNORECASE,
)
"""Fields of a header, a parameter or a matcher that hold its value."""
_THINGS = re.compile(
    r"^(namespace|group|kind|image|protocol|domains|routes|clusters|operation)$"
    r"|(port|metadata|typed_?config)$",
    re.IGNORECASE,
)
"""Fields that headers and parameters do not have: an object with one of them is something else that
has a name."""
_ENVIRONMENTS = frozenset({"env", "environment"})
_DATA = frozenset({"data", "stringData", "binaryData"})
_KEY = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""The private members of a JSON Web Key (RFC 7518)."""
_ARGUMENT = re.compile(r"--?[A-Za-z][\w-]*")
_PACKED = re.compile(r"[A-Za-z0-9+/_-]{16,}(\n[A-Za-z0-9+/_-]+)*={0,2}\n?")
"""What may be base64."""
_UNREADABLE = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+/=]{24,}", re.DOTALL)
"""Texts that must be base64, since no name looks like that; nor do UIDs, digests and Kubernetes'
names."""


def thing(found: Raw) -> Raw:
    """A redacted object of Kubernetes: of a Secret only name and type stay, of a ConfigMap no
    value."""
    kept = {name: it for name, it in found.items() if name != "metadata"}
    metadata = raw.mapping(found.get("metadata"))
    if found.get("kind") == "Secret":
        names = {it: metadata[it] for it in ("namespace", "name") if it in metadata}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": names, "type": found.get("type")}
    if str(found.get("kind", "")).endswith("List"):
        kept["items"] = [
            thing(it) if raw.is_mapping(it) else value(it) for it in decode.items(found)
        ]
        return {**raw.mapping(value({**kept, "items": []})), "items": kept["items"]}
    shown = {name: it for name, it in metadata.items() if name != "managedFields"}
    return raw.mapping(value({**kept, "metadata": shown}))


def value(found: object) -> object:
    """Any part of an object, redacted; integers of more than 64 bits, which JSON is not written
    with, become texts."""
    if raw.is_mapping(found):
        return _mapping(found)
    if raw.is_list(found):
        return _listed(found)
    if isinstance(found, int) and not -(1 << 63) <= found < 1 << 64:
        return str(found)
    return _written(found) if isinstance(found, str) else found


def _mapping(found: Raw) -> Raw:
    tells = _tells(found)
    patches = _patches_secret(found)
    holds = found.get("kind") in ("Secret", "ConfigMap")  # `kind` may be a schema
    shown: Raw = {}
    for name, it in found.items():
        if _WHOLE_OBJECTS.search(name):
            continue
        if holds and name in _DATA:
            shown[name] = dict.fromkeys(raw.mapping(it), REDACTED)
        elif name in _ENVIRONMENTS:
            shown[name] = _environment(it)
        elif isinstance(it, str) and _SNIPPETS.search(name):
            shown[name] = REDACTED
        elif (
            is_secret(name)
            or (tells and name not in _TELLERS and not is_reference(name))
            or (patches and name == "value")
            or (name in _KEY and "kty" in found)
        ):
            shown[name] = _without_values(it)
        else:
            shown[name] = value(it)
    return shown


_TELLERS = frozenset({"name", "key", "header", "headerName", "header_name"})


def _tells(found: Raw) -> bool:
    """Whether a header, a parameter or a matcher has the name of a secret."""
    names = [it for field in _TELLERS if isinstance(it := found.get(field), str)]
    if not any("/" not in it and is_secret(it) for it in names):
        return False
    return any(map(_VALUES.search, found)) or not any(map(_THINGS.search, found))


def _patches_secret(found: Mapping[str, object]) -> bool:
    """Whether a JSON patch puts the value of a secret, or of a header, somewhere."""
    if "op" not in found:
        return False
    places = " ".join(str(found.get(it, "")) for it in ("jsonPath", "json_path", "path"))
    segments = [it for it in re.split(r"[^\w-]+", places) if it and not it.isdigit() and it != "-"]
    if not segments or is_reference(segments[-1]):
        return False
    is_header = any("header" in it for it in segments) and bool(_VALUES.search(segments[-1]))
    return is_header or any(map(is_secret, segments))


def _listed(found: list[object]) -> list[object]:
    """A list; in one of arguments, the value of `--token` is the next."""
    before = [None, *found]
    return [
        REDACTED if _takes_secret(name) and _is_value(it) else _item(it)
        for name, it in zip(before, found, strict=False)
    ]


def _item(found: object) -> object:
    """An item of a list; the value of an argument `--token=` may have blanks."""
    name, sign, _ = found.partition("=") if isinstance(found, str) else ("", "", "")
    return f"{name}={REDACTED}" if sign and _takes_secret(name) else value(found)


def _takes_secret(found: object) -> bool:
    return isinstance(found, str) and bool(_ARGUMENT.fullmatch(found)) and is_secret(found)


def _is_value(found: object) -> bool:
    return isinstance(found, str) and not re.match("--[a-z]", found)


def _without_values(found: object) -> object:
    """A secret is removed; a reference to one stays."""
    if raw.is_mapping(found):
        return {
            name: value(it) if is_reference(name) else _without_values(it)
            for name, it in found.items()
        }
    if raw.is_list(found):
        return [_without_values(it) for it in found]
    return found if isinstance(found, bool) or found is None else REDACTED


def _environment(found: object) -> object:
    """The variables of a container: their names, and where their values are from."""
    if raw.is_mapping(found):
        return dict.fromkeys(found, REDACTED)
    if not raw.is_list(found):
        return _without_values(found)
    return [
        {name: REDACTED if name == "value" else value(part) for name, part in it.items()}
        if raw.is_mapping(it)
        else REDACTED
        for it in found
    ]


def _written(found: str) -> str:
    """A text of an object; if it is configuration that is written as text, its content is
    redacted."""
    if _PACKED.fullmatch(found):
        return _packed(found)
    if "\n" not in found.strip() and not found.lstrip().startswith(("{", '["', "[{")):
        return text(found)
    try:
        texts = documents.texts(found.encode(errors="surrogatepass"))
        read = [it for one in texts if (it := parse.value(one.raw)) is not None]
        if all(raw.is_mapping(it) or raw.is_list(it) for it in read):
            return "\n---\n".join(json.dumps(value(it), default=str) for it in read)
    except (parse.MalformedError, RecursionError):
        pass
    return text(found)


def _packed(found: str) -> str:
    """A text that may be base64: certificates stay, configuration is decoded and redacted, all else
    is removed."""
    bare = found.rstrip("=\n").replace("\n", "")
    try:
        content = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=_alphabet(bare)).decode()
    except (binascii.Error, UnicodeDecodeError):
        content = ""
    if content and all(it.isprintable() or it.isspace() for it in content):
        if "-----BEGIN" in content:
            return found if text(content) == content else REDACTED
        shown = _written(content)
        return shown if shown.startswith(("{", "[")) else REDACTED
    return REDACTED if _UNREADABLE.fullmatch(bare) else text(found)


def _alphabet(found: str) -> bytes | None:
    return b"-_" if "-" in found or "_" in found else None
