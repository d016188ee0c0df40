"""The results of status writes of one kind, counted since the start, for the metrics.

The names are those of upstream's `contour_status_update_*`.
"""

from dataclasses import dataclass, field

from crds.meta import ObjectRef


@dataclass(slots=True)
class Tally:
    """Plain numbers, which are read when metrics are scraped."""

    total: int = 0  # statuses that were processed
    success: int = 0  # statuses written
    noop: int = 0  # that were up to date already
    conflict: int = 0  # refused, because the object had changed meanwhile
    failed: int = 0
    seconds: float = 0.0  # that the statuses written took, together
    failed_seconds: float = 0.0  # that the failures took, together
    given_up: set[ObjectRef] = field(default_factory=set)
    """The objects whose status is not written again before it changes, although it failed."""

    def fail(self, seconds: float) -> None:
        """Notes a failure after so many seconds."""
        self.failed += 1
        self.failed_seconds += seconds
