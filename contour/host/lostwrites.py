"""Detects when lines of the access log begin to be lost, so that it is reported once."""

from dataclasses import dataclass


@dataclass(slots=True)
class LostWrites:
    """The number of lost writes so far, which starts at zero with each new Envoy."""

    count: int = 0
    is_told: bool = False

    def grow(self, count: int) -> bool:
        """Whether losses have just begun: the count has grown, and had not grown at the last call.

        A smaller count is that of a new Envoy, which counts from zero.
        """
        is_growing = count > (self.count if count >= self.count else 0)
        begins = is_growing and not self.is_told
        self.count, self.is_told = count, is_growing
        return begins
