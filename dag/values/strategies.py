"""Strategies of a `loadBalancerPolicy` that hash nothing of a request, by upstream's names."""

from collections.abc import Mapping

from dag import nodes

PLAIN: Mapping[str, nodes.Balancing] = {
    "": "RoundRobin",
    "RoundRobin": "RoundRobin",
    "Random": "Random",
    "WeightedLeastRequest": "WeightedLeastRequest",
}
