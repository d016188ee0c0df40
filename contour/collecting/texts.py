"""Removes secrets from a text: a message, an argument, a line of a log. Pure.

A text has no structure, so the names of secrets are searched, and what follows them is removed.
Every pattern reads a text in one pass, since logs contain what strangers send.
"""

import json
import re
from bisect import bisect_left
from itertools import accumulate

REDACTED = "[redacted]"

_SECRETS = (
    r"(?:pass(?:word|wd|phrase)|token|secret|credential|authorization|cookie|hmac|string_?data"
    r"|(?:api|private|access|auth|signing|encryption|shared|ticket)[-_]?keys?"
    r"|inline[-_]?(?:string|bytes)|x[-_]auth(?![\w-]))"
)
_ENDINGS = (
    "name", "names", "namespace", "ref", "refs", "type", "kind", "path", "file", "bucket",
    "maxtokens", "max_tokens", "perfill", "per_fill",
)  # fmt: skip
"""Ends of names of fields that say where a secret is, or how many tokens there are; they contain no
secret."""

_NAMES = re.compile(_SECRETS, re.IGNORECASE)
_REFERENCES = re.compile(rf"(?:{'|'.join(_ENDINGS)})$", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a field, a header, a parameter or an argument of this name holds a secret."""
    return bool(_NAMES.search(name)) and not is_reference(name)


def is_reference(name: str) -> bool:
    """Whether a field of this name refers to something."""
    return bool(_REFERENCES.search(name))


def text(found: str) -> str:
    """A redacted text that is not part of an object, such as a message."""
    for pattern, instead in _PATTERNS:
        found = pattern.sub(instead, found)
    return found


def log(found: str) -> str:
    """A redacted log, also without the query strings of requests."""
    keyless = _PRIVATE_KEY.sub(REDACTED, found)
    return text("\n".join(map(_without_queries, keyless.split("\n"))))


def _without_queries(line: str) -> str:
    """A query may have quotes: it ends at white space, and in JSON, where they are escaped, at the
    end of the text. It may also have ended before, or be none: where that would take the name or a
    quote of a secret and leave its value, the rest of the line is removed."""
    queries = _QUERY_IN_JSON if _is_json(line) else _QUERY
    cut = _doubtful(line, queries) if "?" in line else None
    shown = queries.sub(rf"?{REDACTED}\g<end>", line[:cut])
    return shown if cut is None else f"{shown}{REDACTED}"


def _doubtful(line: str, queries: re.Pattern[str]) -> int | None:
    """Where the first query begins that takes the name or a quote of a secret which goes on after
    the query; or where the secrets around that place begin."""
    secrets = sorted(it.span() for found, _ in _PATTERNS for it in found.finditer(line))
    reach = [0, *accumulate((end for _, end in secrets), max)]  # of the first ones
    for it in queries.finditer(line):
        if not line[it.end() : it.end() + 1].isspace():  # in JSON the text ends, too
            continue
        before, within = (bisect_left(secrets, (place,)) for place in it.span())
        is_begun = any(end > it.end() for _, end in secrets[before:within])
        has_quote = any(mark in line[it.start() : it.start("end")] for mark in "\"'\\")
        if is_begun or (has_quote and reach[before] > it.end()):
            return _beginning(it.start(), secrets)
    return None


def _beginning(place: int, secrets: list[tuple[int, int]]) -> int:
    """Where the secrets around a place begin; the place, if there are none."""
    for start, end in reversed(secrets):
        if start < place < end:
            place = start
    return place


def _is_json(line: str) -> bool:
    """Whether a line is an object, perhaps after the time that Kubernetes adds."""
    found = re.fullmatch(r"(?:\S+ )?(\{.*)", line)
    try:
        return found is not None and isinstance(json.loads(found[1]), dict)
    except (ValueError, RecursionError):
        return False


def _named(secrets: str, also: str = "") -> str:
    """A name, group 2, after the path of its field, group 1."""
    no_reference = "".join(f"(?<!{it})" for it in _ENDINGS)
    return (
        r"(?i)(?<![\w-])(?:(?<![.\]])((?:spec|status|metadata)[\w.\[\]-]*\.))?"
        rf"(?=[\w-]*{secrets}){also}([\w-]+){no_reference}"
    )


_SIGN = r"(\\{0,7}[\"']?\s*[=:!~]{1,2}>?\s*)"
_QUOTED = r"(?P<quote>\\{0,7}[\"'])(?s:.*?)(?<!\\)(?P=quote)"
_COLON = r"\\{0,7}[\"']?\s*:\s*"
_COMPOUND = r"(?=\w*[-_])"  # not the word "secret" in a message
_GONE = re.escape(REDACTED)
_PRIVATE_KEY = re.compile(
    r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)
_QUERY = re.compile(r"\?\S*?(?P<end>(?:[\"'][,)\]}]*)?)(?!\S)")
_QUERY_IN_JSON = re.compile(r"\?(?:[^\s\"\\]|\\.)*(?P<end>)")


def _unsaid(match: re.Match[str]) -> str:
    """The message about a field stays, unless it quotes the field's value; so do tags of images and
    ports."""
    path, name, sign, _ = match.group(1, 2, 3, 4)
    if path and sign == ": " and not match["quote"]:
        return match[0]
    if sign == ":" and match.string[match.start() - 1 : match.start()] == "/":
        return match[0]
    return f"{path or ''}{name}{sign}{REDACTED}"


def _unquoted(match: re.Match[str]) -> str:
    """The API server's message about a field whose value it refuses, without the value."""
    path, says, _ = match.group(1, 2, 3)
    named = any(is_secret(it) for it in re.split(r"[^\w-]+", path))
    return f"{path}{says}{REDACTED}" if named or path.lower().endswith("value") else match[0]


_PATTERNS = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (_PRIVATE_KEY, REDACTED),
        # A header that is quoted as JSON or in the text format of protobuf.
        (rf"(?i)(\b(?:name|key|header){_COLON}\\{{0,7}}[\"']?(?=[\w-]*{_SECRETS})[\w-]+"
         rf".{{0,100}}?value{_COLON})({_GONE}|{_QUOTED}|\S+)", rf"\1{REDACTED}"),
        (rf"(?<![\w.\[\]-])([\w.\[\]-]+)(: \w+ value: )({_GONE}|{_QUOTED}|.+)", _unquoted),
        # A header whose value has several words.
        (rf"{_named('(?:authorization|cookie)')}{_SIGN}({_GONE}|{_QUOTED}|.*)", _unsaid),
        (rf"(?i)((?:set|add|append|replace)[-_]headers?\s+(?=[\w-]*{_SECRETS})[\w-]+\s+).+",
         rf"\1{REDACTED}"),
        # A block of YAML that cannot be read.
        (rf"(?im)^([ \t]*)((?:- )?(?=[\w-]*{_SECRETS})[\w-]+:[ \t]*[|>][-+\d]*)[ \t]*\n"
         r"(?:(?:\1[ \t]+.*|[ \t]*)(?:\n|\Z))+", rf"\1\2 {REDACTED}\n"),
        (r"(?i)\b(Bearer|Basic)\s+[\w.~+/=-]{6,}", rf"\1 {REDACTED}"),
        (r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*", REDACTED),  # a JSON Web Token
        (r"://(?::[^\s\"']{0,200}|[^/?#\s\"']+)@", rf"://{REDACTED}@"),
        (r"(://[^\s\"'?]{0,500}|(?<=[\w/])(?=\?[\w.%~\[\]-]+=))\?[^\s\"']*", rf"\1?{REDACTED}"),
        (rf"{_named(_SECRETS)}{_SIGN}({_GONE}|{_QUOTED}|\S+)", _unsaid),
        # An argument, and a name beside a value in the configuration of other proxies.
        (rf"(?<!\S)()(?=-[\w-]*(?i:{_SECRETS}))(--?[\w-]+)(?<!file)(\s+)({_QUOTED}|(?!--[a-z])\S+)",
         _unsaid),
        (rf"{_named(_SECRETS, _COMPOUND)}(\s+)({_QUOTED})", _unsaid),
    )
)  # fmt: skip
