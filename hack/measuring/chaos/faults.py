"""Makes the scripts of the fault table known to `hack/chaos`."""

from hack.measuring.faults import changes, refusals, restarts, rules, streams

__all__ = ["changes", "refusals", "restarts", "rules", "streams"]
