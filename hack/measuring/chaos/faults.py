"""Makes the scripts of the fault table known to `hack/chaos`."""

from hack.measuring.faults import restarts

__all__ = ["restarts"]
