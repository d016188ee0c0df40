"""The key of what there is once for each fleet."""

from typing import NamedTuple


class FleetKey(NamedTuple):
    """A fleet."""

    fleet: str
