"""Durations of the Gateway API (GEP-2257): whole hours, minutes, seconds and milliseconds.

Only what a check of the CRD needs; the rules in `dag` read durations for Envoy.
"""

import re

from crds.fields import GatewayDuration

_PART = re.compile(r"([0-9]+)(ms|h|m|s)")
_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


def milliseconds(duration: GatewayDuration) -> int:
    """The length of a valid duration."""
    return sum(int(count) * _MILLISECONDS[unit] for count, unit in _PART.findall(duration))
