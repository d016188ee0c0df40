"""Durations as users write them (Go's `time.ParseDuration`; GEP-2257 for the Gateway API).

HTTPProxy and ContourConfiguration read zero as "the proxy's default" and `infinity` as "no
limit"; the Gateway API reads zero as "no limit". Nodes know one form: seconds, 0 for no limit,
None for the default.
"""

import math

import re2

from dag.problems import Refused
from dag.problems.places import Place
from dag.problems.shared import Constructor

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_TERM = re2.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")

LONGEST = 24 * 3600.0
"""Seconds. A longer duration is a mistake or an attack; use `infinity` for no limit."""


def refusal(text: str, longest: float = LONGEST) -> str | None:
    """Why this is no duration such as `1h30m`, `1.5s` or `infinity`; None if it is."""
    if text in {"infinity", "infinite", "0"}:
        return None
    if text.startswith("-"):
        return f"duration {text!r} is negative"
    terms = _TERM.findall(text)
    if not terms or "".join(number + unit for number, unit in terms) != text:
        return f"duration {text!r} is not of the form 1h30m, 10s, 500ms or infinity"
    if seconds(text) > longest:
        return f"duration {text!r} is longer than 24h; write infinity for no limit"
    return None


def seconds(text: str) -> float:
    """The seconds of a valid duration."""
    if text in {"infinity", "infinite"}:
        return math.inf
    return sum(float(number) * _UNITS[unit] for number, unit in _TERM.findall(text))


def read(place: Place, text: str, not_valid: Constructor, longest: float = LONGEST) -> float:
    """The seconds of a duration in a field; Refused if it is not valid."""
    if why := refusal(text, longest):
        raise Refused(not_valid(place, why))
    return seconds(text)


def timeout(place: Place, text: str | None, not_valid: Constructor) -> float | None:
    """A Contour timeout as nodes have it: absent, empty and zero become None, the default."""
    if not text:
        return None
    value = read(place, text, not_valid)
    if value == 0:
        return None
    return 0.0 if math.isinf(value) else value
