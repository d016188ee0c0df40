"""Makes the scripts of the fault table known to `hack/chaos`."""

from hack.measuring.faults import changes, restarts

__all__ = ["changes", "restarts"]
