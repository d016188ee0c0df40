"""Weights whose sum Envoy can count: it refuses all shares for one sum of more than 32 bits.

For streams and extensions. Elsewhere: the weights of routes (`contour.envoy`).
"""

from collections.abc import Sequence

MOST = 2**32 - 1
"""The largest sum of weights."""


def scaled(weights: Sequence[int]) -> tuple[int, ...]:
    """The same shares, as nearly as can be; none that has a weight loses it."""
    divisor = -(-sum(weights) // (MOST - len(weights)))
    return tuple(max(it // divisor, 1) if it and divisor > 1 else it for it in weights)
