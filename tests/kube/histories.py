"""Random histories of a collection on an API server that does everything wrong: F01-F10 at once.

What is told must equal what is there once the faults are over, and nothing may be said to be gone
that was never there (`Followed` would raise). A history is made from its seed alone, save for how
its steps and the answers of the server fall together in time.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from kube.reflector import Timings
from tests.cluster.double import refusals
from tests.cluster.double.faults import Request, Rule
from tests.cluster.double.resources import Name
from tests.cluster.double.server import Double
from tests.cluster.double.store import Change
from tests.cluster.double.watches import line
from tests.kube.followed import Followed, following, service

# Short timeouts too: what the double accepts while it is stopped, it never answers.
HASTE = Timings(
    first_pause=0.001, longest_pause=0.004, idle=0.05, calm=60.0, absent=0.01, denied=0.005,
    grace=0.0, page=3, listing=0.5, check=0.5,
)  # fmt: skip
SERVICES = Name("", "services")
NAMES = ("a", "b", "c", "d", "e", "f", "g")
STEPS = 25

State = dict[tuple[str, str], str]


class DivergenceError(AssertionError):
    """What was told is not what is there."""


async def histories(count: int, seed: int) -> Mapping[str, int]:
    """Lives through so many of them; how often each step was taken. Raises DivergenceError."""
    taken = dict.fromkeys((step.__name__.strip("_") for step in _STEPS), 0)
    for number in range(seed, seed + count):
        for name in await history(number):
            taken[name] += 1
    return taken


async def history(seed: int) -> list[str]:
    """One of them; the steps it took."""
    chance = random.Random(seed)
    taken = []
    async with Double() as double, following(double, timings=HASTE) as followed:
        for _ in range(STEPS):
            step = chance.choices(_STEPS, [_WEIGHTS.get(it, 1) for it in _STEPS])[0]
            taken.append(step.__name__.strip("_"))
            await step(double, chance)
            for _ in range(chance.choice((0, 0, 1, 5, 50))):
                await asyncio.sleep(0)
        double.script.heal()
        for watch in double.watches:
            watch.resume()
        # An event that was held back is told no later than the one behind it.
        double.put(service("last"))
        await _agree(seed, double, followed)
    return taken


async def _agree(seed: int, double: Double, followed: Followed) -> None:
    def there() -> State:
        return {place: _version(it) for place, it in double.store.all(SERVICES)}

    def told() -> State:
        return {(key[0], key[1]): _version(it) for key, it in followed.objects.items()}

    try:
        await followed.until(lambda: told() == there())
    except TimeoutError:
        raise DivergenceError(f"seed {seed}: told {told()}, but there is {there()}") from None


def _version(found: Mapping[str, Any]) -> str:
    """With the content: in another history the same version is that of another one."""
    return f"{found['metadata']['resourceVersion']}: {found['spec']['ports'][0]['port']}"


async def _write(double: Double, chance: random.Random) -> None:
    double.put(service(chance.choice(NAMES), chance.randint(1, 65535)))


async def _remove(double: Double, chance: random.Random) -> None:
    found = double.store.all(SERVICES)
    if found:
        double.remove(chance.choice(found)[1])


async def _write_elsewhere(double: Double, _: random.Random) -> None:
    double.add_namespace("elsewhere")


async def _replace_all(double: Double, chance: random.Random) -> None:
    for _, found in double.store.all(SERVICES):
        double.remove(found)
    for name in chance.sample(NAMES, 3):
        double.put(service(name))


async def _compact(double: Double, _: random.Random) -> None:
    double.store.compact()


async def _cut(double: Double, _: random.Random) -> None:
    for watch in double.watches:
        watch.abort()


async def _stall(double: Double, _: random.Random) -> None:
    for watch in double.watches:
        watch.stall()


async def _bookmark(double: Double, _: random.Random) -> None:
    """Only of what has been told: a server that says more than it told would be lying."""
    for watch in double.watches:
        if not double.store.since(SERVICES, watch._told):
            with suppress(ConnectionError):
                await watch.bookmark()


async def _nonsense(double: Double, chance: random.Random) -> None:
    said = chance.choice(
        (
            b"garbage\n",
            b'{"type":"ADDED","object":{"metadata"',
            b'{"type":"ADDED"}\n',
            line("ERROR", refusals.status(500, "leader changed")),
            line("ERROR", refusals.expired("too old resource version").status),
        )
    )
    for watch in double.watches:
        with suppress(ConnectionError):
            await watch.send(said)
        watch.abort()


async def _refuse(double: Double, chance: random.Random) -> None:
    status, verb = (
        chance.choice((401, 403, 404, 429, 500, 503)),
        chance.choice(("", "list", "watch")),
    )
    double.script.add(Rule(verb, "services", status=status, times=chance.randint(1, 3)))


async def _drop(double: Double, chance: random.Random) -> None:
    double.script.add(Rule("", "services", drop=True, times=chance.randint(1, 3)))


async def _expire_pages(double: Double, chance: random.Random) -> None:
    def is_late(request: Request) -> bool:
        return "continue" in request.query

    double.script.add(Rule("list", "services", is_late, 410, times=chance.randint(1, 3)))


async def _tamper(double: Double, chance: random.Random) -> None:
    ways: tuple[Callable[[list[Change]], list[Change]], ...] = (
        lambda told: told[::-1],
        lambda told: [*told, *told],
        lambda told: chance.sample(told, len(told)),
    )
    double.script.tampering["services"] = chance.choice(ways)


async def _restart(double: Double, chance: random.Random) -> None:
    await double.stop()
    for _ in range(chance.randint(0, 3)):
        await _write(double, chance)
    await double.start()


async def _restore(double: Double, chance: random.Random) -> None:
    """What is written before the server was asked again could make up for what it has lost."""
    backup = double.store.snapshot()
    for _ in range(chance.randint(1, 3)):
        await chance.choice((_write, _remove))(double, chance)
    for _ in range(chance.choice((0, 5, 50))):
        await asyncio.sleep(0)
    await double.stop()
    double.store = backup
    double.script.heal()
    before = _meetings(double)
    await double.start()
    while _meetings(double) == before:
        await double.news()


def _meetings(double: Double) -> int:
    """How often somebody has known what the server knows: a list of one object comes before."""
    return sum(
        it.verb == "watch" or (it.verb == "list" and it.query.get("limit") != "1")
        for it in double.requests
    )


_STEPS = (
    _write, _remove, _write_elsewhere, _replace_all, _compact, _cut, _stall, _bookmark, _nonsense,
    _refuse, _drop, _expire_pages, _tamper, _restart, _restore,
)  # fmt: skip
_WEIGHTS = {_write: 8, _remove: 4, _restart: 0.5, _restore: 0.5, _stall: 0.5}
