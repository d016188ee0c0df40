"""Compares answers with what a row expects of them.

Every answer: `status` (200 if not said), `backend`, `saw` (the request at the backend), `heard`
(its headers), `told` (headers of the answer), `says` (in its body), `shown`, `protocol`, `took`.
All answers together: `statuses` and `backends` (how many of each), `same` (what is one for all).
A text that starts with `~` is an expression; nothing (null) means absent.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.features.client import METHODS, Answer
from tests.testbed.patience import EARLY

_ASKING = {
    *METHODS, "call", "packet", "hello", "idle", "upgrade", "host", "over", "sni", "tls",
    "headers", "body", "times", "at_once", "until", "before",
}  # fmt: skip
_TOGETHER = {"statuses", "backends", "same"}
_EACH = {"status", "backend", "saw", "heard", "told", "says", "shown", "protocol", "took"}


class UnmetError(AssertionError):
    """Requests did not become what the row says."""


def require(ask: Mapping[str, Any], answers: list[Answer]) -> None:
    """All that the row says of these answers."""
    assert set(ask) <= _ASKING | _TOGETHER | _EACH, f"no such words: {ask}"
    if "statuses" in ask:
        _require_counts(ask["statuses"], Counter(it.status for it in answers))
    if "backends" in ask:
        _require_counts(ask["backends"], Counter(it.saw.get("backend", "") for it in answers))
    if "same" in ask:
        found = {it.saw.get(ask["same"]) for it in answers}
        _require(len(found) == 1, f"the same {ask['same']}, but {found}")
    for answer in answers:
        _require_each(ask, answer)


def _require_each(ask: Mapping[str, Any], answer: Answer) -> None:
    if "statuses" not in ask and "backends" not in ask:
        _require(answer.status == ask.get("status", 200), f"{answer.status}: {answer}")
    if "backend" in ask:
        _require(answer.saw.get("backend") == ask["backend"], f"{answer}")
    _require_mapping(ask.get("saw", {}), answer.saw, answer)
    _require_mapping(ask.get("heard", {}), answer.saw.get("headers", {}), answer)
    _require_mapping(ask.get("told", {}), answer.headers, answer)
    _require(_fits(f"~{ask.get('says', '')}", answer.body.decode(errors="replace")), f"{answer}")
    for name in ("shown", "protocol"):
        _require(name not in ask or _fits(ask[name], getattr(answer, name)), f"{answer}")
    least, most = ask.get("took", (0, 60))
    _require(least - EARLY <= answer.seconds <= most, f"took {answer.seconds}")


def _require_mapping(expected: Mapping[str, Any], found: Mapping[str, Any], answer: Answer) -> None:
    for name, value in expected.items():
        _require(_fits(value, found.get(name)), f"{name} is {found.get(name)!r}: {answer}")


def _fits(expected: Any, found: Any) -> bool:
    if isinstance(expected, str) and expected.startswith("~"):
        return found is not None and re.search(expected[1:], str(found), re.DOTALL) is not None
    return bool(expected == found)


def _require_counts(expected: Mapping[Any, Any], found: Counter[Any]) -> None:
    for name, count in expected.items():
        least, most = count if isinstance(count, list) else (count, count)
        _require(least <= found[name] <= most, f"{name!r} is not {count} times in {dict(found)}")


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise UnmetError(what)
