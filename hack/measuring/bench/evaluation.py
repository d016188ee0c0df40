"""How often the evaluator and Envoy disagree over generated worlds and requests: never."""

import asyncio
from collections.abc import Iterator

from tests.agreement.evaluation import comparing
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures

REQUESTS = 170  # in each world


@measures("evaluation", "bench")
def evaluation(options: Options) -> Iterator[Figure]:
    """10,000 requests over 60 worlds; each kind of thing that can be met is met often enough."""
    for routing in ("Single", "Shards"):
        yield from _evaluated(routing, options)


def _evaluated(routing: str, options: Options) -> Iterator[Figure]:
    worlds = options.times(60, 6)
    chance = options.random(f"evaluation {routing}")
    found = asyncio.run(comparing.judged(routing, worlds, REQUESTS, chance))
    for it in found.disagreements:
        print(it)
    yield Figure(f"{routing}: requests", found.requests, "")
    yield Figure(f"{routing}: disagreements", len(found.disagreements), "", 0)
    share = 100 * found.routed / found.requests
    yield Figure(f"{routing}: requests that a route takes", share, "%", 60, at_least=True)
    target = None if options.quick else 20
    for name in comparing.MET:
        yield Figure(f"{routing}: met: {name}", found.steps[name], "", target, at_least=True)
