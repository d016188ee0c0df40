"""Generated configurations on a real Envoy, which must accept whatever we accept.

Random objects of every kind, in a world so small that they often affect one another; in some, a
random text is replaced by one that is hard to parse. Each is published, and Envoy must have
answered before the next one. A refusal is a bug of ours, and printed with its seed.
"""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

from contour.events import Batch, Event
from contour.xds.fleet import Fleet
from crds.decode import Decoded, decode
from tests.laws import documents
from tests.testbed import served
from tests.testbed.figures import Figure
from tests.testbed.local import Local
from tests.testbed.measuring import Options, measures
from tests.testbed.world import World

NAME = "generated-configurations"
HOSTILE_SHARE = 0.3
HOSTILE = (
    *("", " ", "%", "100%", "%REQ(x)%", "%%", '"', "'", "\\", "\\1", "]]", "]]--", "\n", "\r\n"),
    *("\t", "\x7f", "\u2028", "é", "A", "*", "*.", ".", "..", "/", "//", "/./", "/../", "/%2F"),
    *("/a?b", "/a#b", "(", "[", "(?=x)", "a{1001}", "(a|b)*", ".*", "^/", "x y", "x:y", ":path"),
    *("host", "Host", "connection", "-1", "0", "1e9", "99999999999", "infinity", "1h", "1ms"),
    *("http://x", "x" * 300, "/" + "p" * 5000, "v" * 5000, "\u0000", "x.com.", "X.COM", "10.0.0.1"),
)


@measures(NAME)
def generated(options: Options) -> Iterator[Figure]:
    """Random objects of every kind, one publication each."""
    number = options.times(20_000, 1_000)
    published, refused = asyncio.run(_run(number, options))
    yield Figure("configurations generated", number, "")
    yield Figure("of these accepted by us and published", published, "")
    yield Figure("refused by Envoy", refused, "", 0)


async def _run(number: int, options: Options) -> tuple[int, int]:
    chance, published = options.random(NAME), 0
    async with served.serving(Local, World(0, 1), ()) as site:
        fleet = site.control.fleet
        for configuration in range(number):
            found = decode(_document(chance))
            if not isinstance(found, Decoded) or found.object is None:
                continue
            gone = chance.random() < 0.2
            event = Event(found.kind, found.key, None if gone else found.object)
            before = refusals(fleet)
            site.control.instance.take(Batch((event,), {}))
            await answered(fleet)
            published += 1
            if refusals(fleet) > before:
                options.note(NAME, configuration=configuration, object=repr(found.object))
    return published, refusals(fleet)


async def answered(fleet: Fleet) -> None:
    """Waits until Envoy has accepted or refused everything that it was sent."""
    async with asyncio.timeout(30):
        while not fleet.acceptance.is_settled:
            await asyncio.sleep(0.0005)


def refusals(fleet: Fleet) -> int:
    """How many responses its Envoys have refused."""
    return sum(count for (what, _), count in fleet.counts.items() if what == "refused")


def _document(chance: Random) -> dict[str, Any]:
    made = documents.document(chance)
    if chance.random() < HOSTILE_SHARE:
        spoil(chance, made)
    return made


def spoil(chance: Random, document: dict[str, Any]) -> None:
    """Replaces a text of a document, if it has any."""
    places = list(_texts(document.get("spec", {})))
    if places:
        place, key = chance.choice(places)
        place[key] = chance.choice(HOSTILE)


def _texts(value: Any) -> Iterator[tuple[Any, Any]]:
    """The place of every text in a document."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, it in list(pairs):
        if isinstance(it, str):
            yield value, key
        elif isinstance(it, dict | list):
            yield from _texts(it)
