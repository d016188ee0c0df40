"""The answer of `contour diff`, as JSON has it."""

from typing import TypedDict

from contour.answers.subjects import Subject


class Place(TypedDict):
    """What of a configuration is concerned."""

    fleet: str
    """Empty where the configuration as such is concerned."""
    listener: str
    """Empty where the fleet as such is concerned."""
    host: str
    """Empty where a listener or fleet as such is concerned."""


class ShownDifference(Place):
    """One thing that would be answered differently."""

    what: str
    """`GET /cart and below`, `TLS`, `port 443` …"""
    aspect: str
    """`answer`, `timeout`, `authorization` …"""
    before: str
    """Empty where there was none."""
    after: str
    objects: list[Subject]
    harm: str | None
    """`closed`, `unguarded`, `drained`, `replaced`; None if nothing is lost."""
    example: str
    """A request that is answered differently, as words of a shell, such as
    `GET http://shop.example.com/cart`; empty where it is about none, or none is known."""


class ShownUncompared(Place):
    """A route whose requests may be answered differently, or not: that is not known."""

    what: str
    """Its match, such as `/cart*, with 1 header condition`."""
    objects: list[Subject]


class Sent(TypedDict):
    """What the Envoys of a fleet would be sent."""

    added: dict[str, int]
    """Resources by section of `contour translate`; those without any are left out."""
    changed: dict[str, int]
    removed: dict[str, int]
    drainedChains: int
    """Filter chains that change or go: their connections end after the drain time."""


class Compared(TypedDict):
    """How two sets of manifests differ."""

    differences: list[ShownDifference]
    uncompared: list[ShownUncompared]
    fleets: dict[str, Sent]
    """By name; those to which nothing would be sent are left out."""
    kept: list[str]
    """The fleets of node IDs that no valid EnvoyConfig has any more: nothing is sent to their
    Envoys, which keep what they have."""
