"""Scales weights down: Envoy refuses all shares if the sum has more than 32 bits.

For streams and extensions. Elsewhere: the weights of routes (`contour.envoy`).
"""

from collections.abc import Sequence

MOST = 2**32 - 1
"""The largest sum of weights."""


def scaled(weights: Sequence[int]) -> tuple[int, ...]:
    """The same shares, as closely as possible; a weight above 0 stays above 0."""
    divisor = -(-sum(weights) // (MOST - len(weights)))
    return tuple(max(it // divisor, 1) if it and divisor > 1 else it for it in weights)
