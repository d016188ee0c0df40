"""What a page says is printed, compared with what is printed."""

import re
from collections.abc import Sequence

ANYTHING = "…"


def matches(expected: str, printed: str, *, whole: bool = True) -> bool:
    """Whether this is printed, and nothing after it if it is to be the whole.

    `…` in a line stands for anything in it, on a line of its own for any number of lines.
    """
    found = [it.rstrip() for it in printed.rstrip("\n").split("\n")]
    return _matches([it.rstrip() for it in expected.rstrip("\n").split("\n")], found, whole)


def appears(expected: str, printed: str) -> bool:
    """Whether these lines are printed, one after another, wherever they begin."""
    return matches(f"{ANYTHING}\n{expected}", printed, whole=False)


def _matches(expected: Sequence[str], printed: Sequence[str], whole: bool) -> bool:
    if not expected:
        return not printed or not whole
    if expected[0].strip() == ANYTHING:
        rest = expected[1:]
        return any(_matches(rest, printed[it:], whole) for it in range(len(printed) + 1))
    if not printed or not _line(expected[0], printed[0]):
        return False
    return _matches(expected[1:], printed[1:], whole)


def _line(expected: str, printed: str) -> bool:
    pattern = ".*".join(map(re.escape, expected.split(ANYTHING)))
    return re.fullmatch(pattern, printed) is not None
