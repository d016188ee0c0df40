"""What the schema cannot say: which values an author who knows the rules would have written.

Wherever a field of that name stands. Everything else stays as random as it is.
"""

from collections.abc import Callable, Mapping
from typing import Any

from dag.nodes import LIMIT_STATUSES

Document = dict[str, Any]


def mend(value: Any) -> None:
    """Puts right what is below a value."""
    if isinstance(value, list):
        for it in value:
            mend(it)
    elif isinstance(value, dict):
        for field, found in value.items():
            value[field] = _FIELDS[field](found) if field in _FIELDS else _short(found)
        _agree(value)
        for it in value.values():
            mend(it)


def _agree(holder: Document) -> None:
    """Fields beside one another."""
    if {"start", "end"} <= holder.keys():
        holder.update(start=500, end=502)
    if holder.get("serviceType") != "http":
        holder.pop("httpSettings", None)
    if "allowCredentials" in holder and "*" in holder.get("allowOrigin", ()):
        holder["allowCredentials"] = False
    if holder.get("present") is False:
        holder["present"] = True
    names = holder.get("subjectNames")
    if names and "subjectName" in holder:
        holder["subjectName"] = names[0]


def _short(found: Any) -> Any:
    return "24h" if found == "25h" else found


def _name(found: str) -> str:
    return found if found[:1].isalpha() else "X-C"


def _named_once(found: list[Document]) -> list[Document]:
    return list({it["name"]: it for it in found}.values())


def _headers(found: list[Document]) -> list[Document]:
    named = [it | {"name": _name(it["name"])} for it in found]
    return list({it["name"].lower(): it for it in named}.values())


def _cookies(found: list[Document]) -> list[Document]:
    return [it if len(it) > 1 else it | {"secure": True} for it in _named_once(found)]


def _header_match(found: Document) -> Document:
    return found | {"headers": [{"name": "X-A", **(found.get("headers") or [{"exact": "1"}])[0]}]}


def _slow_start(found: Document) -> Document:
    return found | {"window": "5s"} | ({"aggression": "1.5"} if "aggression" in found else {})


def _prefixes(found: list[Document]) -> list[Document]:
    return list({it.get("prefix"): it for it in found}.values())


def _local(found: Document) -> Document:
    return found | {"requests": max(1, min(found["requests"], 1000)), "burst": 3}


def _claims(found: list[Document]) -> list[Document]:
    return [it | {"header": f"x-claim-{index}"} for index, it in enumerate(found)]


_FIELDS: Mapping[str, Callable[[Any], Any]] = {
    "cookieRewritePolicies": _cookies,
    "set": lambda found: _headers(found) if isinstance(found, list) else found,
    "remove": lambda found: [_name(it) for it in found],
    "headerName": _name,
    "responseHeadersToAdd": _headers,
    "responseStatusCode": lambda found: found if found in LIMIT_STATUSES else 429,
    "requestHeaderValueMatch": _header_match,
    "slowStartPolicy": _slow_start,
    "replacePrefix": _prefixes,
    "local": _local,
    "claimsToHeaders": _claims,
    "retriableStatusCodes": lambda found: [503 for _ in found],
    "count": lambda found: min(found, 7),
    "perTryTimeout": lambda _: "5s",
}
