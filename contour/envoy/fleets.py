"""The key of queries with one answer for each fleet."""

from typing import NamedTuple


class FleetKey(NamedTuple):
    """A fleet."""

    fleet: str
