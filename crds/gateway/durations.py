"""Durations of the Gateway API (GEP-2257): whole hours, minutes, seconds and milliseconds.

Only what a check of the CRD needs; what a duration means to Envoy is a question for the graph.
"""

import re
from typing import Annotated

from pydantic import StringConstraints

GatewayDuration = Annotated[str, StringConstraints(pattern=r"^([0-9]{1,5}(h|m|s|ms)){1,4}$")]

_PART = re.compile(r"([0-9]+)(ms|h|m|s)")
_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


def milliseconds(duration: GatewayDuration) -> int:
    """The length of a valid duration."""
    return sum(int(count) * _MILLISECONDS[unit] for count, unit in _PART.findall(duration))
