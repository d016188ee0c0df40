"""What AuthenticationFilters cost: edits among many routes that need a token."""

import statistics
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from contour.events import Batch
from hack.measuring import fresh, metered
from hack.measuring.bench import filtered
from tests.testbed import tokens, world
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.world import Document

KIND = "AuthenticationFilter"
SHARE = 100
"""So many routes name one filter."""
EDITS = 50
MOST = 2.0
"""Milliseconds that an edit of a route may take, the median."""


@measures("token-edits", "bench")
def edits(options: Options) -> Iterator[Figure]:
    """A route that needs a token is edited; then a filter, of many."""
    routes = 1_000 if options.quick else 10_000
    for what, found in fresh.fresh(_edited, routes).items():
        name = f"{routes:,} routes that need a token: {what} edited"
        most = MOST if what == "one" else None
        yield Figure(f"{name}: processor time", found.seconds * 1000, "ms", most)
        yield Figure(f"{name}: rules run", found.runs, "")
        yield Figure(f"{name}: parts published", found.parts, "", 1)


class Edit(NamedTuple):
    """What an edit took, the median of several."""

    seconds: float
    """Of processor time."""
    runs: float
    parts: float


async def _edited(routes: int) -> dict[str, Edit]:
    filters = range(routes // SHARE)
    made, _ = metered.built([
        *filtered.gateway(),
        *(_filter(it, "issuer") for it in filters),
        *(_route(it, "/") for it in range(routes)),
    ])  # fmt: skip
    await made.connect()
    changes: dict[str, Iterable[Document]] = {
        "one": (_route(it, "/new") for it in range(EDITS)),
        "a filter": (_filter(it % len(filters), f"issuer-{it}") for it in range(EDITS)),
    }
    found = {}
    for what, documents in changes.items():
        taken = [await _taken(made, world.batch(it)) for it in documents]
        found[what] = Edit(*map(statistics.median, zip(*taken, strict=True)))
    return found


async def _taken(made: metered.Metered, batch: Batch) -> Edit:
    start = time.process_time()
    work = await made.change(batch)
    if not work.parts:
        raise AssertionError("Envoy is told nothing of an edit")
    return Edit(time.process_time() - start, work.runs, work.parts)


def _filter(number: int, issuer: str) -> Document:
    keys = {"type": "Inline", "inline": tokens.jwks()}
    provider = {"name": "one", "issuer": f"https://{issuer}.example.com", "localJWKS": keys}
    return filtered.filter_(KIND, f"f{number}", {"type": "JWT", "jwtProviders": [provider]})


def _route(number: int, path: str) -> Document:
    return filtered.route(f"r{number}", KIND, {path: f"f{number // SHARE}"}, f"h{number}.example")
