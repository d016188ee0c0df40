"""Generated objects pushed through a running Envoy, a few at a time, until all that can meet has.

Every batch is settled before the next, and after each Envoy must have refused nothing.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from tests.agreement import addresses, annotations, configurations, features, live, proxies
from tests.agreement.coverage import Coverage
from tests.dag.httpproxy import generated

Document = dict[str, Any]

_BATCH = 25
_ALIVE = 6
"""Batches: older ones are removed, for an Envoy grows with every set of terms of TLS."""
_STREAMS = 0.05
"""The share of roots for bytes."""


async def push_proxies(to: live.Live, count: int, seed: int, found: Coverage) -> list[str]:
    """Pushes so many roots; returns Envoy's words, if it had any."""
    alive: deque[list[Document]] = deque()
    for start in range(seed, seed + count, _BATCH):
        numbers = range(start, min(start + _BATCH, seed + count))
        documents = [it for number in numbers for it in _root(number, found)]
        annotations.annotate(documents, start)
        alive.append(documents)
        to.take(
            [*documents, *addresses.slices(start)],
            gone=alive.popleft() if len(alive) > _ALIVE else (),
        )
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


async def push_configurations(
    to: live.Live, ports: Sequence[int], seeds: range, found: Coverage
) -> list[str]:
    """Pushes so many configurations, one after the other."""
    for seed in seeds:
        document = configurations.document(seed, ports)
        to.take([document])
        await to.settled()
        if words := to.refusals():
            return [f"seed {seed}: {it}" for it in words]
        found.count(document, is_accepted=to.is_accepted(document))
    return []
