"""Regular expressions of users: RE2, compiled here before Envoy ever sees them.

Envoy refuses a whole RouteConfiguration for one bad expression, so what it would refuse is
refused here first. google-re2 reports the same program size as Envoy. A user's expression never
runs in Python's backtracking engine.
"""

from collections.abc import Callable
from functools import lru_cache

import re2

MAX_LENGTH = 1024
"""Characters."""

MAX_PROGRAM_SIZE = 1000
"""RE2 instructions, as many as the bootstrap lets Envoy take."""

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


@lru_cache(maxsize=4096)
def refusal(expression: str, most: int = MAX_PROGRAM_SIZE) -> str | None:
    """Why an expression cannot be served, as the end of a sentence; None if it can. The last
    argument is the most instructions of its program."""
    if len(expression) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    if "\0" in expression:
        return "holds a NUL character"
    try:
        program = re2.compile(expression, _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "syntax error"
        return f"is not a valid RE2 expression: {_text(reason)}"
    if program.programsize > most:
        return f"is too complex: its program size is {program.programsize} > {most}"
    return None


def matches(expression: str, text: str) -> bool:
    """Whether an expression that can be served matches the whole of a text."""
    return _matcher(expression)(text) is not None


@lru_cache(maxsize=1024)
def _matcher(expression: str) -> Callable[[str], object]:
    """A compiled expression. The cache of re2 is slow: it reads all options each time."""
    return re2.compile(expression, _OPTIONS).fullmatch


def is_found(expression: str, text: str) -> bool:
    """Whether an expression that can be served matches a part of a text."""
    return re2.search(expression, text) is not None


def quoted(text: str) -> str:
    """An expression that matches exactly this text."""
    return re2.escape(text)


def after(text: str, expression: str) -> str:
    """An expression that matches this text followed by a match of the given valid expression."""
    # Without a group, the text would belong to the first alternative only.
    rest = f"(?:{expression})" if text and "|" in expression else expression
    return quoted(text) + rest


def _text(reason: object) -> str:
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
