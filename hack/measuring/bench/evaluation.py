"""How often the evaluator and Envoy disagree over generated worlds and requests: never.

And how many evaluators with one step removed agree with all answers of Envoy: none.
"""

import asyncio
from collections.abc import Iterator

from tests.agreement.evaluation import comparing, mutants
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures

REQUESTS = 170  # in each world


@measures("evaluation", "bench")
def evaluation(options: Options) -> Iterator[Figure]:
    """10,000 requests over 60 worlds; each kind of thing that can be met is met often enough."""
    court = mutants.Court()
    for routing in ("Single", "Shards"):
        yield from _evaluated(routing, options, court)
    for it in court.left:
        print(f"agrees with every answer: {it}")
    yield Figure("evaluators that lack a step", len(mutants.MUTANTS), "")
    target = None if options.quick else 0
    yield Figure("of these: agree with every answer", len(court.left), "", target)


def _evaluated(routing: str, options: Options, court: mutants.Court) -> Iterator[Figure]:
    worlds = options.times(60, 6)
    chance = options.random(f"evaluation {routing}")
    found = asyncio.run(comparing.judged(routing, worlds, REQUESTS, chance, court.judge))
    for it in found.disagreements:
        print(it)
    yield Figure(f"{routing}: requests", found.requests, "")
    yield Figure(f"{routing}: disagreements", len(found.disagreements), "", 0)
    share = 100 * found.routed / found.requests
    yield Figure(f"{routing}: requests that a route takes", share, "%", 60, at_least=True)
    target = None if options.quick else 20
    for name in comparing.MET:
        yield Figure(f"{routing}: met: {name}", found.steps[name], "", target, at_least=True)
