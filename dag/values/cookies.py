"""Conditions on cookies, as expressions for the whole header `Cookie`.

Envoy compares headers, and has no condition on one cookie. So a condition becomes an expression on
the header, which matches if one of its cookies meets the condition. A user's expression is for the
value of a cookie alone: an expression that could match beyond the value is refused. Source: RFC
6265, 4.2.1.
"""

import re
from collections.abc import Iterator

from dag.values import regexes

_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_END = ";"
"""Separates cookies; no value contains it."""
_CLASSES = frozenset("dws")
"""Escapes for classes of characters without a semicolon."""


def name_refusal(name: str) -> str | None:
    """Why no cookie has such a name, as the end of a sentence; None if one may."""
    return None if _NAME.fullmatch(name) else "is no name of a cookie"


def exact(name: str, value: str) -> str:
    """An expression for headers with a cookie of this value. Raises ValueError that says why no
    cookie has it."""
    if _END in value or value != value.strip() or not value.isprintable():
        raise ValueError("is no value of a cookie")
    return _of_header(name, regexes.quoted(value))


def matching(name: str, expression: str) -> str:
    """An expression for headers with a cookie whose whole value the given expression matches.
    Raises ValueError that says why that cannot be served."""
    if why := regexes.refusal(expression):
        raise ValueError(why)
    return _of_header(name, "".join(_bounded(expression)))


def _of_header(name: str, value: str) -> str:
    """The expression for the whole header; like Envoy, it allows quotes around a value."""
    before, after = f"(?:[^{_END}]*{_END})*[ \t]*", f"[ \t]*(?:{_END}.*)?"
    made = f'{before}{regexes.quoted(name)}=(?:(?:{value})|"(?:{value})"){after}'
    if why := regexes.refusal(made):
        raise ValueError(why)
    return made


def _bounded(expression: str) -> Iterator[str]:
    """The pieces of an expression, changed so that none matches a semicolon. Raises ValueError."""
    rest = expression.removeprefix("^")
    ends = re.search(r"(\\*)\$$", rest)
    if ends is not None and len(ends[1]) % 2 == 0:
        rest = rest[:-1]
    at = 0
    while at < len(rest):
        piece = _piece(rest, at)
        at += len(piece)
        yield f"[^{_END}]" if piece == "." else _narrowed(piece)


_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:|[^\]\\])*\]|\(\?[^()]*?[:)]|.", re.DOTALL)


def _piece(text: str, at: int) -> str:
    found = _PIECE.match(text, at)
    assert found is not None
    return found[0]


def _narrowed(piece: str) -> str:
    """The piece, matching no semicolon. Raises ValueError if it might, or is an inner anchor."""
    first = piece[0]
    if first == "\\" and piece[1] not in _CLASSES and piece[1].isalnum():
        raise ValueError(f"has {piece}, which is not served of cookies")
    if piece in {"^", "$", _END, "\\;"}:
        raise ValueError(f"has {piece} within it, which no value of a cookie matches")
    if piece.startswith("(?") and piece not in {"(?:", "(?i)", "(?i:"}:
        raise ValueError(f"has {piece[:20]}, which is not served of cookies")
    return _class(piece) if first == "[" and len(piece) > 1 else piece


def _class(piece: str) -> str:
    if "[:" in piece or re.search(r"\\[^dws\W_]", piece):
        raise ValueError(f"has {piece[:20]}, which is not served of cookies")
    if piece.startswith("[^"):
        return f"[^{_END}{piece[2:]}" if not piece.startswith("[^]") else f"[^]{_END}{piece[3:]}"
    if regexes.matches(piece, _END):
        raise ValueError(f"has {piece[:20]}, which matches a semicolon")
    return piece
