"""Records what happened to objects, as Events (events.k8s.io/v1).

Recording is cheap and never waits. An Event that repeats within a while is counted and not sent
again; its name is made from its content, so another replica, or this one after a restart, continues
the count. Events are best effort: too many at once, of one object or of all, are dropped and
counted, and callers do not notice.
"""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from time import monotonic
from typing import Literal, NamedTuple

from crds.raw import Raw
from kube import backoff, errors
from kube.budgets import Budgets, Rate
from kube.client import Client
from kube.resources import Resource
from kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

EVENTS = Resource("events.k8s.io", "v1", "events")

MOST_WAITING = 1_000
MOST_REMEMBERED = 10_000
OF_ONE = Rate(25, 60.0)
"""The limit of different Events about one object."""
OF_ALL = Rate(1_000, 1.0)
"""The limit of new Events by one process: as they live for an hour, the API server keeps at most
4,600 of them."""
REPEATED_AFTER = 300.0  # seconds: sooner, the same is only counted
PACE = 0.05  # seconds between two requests
LONGEST_PAUSE = 30.0

_LONGEST_NOTE = 1024  # bytes; the API server takes no more
_LONGEST_NAME = 253


class Regarding(NamedTuple):
    """The object that something happened to."""

    api_version: str
    kind: str
    namespace: str
    """Empty for cluster-scoped objects."""
    name: str
    uid: str = ""


class Occurrence(NamedTuple):
    """What happened. Two equal ones are the same Event that happened twice."""

    regarding: Regarding
    type: Literal["Normal", "Warning"]
    reason: str
    """Why, for programs: one word in CamelCase."""
    action: str
    """What was being done, for programs."""
    note: str
    """What happened, for people. Nothing secret: whoever may read Events may read it."""


class Reporter(NamedTuple):
    """The reporting controller."""

    controller: str
    """The name of a program, such as `projectcontour.io/contour`."""
    instance: str
    """Its pod, as a rule."""


class _Told(NamedTuple):
    at: float
    times: int


class Recorder:
    """Sends, in `run`, what is recorded at any time."""

    def __init__(self, client: Client, reporter: Reporter) -> None:
        self.sent = 0
        self.dropped = 0
        self._budgets = Budgets(OF_ONE, OF_ALL)
        self._client = client
        self._reporter = Reporter(reporter.controller, reporter.instance[:128])
        self._queue = WorkQueue[Occurrence]()
        self._times: dict[Occurrence, int] = {}  # of what is in the queue
        self._told: OrderedDict[Occurrence, _Told] = OrderedDict()
        self._failures = 0

    def record(self, found: Occurrence) -> None:
        """Queues an Event. Never waits and never fails."""
        if found in self._times:
            self._times[found] += 1
        elif len(self._times) >= MOST_WAITING or not self._may_be_told(found):
            self.dropped += 1
        else:
            told = self._told.get(found)
            self._times[found] = 1
            self._queue.add(found, told.at + REPEATED_AFTER - _now() if told else 0.0)

    def _may_be_told(self, found: Occurrence) -> bool:
        return self._budgets.spend(found.regarding, monotonic())

    async def run(self) -> None:
        """Sends Events until it is cancelled; unsent ones stay for the next run."""
        while True:
            found = await self._queue.get()
            times, delay = self._times[found], 0.0
            try:
                await self._tell(found, times)
            except errors.RequestError as error:
                await self._failed(found, error)
            else:
                self._failures, self.sent, delay = 0, self.sent + 1, REPEATED_AFTER
                if rest := self._times.pop(found) - times:  # it has happened again meanwhile
                    self._times[found] = rest
            finally:
                if found in self._times:
                    self._queue.add(found, delay)
                self._queue.done(found)
            await asyncio.sleep(PACE)

    async def _tell(self, found: Occurrence, times: int) -> None:
        told = self._told.get(found)
        if told is not None and await self._is_counted(found, told.times + times):
            times += told.times
        else:
            times = await self._create(found, times)
        self._told[found] = _Told(_now(), times)
        self._told.move_to_end(found)
        while len(self._told) > MOST_REMEMBERED:
            self._told.popitem(last=False)

    async def _create(self, found: Occurrence, times: int) -> int:
        """Creates the Event; how often it has happened, with the count of one that exists."""
        body = event(found, self._reporter, _wall_clock())
        collection = EVENTS.path(_namespace(found))
        try:
            await self._client.create(collection, body)
        except errors.Refused as error:
            if error.code != 409:
                raise
            return await self._count_on(found, times)
        if times > 1:
            await self._is_counted(found, times)
        return times

    async def _count_on(self, found: Occurrence, times: int) -> int:
        """Continues the count of an Event by another replica, or by this program before a restart.

        The answer to a patch has the count, so no right to read Events is needed.
        """
        series = {"lastObservedTime": _wall_clock()}
        try:
            before = await self._client.patch(_path(found, self._reporter), {"series": series})
            count = times + max(1, int(before["series"].get("count") or 1))
        except errors.Refused as error:
            if error.code != 422:
                raise
            count = times + 1  # it had happened once, so there was no series yet
        await self._is_counted(found, count)
        return count

    async def _is_counted(self, found: Occurrence, count: int) -> bool:
        """False if the Event has expired."""
        series = {"count": count, "lastObservedTime": _wall_clock()}
        try:
            await self._client.patch(_path(found, self._reporter), {"series": series})
        except errors.Refused as error:
            if error.code != 404:
                raise
            return False
        return True

    async def _failed(self, found: Occurrence, error: errors.RequestError) -> None:
        """Waits if a later attempt may succeed; otherwise drops the Event."""
        if isinstance(error, errors.Refused) and error.code < 500 and error.code != 429:
            self.dropped += 1
            del self._times[found]
            log.warning(
                "the API server refuses an Event about %s: %s", _words(found.regarding), error
            )
            return
        self._failures += 1
        if self._failures == 1:
            log.warning("cannot write Events: %s; retrying", error)
        await self._client.reachability.pause(backoff.delay(self._failures, 0.5, LONGEST_PAUSE))


def event(found: Occurrence, reporter: Reporter, now: str) -> Raw:
    """The Event for the first occurrence."""
    regarding = {
        "apiVersion": found.regarding.api_version,
        "kind": found.regarding.kind,
        "namespace": found.regarding.namespace,
        "name": found.regarding.name,
        "uid": found.regarding.uid,
    }
    return {
        "apiVersion": EVENTS.api_version,
        "kind": "Event",
        "metadata": {"name": _name(found, reporter), "namespace": _namespace(found)},
        "eventTime": now,
        "type": found.type,
        "reason": found.reason[:128],
        "action": found.action[:128],
        "note": _cut(found.note),
        "regarding": _filled(regarding),
        "reportingController": reporter.controller,
        "reportingInstance": reporter.instance,
    }


def _filled(found: Mapping[str, str]) -> dict[str, str]:
    return {field: value for field, value in found.items() if value}


def _cut(note: str) -> str:
    return note.encode()[:_LONGEST_NOTE].decode(errors="ignore")


def _namespace(found: Occurrence) -> str:
    """The namespace of an Event; for cluster-scoped objects the one that the API server demands."""
    return found.regarding.namespace or "default"


def _name(found: Occurrence, reporter: Reporter) -> str:
    said = "\0".join((*found.regarding, *found[1:], reporter.controller))
    digest = hashlib.sha256(said.encode()).hexdigest()[:16]
    return f"{found.regarding.name[: _LONGEST_NAME - 17].rstrip('.-')}.{digest}"


def _path(found: Occurrence, reporter: Reporter) -> str:
    return EVENTS.path(_namespace(found), _name(found, reporter))


def _words(found: Regarding) -> str:
    return f"{found.kind} {found.namespace}/{found.name}"


def _wall_clock() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _now() -> float:
    return asyncio.get_running_loop().time()
