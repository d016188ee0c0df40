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
    worlds = options.times(60, 6)
    found = asyncio.run(comparing.judged(worlds, REQUESTS, options.random("evaluation")))
    for it in found.disagreements:
        print(it)
    yield Figure("requests", found.requests, "")
    yield Figure("disagreements", len(found.disagreements), "", 0)
    share = 100 * found.routed / found.requests
    yield Figure("requests that a route takes", share, "%", 60, at_least=True)
    target = None if options.quick else 20
    for name in comparing.MET:
        yield Figure(f"met: {name}", found.steps[name], "", target, at_least=True)
