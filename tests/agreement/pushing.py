"""Generated objects pushed through a running Envoy, a few at a time, until all that can meet has.

Every batch is settled before the next, and after each Envoy must have refused nothing.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from tests.agreement import configurations, features, live, proxies
from tests.agreement.coverage import Coverage
from tests.dag.httpproxy import generated
from tests.free_ports import free_ports

Document = dict[str, Any]

_BATCH = 25
_STREAMS = 0.05
"""The share of roots for bytes."""


async def push_proxies(to: live.Live, count: int, seed: int, found: Coverage) -> list[str]:
    """Pushes so many roots; returns Envoy's words, if it had any."""
    for start in range(seed, seed + count, _BATCH):
        numbers = range(start, min(start + _BATCH, seed + count))
        documents = [it for number in numbers for it in _root(number, found)]
        to.take(documents)
        await to.settled()
        if words := to.refusals():
            return words
        for it in documents:
            found.count(it, is_accepted=to.is_accepted(it))
    return []


def _root(number: int, found: Coverage) -> list[Document]:
    chance = generated.Sane(number)
    if chance.random() < _STREAMS:
        return proxies.stream(number, chance)
    return proxies.documents(number, proxies.chosen(chance, _wanted(found, chance)), chance)


def _wanted(found: Coverage, chance: Random) -> Iterator[features.Pair]:
    """Pairs that were not met yet, for two routes; any if all were."""
    missing = found.missing_pairs() or sorted(features.PAIRS)
    yield from chance.sample(missing, min(2, len(missing)))


async def push_configurations(to: live.Live, count: int, seed: int, found: Coverage) -> list[str]:
    """Pushes until so many configurations were served, one after the other."""
    ports: Sequence[int] = free_ports(4)
    number, served = seed, found.objects["ContourConfiguration"]
    while found.objects["ContourConfiguration"] < served + count:
        document = configurations.document(number, ports)
        to.take([document])
        await to.settled()
        if words := to.refusals():
            return [f"seed {number}: {it}" for it in words]
        found.count(document, is_accepted=to.is_accepted(document))
        number += 1
    return []
