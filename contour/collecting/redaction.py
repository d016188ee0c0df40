"""What may leave a machine of an object, a text or a log. Pure.

Secrets do not: not the objects, nor what is copied into annotations, environments, headers,
arguments and configuration that is written as text. Rather too much is left out than too little.
"""

import json
import re

import yaml

from crds import raw
from crds.raw import Raw

REDACTED = "[redacted]"

_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"  # the whole object once more
_NAMES = re.compile(
    r"pass(word|wd|phrase)|token|secret|credential|api[-_]?key|private[-_]?key|authorization|cookie"
    r"|inline[-_]?(string|bytes)",
    re.IGNORECASE,
)
_REFERENCES = re.compile(
    r"(name|names|namespace|ref|refs|type|kind|path|file(name)?)$", re.IGNORECASE
)
"""How names of fields end that say where a secret is, not what it is."""
_VALUES = frozenset({"value", "values", "exact", "contains", "notcontains", "notexact", "prefix",
                     "regex"})  # fmt: skip
_ENVIRONMENTS = frozenset({"env", "environment"})
_KEY = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""The private members of a JSON Web Key (RFC 7518)."""

_IN_TEXTS = (
    (r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", REDACTED),
    (r"(?i)\b(Bearer|Basic)\s+[\w.~+/=-]{6,}", rf"\1 {REDACTED}"),
    (r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*", REDACTED),  # a JSON Web Token
    (r"(://[^/\s:@]+:)[^/\s@]+@", rf"\1{REDACTED}@"),
)
_SAID = re.compile(r"([\w-]+)([\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&]+)")
"""A name and its value."""
_QUERY = re.compile(r"\?[^\s\"']*")


def thing(found: Raw) -> Raw:
    """An object of Kubernetes; of a Secret its name and type, of a ConfigMap no value."""
    kept = {name: it for name, it in found.items() if name != "metadata"}
    metadata = raw.mapping(found.get("metadata"))
    shown = {name: it for name, it in metadata.items() if name not in {"managedFields"}}
    if raw.is_mapping(annotations := shown.get("annotations")):
        shown["annotations"] = {it: text for it, text in annotations.items() if it != _ANNOTATION}
    if found.get("kind") == "Secret":
        names = {it: metadata[it] for it in ("namespace", "name") if it in metadata}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": names, "type": found.get("type")}
    if found.get("kind") == "ConfigMap":
        for field in ("data", "binaryData"):
            if raw.is_mapping(entries := kept.get(field)):
                kept[field] = dict.fromkeys(entries, REDACTED)
    return raw.mapping(value({**kept, "metadata": shown}))


def value(found: object) -> object:
    """Any part of an object."""
    if raw.is_mapping(found):
        return _mapping(found)
    if raw.is_list(found):
        return [value(it) for it in found]
    return _written(found) if isinstance(found, str) else found


def text(found: str) -> str:
    """A text that is no part of an object, such as a message or a line of a log."""
    for pattern, instead in _IN_TEXTS:
        found = re.sub(pattern, instead, found)
    return _SAID.sub(_unsaid, found)


def _unsaid(match: re.Match[str]) -> str:
    name, sign, _ = match.groups()
    return f"{name}{sign}{REDACTED}" if _is_secret(name) else match[0]


def log(found: str) -> str:
    """A log: the same, and without the queries of requests."""
    return _QUERY.sub(f"?{REDACTED}", text(found))


def _mapping(found: Raw) -> Raw:
    named = next((it for field in ("name", "key", "header") if (it := found.get(field))), None)
    tells = isinstance(named, str) and _is_secret(named)
    return {
        name: _without_texts(it)
        if _is_secret(name) or (tells and name in _VALUES) or (name in _KEY and "kty" in found)
        else _environment(it)
        if name in _ENVIRONMENTS
        else value(it)
        for name, it in found.items()
    }


def _is_secret(name: str) -> bool:
    return bool(_NAMES.search(name)) and not _REFERENCES.search(name)


def _without_texts(found: object) -> object:
    """A secret: what refers to one stays."""
    if raw.is_mapping(found):
        return {
            name: value(it) if _REFERENCES.search(name) else _without_texts(it)
            for name, it in found.items()
        }
    if raw.is_list(found):
        return [_without_texts(it) for it in found]
    return REDACTED if isinstance(found, str) else found


def _environment(found: object) -> object:
    """The variables of a container: their names, and where their values are from."""
    if not raw.is_list(found):
        return _without_texts(found)
    return [
        {name: REDACTED if name == "value" else value(part) for name, part in it.items()}
        if raw.is_mapping(it)
        else REDACTED
        for it in found
    ]


def _written(found: str) -> str:
    """A text of an object: configuration that is written as text is looked into."""
    if "\n" not in found.strip() and not found.lstrip().startswith(("{", '["', "[{")):
        return text(found)
    try:
        read: object = yaml.load(found, yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return text(found)
    if not raw.is_mapping(read) and not raw.is_list(read):
        return text(found)
    return json.dumps(value(read), default=str)
