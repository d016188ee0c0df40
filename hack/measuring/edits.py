"""The kinds of change that are measured: endless iterators, in which no change equals the last."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from random import Random

from contour.events import Batch
from tests.testbed import world
from tests.testbed.world import World, batch

Edits = Callable[[World, Random], Iterator[Batch]]


def route_edited(of: World, chance: Random) -> Iterator[Batch]:
    """Sets another response header on one route of one included HTTPProxy."""
    for number in _numbers():
        yield batch(of.child(chance.randrange(of.hosts), header=str(number)))


def endpoints_changed(of: World, chance: Random) -> Iterator[Batch]:
    """Gives a Service another endpoint."""
    for number in _numbers():
        yield batch(of.slice(chance.randrange(of.services), [1024 + number % 60_000]))


def service_edited(of: World, chance: Random) -> Iterator[Batch]:
    """Removes a Service's port, which ten hosts use, and adds it again."""
    for _ in _numbers():
        number = chance.randrange(of.services)
        yield batch(of.service(number, port=81))
        yield batch(of.service(number))


def host_added_and_removed(of: World, _: Random) -> Iterator[Batch]:
    """Adds or removes both HTTPProxies of a host."""
    for number in _numbers():
        documents = of.host(of.hosts + number)
        yield batch(*documents)
        yield batch(gone=documents)


def secret_renewed(of: World, chance: Random) -> Iterator[Batch]:
    """Replaces a certificate; the hosts that use it stay as they are."""
    for number in _numbers():
        yield batch(of.secret(chance.randrange(of.certificates), renewal=number))


def http_route_added(of: World, chance: Random) -> Iterator[Batch]:
    """Adds an HTTPRoute with a host of its own to the Gateway."""
    for number in _numbers():
        yield batch(world.http_route(1_000_000 + number, chance.randrange(of.services)))


BY_NAME: Mapping[str, Edits] = {
    "one HTTPProxy route edited": route_edited,
    "endpoints changed": endpoints_changed,
    "Service edited (10 hosts use it)": service_edited,
    "host added or removed": host_added_and_removed,
    "certificate renewed": secret_renewed,
}


def _numbers() -> Iterator[int]:
    return itertools.count(1)
