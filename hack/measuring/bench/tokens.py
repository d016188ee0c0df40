"""The cost of AuthenticationFilters: edits among many routes that need a token."""

from collections.abc import Iterable, Iterator

from hack.measuring import fresh, metered
from hack.measuring.bench import edited, filtered
from hack.measuring.bench.edited import Edit
from tests.testbed import tokens
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.world import Document

KIND = "AuthenticationFilter"
SHARE = 100
"""The number of routes that name one filter."""
EDITS = 50
MOST = 2.0
"""Milliseconds that an edit of a route may take, the median."""


@measures("token-edits", "bench")
def edits(options: Options) -> Iterator[Figure]:
    """A route that needs a token is edited; then a filter, of many."""
    routes = 1_000 if options.quick else 10_000
    for what, found in fresh.fresh(_edited, routes).items():
        name = f"{routes:,} routes that need a token: {what} edited"
        yield from edited.figures(name, found, MOST if what == "one" else None, 1)


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
    return {what: await edited.edit(made, documents) for what, documents in changes.items()}


def _filter(number: int, issuer: str) -> Document:
    keys = {"type": "Inline", "inline": tokens.jwks()}
    provider = {"name": "one", "issuer": f"https://{issuer}.example.com", "localJWKS": keys}
    return filtered.filter_(KIND, f"f{number}", {"type": "JWT", "jwtProviders": [provider]})


def _route(number: int, path: str) -> Document:
    return filtered.route(f"r{number}", KIND, {path: f"f{number // SHARE}"}, f"h{number}.example")
