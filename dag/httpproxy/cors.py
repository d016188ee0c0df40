"""Which pages of other origins may send requests.

An origin is exact, has a wildcard in place of labels (`https://*.example.com`), or is an
expression. Source: HTTPProxy reference, "CORSPolicy"; wildcards are ours.
"""

import re

from crds import virtualhost as crd
from dag import nodes
from dag.faults import Fault
from dag.values import durations, regexes

NOT_VALID = "PolicyDidNotParse"
LONGEST = 24 * 3600.0
"""Seconds. No browser keeps the answer to a preflight request for longer than a day."""


def cors(policy: crd.CORSPolicy) -> nodes.Cors:
    """The policy; Fault says why there can be none."""
    return nodes.Cors(
        origins=tuple(_origin(index, it) for index, it in enumerate(policy.allow_origin)),
        methods=policy.allow_methods,
        headers=policy.allow_headers,
        expose=policy.expose_headers,
        max_age=_max_age(policy.max_age),
        credentials=policy.allow_credentials,
        private_network=policy.allow_private_network,
    )


_EXACT = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[a-zA-Z0-9._-]+(:[0-9]{1,5})?")
_WILDCARD = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://)\*(\.[a-zA-Z0-9._-]+(:[0-9]{1,5})?)")


def _origin(index: int, text: str) -> nodes.ValueMatch:
    if text == "*":
        return nodes.ValueMatch("present")
    if _EXACT.fullmatch(text):
        return nodes.ValueMatch("exact", text, ignore_case=True)
    if found := _WILDCARD.fullmatch(text):
        scheme, rest = regexes.quoted(found[1]), regexes.quoted(found[2])
        return nodes.ValueMatch("regex", f"(?i){scheme}[a-z0-9.-]+{rest}")
    if not text or (refusal := regexes.refusal(text)):
        why = refusal if text else "is empty"
        raise Fault(NOT_VALID, f"allowOrigin[{index}]", f"{text[:60]!r} {why}")
    return nodes.ValueMatch("regex", text)


def _max_age(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(durations.seconds(text, longest=LONGEST * 365 * 100) if text else 0)
    except ValueError as why:
        raise Fault(NOT_VALID, "maxAge", str(why)) from None
