"""CORS: which pages of other origins may send requests.

An origin is exact, has a wildcard in place of labels (`https://*.example.com`), or is an
expression. Source: HTTPProxy reference, "CORSPolicy"; wildcards are ours.
"""

import re

from crds import virtualhost as crd
from dag import nodes
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.values import durations, regexes

LONGEST = 24 * 3600.0
"""Seconds. No browser keeps the answer to a preflight request for longer than a day."""


def cors(place: Place, policy: crd.CORSPolicy) -> nodes.Cors:
    """The policy; Refused if there can be none."""
    return nodes.Cors(
        origins=tuple(
            _origin(place.at("allowOrigin", index), it)
            for index, it in enumerate(policy.allow_origin)
        ),
        methods=policy.allow_methods,
        headers=policy.allow_headers,
        expose=policy.expose_headers,
        max_age=_max_age(place.at("maxAge"), policy.max_age),
        credentials=policy.allow_credentials,
        private_network=policy.allow_private_network,
    )


_EXACT = re.compile(
    r"[a-zA-Z][a-zA-Z0-9+.-]*://([a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\])(:[0-9]{1,5})?"
)
_WILDCARD = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://)\*(\.[a-zA-Z0-9._-]+(:[0-9]{1,5})?)")


def _origin(place: Place, text: str) -> nodes.ValueMatch:
    if text == "*":
        return nodes.ValueMatch("present")
    if _EXACT.fullmatch(text):
        return nodes.ValueMatch("exact", text, ignore_case=True)
    if found := _WILDCARD.fullmatch(text):
        scheme, rest = regexes.quoted(found[1]), regexes.quoted(found[2])
        return nodes.ValueMatch("regex", f"(?i){scheme}[a-z0-9.-]+{rest}")
    if why := regexes.refusal(text) if text else "is empty":
        raise Refused(problems.cors_not_valid(place, f"{text[:60]!r} {why}"))
    return nodes.ValueMatch("regex", text)


def _max_age(place: Place, text: str | None) -> int | None:
    if not text:
        return None if text is None else 0
    return int(durations.read(place, text, problems.cors_not_valid, LONGEST * 365 * 100))
