"""Parts of a path that a regular expression of a user finds, and what replaces them (RE2).

If the replacement is not valid, Envoy changes nothing and only logs it; so it is refused here.
"""

import re
from collections.abc import Callable

import re2

from dag.values import headers, regexes

_STEP = re.compile(r"\\([0-9]|\\)?")


def refusal(pattern: str, text: str) -> tuple[str, str] | None:
    """Which of the two cannot be served, and why, as the end of a sentence; None if both can."""
    if why := regexes.refusal(pattern):
        return "pattern", why
    if why := headers.value_refusal(text):
        return "substitution", why
    groups = re2.compile(pattern).groups
    for step in _STEP.finditer(text):
        if step[1] is None:
            return "substitution", "has a backslash before neither a digit nor a backslash"
        if step[1] != "\\" and int(step[1]) > groups:
            return "substitution", f"names group {step[1]}, but the pattern has {groups}"
    return None


def applied(pattern: str, text: str, path: str) -> str:
    """A path after the substitution."""
    return re2.compile(pattern).sub(
        lambda found: _STEP.sub(lambda it: _of(it, found.group), text), path
    )


def _of(step: re.Match[str], group: Callable[[int], str | None]) -> str:
    """What a step of the replacement stands for."""
    return step[1] if step[1] == "\\" else group(int(step[1])) or ""
