"""What became of the writes of one kind's statuses, counted since the start, for the metrics.

The names are those of upstream's `contour_status_update_*`.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """Plain numbers, read when somebody asks."""

    total: int = 0  # turns that objects had
    success: int = 0  # statuses written
    noop: int = 0  # that said it already
    conflict: int = 0  # refused, as somebody else had written meanwhile
    failed: int = 0
    seconds: float = 0.0  # that the statuses written took, together
    failed_seconds: float = 0.0  # that the failures took, together

    def fail(self, seconds: float) -> None:
        """A turn has failed after so many seconds."""
        self.failed += 1
        self.failed_seconds += seconds
