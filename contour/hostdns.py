"""Asks the resolver of this machine for Services without EndpointSlices (`dag.hostdns`).

Each is resolved when it is first needed and again every few seconds, since the resolver does not
return a time to live. While a name does not resolve, attempts become rarer and the last addresses
stay.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from contour import lookups
from crds.meta import NamespacedName
from dag import hostdns
from dag.engine.incremental import Engine
from dag.engine.view import Change
from dag.hostdns import Found
from kube import backoff
from kube.workqueue import WorkQueue

Lookup = Callable[[str], Awaitable[tuple[str, ...]]]
"""The IP addresses of a name, sorted; raises OSError if it does not resolve."""

REFRESH = 5.0
"""Seconds between two answers for a name: the time that Envoy takes for its DNS clusters."""
LONGEST_BACKOFF = 30.0
"""Seconds between two attempts that fail."""
AT_ONCE = 16
"""Names that are resolved at a time."""


class Resolver:
    """The Services of one process that are resolved by DNS."""

    def __init__(
        self, engine: Engine, settle: Callable[[], None], lookup: Lookup | None = None
    ) -> None:
        self._engine = engine
        self._settle = settle
        self._lookup = lookup or looked_up
        self._known: dict[NamespacedName, Found | None] = {}
        """What was found for each wanted Service; None: nothing yet."""
        self._failures: dict[NamespacedName, int] = {}
        """Failed attempts in a row."""
        self._queue = WorkQueue[NamespacedName]()
        self._is_running = False
        self._slots = asyncio.Semaphore(AT_ONCE)

    def note(self, change: Change) -> bool:
        """Takes the Services that are to be resolved. Returns whether rows were written. It is
        called while the graph settles."""
        if change.query is not hostdns.wanted:
            return False
        service = change.key
        self._failures.pop(service, None)
        if change.new:
            self._known[service] = None
            if self._is_running:
                self._queue.add(service)
            return False
        return self._known.pop(service, None) is not None and self._write(service, Found())

    async def first(self, patience: float) -> None:
        """Resolves every wanted Service once, before `run`, in at most so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience), asyncio.TaskGroup() as tasks:
                for service in tuple(self._known):
                    tasks.create_task(self._refresh(service))

    async def run(self) -> None:
        """Keeps the addresses up to date, until it is cancelled."""
        self._is_running = True
        for service, found in self._known.items():
            if found is None:
                self._queue.add(service)
        await self._queue.run(self._refresh)

    async def _refresh(self, service: NamespacedName) -> bool:
        if service not in self._known:
            return False
        resolves = await self._look(service)
        if service not in self._known:
            return False
        if resolves:
            self._failures.pop(service, None)
            pause = backoff.jittered(REFRESH)
        else:
            self._failures[service] = failures = self._failures.get(service, 0) + 1
            pause = backoff.delay(failures, REFRESH, LONGEST_BACKOFF)
        self._queue.add(service, pause)
        return False

    async def _look(self, service: NamespacedName) -> bool:
        """Resolves a name once and writes the result. Returns whether the name resolves."""
        names, said = tuple(hostdns.names(service)), ""
        found: tuple[str, ...] = ()
        for name in names:
            try:
                async with self._slots:
                    found = await self._lookup(name)
                break
            except OSError as error:
                said = error.strerror or str(error)
        fault = "" if found else f"{' and '.join(names)} cannot be resolved here: {said}"
        self._take(service, found, fault)
        return bool(found)

    def _take(self, service: NamespacedName, found: tuple[str, ...], fault: str) -> None:
        if service not in self._known:
            return  # it is no longer wanted
        before = self._known[service]
        now = Found(found or (before.addresses if before else ()), fault)
        if now != before:
            self._known[service] = now
            self._write(service, now)
            self._settle()

    def _write(self, service: NamespacedName, found: Found) -> bool:
        self._engine.write(hostdns.ADDRESSES, service, found.addresses or None)
        self._engine.write(hostdns.FAULTS, service, found.fault or None)
        return True


async def looked_up(name: str) -> tuple[str, ...]:
    """The addresses of a name, from the resolver of this machine."""
    try:
        return _by_family(address for _, address in await lookups.addresses(name))
    except UnicodeError as error:
        raise OSError("it is no name of a host") from error


def _by_family(found: Iterable[str]) -> tuple[str, ...]:
    """The IPv4 addresses, else the IPv6 addresses: both lead to the same server, which may listen
    on only one of them."""
    every = sorted({it for it in found if "%" not in it})
    return tuple(it for it in every if ":" not in it) or tuple(every)
