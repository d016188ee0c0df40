"""When losses are told."""

from contour.host.lostwrites import LostWrites


def test_losses_are_told_once_when_they_begin() -> None:
    losses = LostWrites()
    counts = (0, 0, 3, 5, 6, 6, 6, 8, 2, 0, 0, 1)  # a new Envoy counts from zero
    told = [count for count in counts if losses.grow(count)]
    assert told == [3, 8, 1]
