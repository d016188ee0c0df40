"""Header values of users: text in which a few operators of Envoy have an effect.

A name between two `%` is an operator only if it is on the list below; every other `%` is a plain
character. Variables of ours are substituted here, so Envoy never sees their names. Source: Contour
documentation, "Dynamic Header Values".
"""

import re
from collections.abc import Iterator, Mapping

from dag import nodes

OPERATORS = frozenset(
    {
        "DOWNSTREAM_DIRECT_REMOTE_ADDRESS",
        "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT",
        "DOWNSTREAM_LOCAL_ADDRESS",
        "DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT",
        "DOWNSTREAM_LOCAL_PORT",
        "DOWNSTREAM_LOCAL_SUBJECT",
        "DOWNSTREAM_LOCAL_URI_SAN",
        "DOWNSTREAM_PEER_CERT",
        "DOWNSTREAM_PEER_CERT_V_END",
        "DOWNSTREAM_PEER_CERT_V_START",
        "DOWNSTREAM_PEER_FINGERPRINT_1",
        "DOWNSTREAM_PEER_FINGERPRINT_256",
        "DOWNSTREAM_PEER_ISSUER",
        "DOWNSTREAM_PEER_SERIAL",
        "DOWNSTREAM_PEER_SUBJECT",
        "DOWNSTREAM_PEER_URI_SAN",
        "DOWNSTREAM_REMOTE_ADDRESS",
        "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
        "DOWNSTREAM_TLS_CIPHER",
        "DOWNSTREAM_TLS_SESSION_ID",
        "DOWNSTREAM_TLS_VERSION",
        "HOSTNAME",
        "PROTOCOL",
        "RESPONSE_CODE_DETAILS",
        "RESPONSE_FLAGS",
        "TLS_JA3_FINGERPRINT",
        "TLS_JA4_FINGERPRINT",
        "UPSTREAM_REMOTE_ADDRESS",
    }
)
"""Operators without an argument. `REQ(name)` is allowed, too."""

_VARIABLE = re.compile(r"%(?:([A-Z][A-Z0-9_]*)|REQ\(([A-Za-z0-9_-]{1,256})\))%")


def value(text: str, variables: Mapping[str, str]) -> nodes.Value:
    """The value of a header, as a node."""
    joined: list[str | nodes.Operator] = []
    for piece in _pieces(text, variables):
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece:
            joined.append(piece)
    if all(isinstance(it, str) for it in joined):
        return "".join(it for it in joined if isinstance(it, str))
    return nodes.Format(tuple(joined))


def names(text: str) -> frozenset[str]:
    """The names that stand between two `%`, with an effect or without."""
    return frozenset(it[1] for it in _VARIABLE.finditer(text) if it[1])


def header_named(text: str) -> str:
    """The name of the request header if the text is `%REQ(name)%` alone; else empty."""
    found = _VARIABLE.fullmatch(text)
    return (found[2] or "").lower() if found else ""


def _pieces(text: str, variables: Mapping[str, str]) -> Iterator[str | nodes.Operator]:
    start = 0
    for found in _VARIABLE.finditer(text):
        piece = _piece(found, variables)
        if piece is not None:
            yield text[start : found.start()]
            yield piece
            start = found.end()
    yield text[start:]


def _piece(found: re.Match[str], variables: Mapping[str, str]) -> str | nodes.Operator | None:
    """The replacement of an operator or variable; None if it is plain text."""
    name, header = found[1], found[2]
    if header is not None:
        return nodes.Operator("REQ", header)
    if name in variables:
        return variables[name]
    return nodes.Operator(name) if name in OPERATORS else None
