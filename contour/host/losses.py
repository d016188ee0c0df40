"""When lines of the access log are being lost: said once, when it begins."""

from dataclasses import dataclass


@dataclass(slots=True)
class Losses:
    """What was counted so far, by one Envoy after the other."""

    count: int = 0
    is_told: bool = False

    def grow(self, count: int) -> bool:
        """Whether losses have begun: more than before, and not so the time before that.

        A smaller count is that of a new Envoy, which counts from zero.
        """
        is_growing = count > (self.count if count >= self.count else 0)
        begins = is_growing and not self.is_told
        self.count, self.is_told = count, is_growing
        return begins
