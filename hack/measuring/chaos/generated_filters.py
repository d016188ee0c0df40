"""Generated filters of Envoy Gateway on a real Envoy, which must accept whatever we accept.

Each is published with a route that names it, and Envoy must have answered before the next one. The
configuration of a rate limit service is read as our service reads it. A refusal is a bug of ours,
and noted with the generated filter.
"""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from contour.envoy import names
from contour.events import Batch, Event
from contour.ratelimits import limits
from crds.decode import Decoded, decode
from crds.meta import NamespacedName
from dag import nodes, ratelimitclient
from dag.engine.view import Query
from dag.gateway import grpcroute, httproute
from dag.gateway.rules import Rules
from dag.references import keysets
from hack.measuring.bench import filtered
from hack.measuring.chaos import generated
from tests.laws import filters
from tests.testbed import served, tokens
from tests.testbed.figures import Figure
from tests.testbed.local import Local
from tests.testbed.measuring import Options, measures
from tests.testbed.served import Site
from tests.testbed.world import Document, World

NAME = "generated-filters"


class Found(NamedTuple):
    """The outcomes of the generated filters."""

    published: int = 0
    served: int = 0
    """How many were served, with a route without problems."""
    misread: int = 0
    """How many the rate limit service refused."""
    refused: int = 0
    """How many Envoy refused."""


@measures(NAME)
def generated_filters(options: Options) -> Iterator[Figure]:
    """AuthenticationFilters and RateLimitFilters, one publication each."""
    number = options.times(5_000, 500)
    found = asyncio.run(run(number, options))
    yield Figure("filters generated", number, "")
    yield Figure("of these accepted by us and published", found.published, "")
    # Some are invalid themselves, and many are beside an invalid one.
    yield Figure("of these without a fault", found.served, "", number // 5, at_least=True)
    yield Figure("refused by Envoy", found.refused, "", 0)
    yield Figure("refused by the rate limit service", found.misread, "", 0)


async def run(number: int, options: Options) -> Found:
    """Publishes a number of filters, one after the other."""
    chance, found = options.random(NAME), Found()
    async with served.serving(Local, World(0, 1), filtered.gateway()) as site:
        _prepare(site)
        for it in range(number):
            documents = _documents(chance)
            before = _refused(site)
            route = await _publish(site, documents)
            if route is None:
                continue
            is_misread = _is_misread(site)
            if is_misread or _refused(site) > before:
                options.note(NAME, filter=it, documents=documents)
            found = found._replace(
                published=found.published + 1,
                served=found.served + _is_whole(site, route),
                misread=found.misread + is_misread,
            )
        return found._replace(refused=_refused(site))


def _prepare(site: Site[Local]) -> None:
    """Enables the rate limit service, and provides the key sets of all servers."""
    engine = site.control.instance.controller.engine
    engine.write(ratelimitclient.SOCKET, (), ratelimitclient.SOCKET_NAME)
    for uri in filters.URIS:
        tls = nodes.UpstreamTls(system=True, sni=uri.split("/")[2])
        keysets.write(engine, nodes.RemoteJwks(uri, tls, 5.0), keysets.KeySet(tokens.jwks()))


def _documents(chance: Random) -> list[Document]:
    made = filters.filter_(chance)
    route = filters.route(chance, made)
    if chance.random() < generated.HOSTILE_SHARE:
        generated.spoil(chance, made)
    return [made, route]


async def _publish(site: Site[Local], documents: list[Document]) -> Event | None:
    """The route that was published; None if we refused the filter or the route."""
    events: list[Event] = []
    for it in map(decode, documents):
        if not isinstance(it, Decoded) or it.object is None:
            return None
        events.append(Event(it.kind, it.key, it.object))
    site.control.instance.take(Batch(tuple(events), {}))
    await generated.answered(site.control.fleet)
    return events[-1]


_RULES: dict[str, Query[NamespacedName, Rules]] = {
    "HTTPRoute": httproute.rules,
    "GRPCRoute": grpcroute.rules,
}


def _is_whole(site: Site[Local], route: Event) -> bool:
    """Whether a route and the filters that it names have no problems."""
    found = site.control.instance.controller.engine.answer(_RULES[route.kind.kind], route.key)
    return found is not None and not found.problems


def _is_misread(site: Site[Local]) -> bool:
    """Whether the rate limit service does not understand its configuration."""
    resource = site.control.instance.server.fleet(ratelimitclient.FLEET).store.resource(
        names.LIMITS
    )
    try:
        limits.read([resource.body()] if resource is not None else [])
    except limits.Invalid:
        return True
    return False


def _refused(site: Site[Local]) -> int:
    return generated.refusals(site.control.fleet)
