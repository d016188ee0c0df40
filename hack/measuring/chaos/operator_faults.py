"""Makes the scripts of faults of the operator and of fleets in a cluster known to `hack/chaos`."""

from hack.measuring.operating import crashes, ends, handovers, repairs, several, strangers

__all__ = ["crashes", "ends", "handovers", "repairs", "several", "strangers"]
