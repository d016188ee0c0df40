"""The page that wires the whole: event → write → settle → publish.

A provider yields batches of events. Each event becomes a row; the graph settles; what changed
goes to the fleets as parts of xDS resources, and to the board as statuses. Everything else in
this package is one of these steps, and none of them knows another.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from contour import aging, intake
from contour.audit import Turned
from contour.complaints import Complaint
from contour.envoy import outputs
from contour.envoyreports import FleetReports, PublishedState
from contour.events import Batch, Event
from contour.status.board import Board, Remark
from contour.xds import resources
from crds.contourconfiguration import ContourConfiguration, ContourConfigurationSpec
from crds.kinds import KINDS
from crds.meta import NamespacedName, ObjectRef
from dag import fleets, listeners, nodes, plan, ports, refusals, statuses, tables
from dag.configuration import reading, settings
from dag.engine.incremental import Engine
from dag.engine.view import Change
from dag.fleets import Fleet, Trouble
from dag.gateway import addresses, statusoverflow
from dag.listeners import DEFAULT_FLEET
from dag.warnings import anykind, validity

Publish = Callable[[str, Iterable[resources.Change]], None]
"""Takes the changed parts of a fleet."""

Tell = Callable[[Collection[ObjectRef]], None]
"""Takes the objects of which something else may have to be told now."""

Refit = Callable[[], None]
"""Is called when there are to be other fleets than before."""

Note = Callable[[Collection[Turned]], None]
"""Takes what objects use of other namespaces, where that has changed."""

_STATUS_KINDS = {query: kind for kind, query in plan.STATUSES.items()}
_CROSSING_KINDS = {query: kind for kind, query in plan.CROSSINGS.items()}


def _nobody(_: Collection[ObjectRef]) -> None:
    """There is no cluster to write statuses to."""


def _no_audit(_: Collection[Turned]) -> None:
    """Nobody has to account for anything."""


def _not_at_all() -> None:
    """Nobody makes fleets here."""


class Controller:
    """The core between a provider and the fleets."""

    def __init__(
        self,
        publish: Publish,
        tell: Tell | None = None,
        refit: Refit | None = None,
        now: aging.Clock = aging.utc,
    ) -> None:
        self.engine = Engine(plan.PLAN + outputs.PLAN)
        self.board = Board()
        self._publish = publish
        self._tell = tell or _nobody
        self._refit = refit or _not_at_all
        self.audit: Note = _no_audit
        self.fleets: dict[str, Fleet] = {}
        """The fleets that there are to be, by name."""
        self._aging = aging.Aging(partial(self.engine.write, validity.PHASES), now)
        self._waiting: list[Event] | None = []
        self._concerned: set[ObjectRef] = set()
        self._has_aged = False

    def bind(self, host_ports: ports.HostPorts) -> None:
        """Serves one machine: ports are bound as this says, not as in a pod."""
        self.engine.write(tables.HOST_PORTS, (), host_ports)

    def assume_acceptance(self) -> None:
        """Serves nobody: statuses say that no Envoy was asked."""
        self.engine.write(tables.ACCEPTANCE_ASSUMED, (), True)

    def name(self, controller_name: str) -> None:
        """Serves the GatewayClasses of this controller, whatever the configuration says."""
        self.engine.write(tables.CONTROLLER_NAMES, (), controller_name)

    def follow(self, name: NamespacedName) -> None:
        """Serves a cluster as this ContourConfiguration says; no other one counts."""
        self.engine.write(tables.CONFIGURATION_NAME, (), name)
        self.engine.write(tables.LOOPBACK_REFUSED, (), True)

    @property
    def is_configured(self) -> bool:
        """The ContourConfiguration that is followed has been there, without an error.

        Until then nothing is served, and no status is told but that of the configuration.
        """
        return self._waiting is None

    def hear(
        self,
        fleet: str,
        settle_soon: Callable[[], None],
        is_accepted: Callable[[resources.Name], bool] = lambda _: True,
        published: PublishedState | None = None,
    ) -> FleetReports:
        """Who is to be told what the Envoys of a fleet say, so that statuses tell it too."""
        return FleetReports(fleet, self.engine, settle_soon, is_accepted, published)

    def complain(self, faults: tuple[str, ...]) -> None:
        """What the configuration asks of the process and could not be done; its status tells it."""
        self.engine.write(tables.PROCESS_FAULTS, (), faults or None)
        self.settle()

    def trouble(self, fleet: str, found: tuple[Trouble, ...]) -> None:
        """What is not as it should be with a fleet; statuses tell it."""
        self.engine.write(fleets.TROUBLES, fleet, found or None)
        self.settle()

    def locate(self, fleet: str, found: tuple[statuses.Address, ...] | None) -> None:
        """Where clients reach a fleet; None: it is gone, or nobody would know."""
        self.engine.write(addresses.ASSIGNED, fleet, found)
        self.settle()

    def untold(self, subject: ObjectRef, gateways: tuple[NamespacedName, ...]) -> None:
        """An object's status has no room for what is said in the names of these Gateways; their
        own statuses tell it."""
        if gateways != (self.engine.row(statusoverflow.UNTOLD, subject) or ()):
            self.engine.write(statusoverflow.UNTOLD, subject, gateways or None)
            self.settle()

    def generation(self, subject: ObjectRef) -> int | None:
        """The version of an object that has been judged; None if there is no such object."""
        table = tables.BY_KIND.get(subject.kind)
        found = table and self.engine.row(table, subject.key)
        return found.metadata.generation if found else None

    def subjects(self) -> list[ObjectRef]:
        """Every object that may have a status of ours."""
        kinds = [it for it in KINDS.values() if it.has_status and it.kind in tables.BY_KIND]
        return [
            ObjectRef(kind.kind, *key)
            for kind in kinds
            for key, _ in self.engine.rows(tables.BY_KIND[kind.kind])
        ]

    @property
    def controller_name(self) -> str:
        """Whose GatewayClasses are ours; nobody's, if empty."""
        return self.engine.answer(settings.controller_name, ()) or ""

    @property
    def configuration(self) -> ContourConfigurationSpec:
        """What the ContourConfiguration says that holds; if there is none, nothing."""
        found = self.engine.answer(settings.chosen_configuration, ())
        return found.spec if found else ContourConfigurationSpec()

    def take(self, batch: Batch) -> None:
        """One step: everything in the batch is written before anything is published."""
        configurations, others = _parted(batch.events)
        self._write(configurations)
        if self._waiting is not None:
            self._waiting += others
            others = self._awaited()
        self._write(others)
        for place, complaints in batch.complaints.items():
            if isinstance(place, ObjectRef):
                remarks = tuple(Remark(it.severity, str(it)) for it in complaints)
                self._remark(place, "document", remarks)
                self._note_unknown(place, complaints)
        self.settle()

    def _write(self, events: Iterable[Event]) -> None:
        for kind, key, found in events:
            fault = intake.write(self.engine, kind, key, found)
            remark, subject = [Remark("error", fault)] if fault else [], ObjectRef(kind.kind, *key)
            self._remark(subject, "intake", tuple(remark))
            if kind.has_status:
                self._concerned.add(subject)

    def _awaited(self) -> list[Event]:
        """Everything that has waited for a configuration, once there is one."""
        if self._waiting is None or not self._has_configuration():
            return []
        events, self._waiting = self._waiting, None
        self.engine.write(tables.FLEETS, DEFAULT_FLEET, True)
        return events

    def _has_configuration(self) -> bool:
        name = self.engine.row(tables.CONFIGURATION_NAME, ())
        found = name and self.engine.row(tables.CONFIGURATIONS, name)
        return name is None or (found is not None and not reading.resolved(found)[1])

    def _remark(self, subject: ObjectRef, source: str, remarks: tuple[Remark, ...]) -> None:
        self.board.remark(subject, source, remarks)
        faults = self.board.faults(subject)
        self.engine.write(refusals.NOT_TAKEN, subject, "; ".join(faults) or None)

    def _note_unknown(self, subject: ObjectRef, complaints: Iterable[Complaint]) -> None:
        """What was left out of an object, for its status; in whatever order the document has it."""
        warnings = (it for it in complaints if it.severity == "warning")
        found = {": ".join(filter(None, (it.field, it.message))) for it in warnings}
        self.engine.write(anykind.UNKNOWN_FIELDS, subject, tuple(sorted(found)) or None)

    def listeners(self) -> tuple[nodes.Listener, ...]:
        """The listeners of the default fleet."""
        return self.engine.answer(listeners.listeners, DEFAULT_FLEET) or ()

    def settle(self) -> None:
        """Brings every answer up to date and tells those concerned what changed."""
        parts: defaultdict[str, list[resources.Change]] = defaultdict(list)
        refits = False
        turned: list[Turned] = []
        for change in self._settled():
            self._note(change)
            if (kind := _CROSSING_KINDS.get(change.query)) is not None:
                who = ObjectRef(kind, *change.key)
                turned.append(Turned(who, change.old or (), change.new or ()))
            refits = refits or change.query is fleets.fleet
            for fleet, part in outputs.changes(change):
                parts[fleet].append(part)
        for fleet, changed in parts.items():
            self._publish(fleet, changed)
        if parts:
            self._fix_routing()
        if refits:
            self._refit()
        if turned:
            self.audit(turned)
        concerned, self._concerned = self._concerned, set()
        if concerned:
            self._tell(concerned)

    def _settled(self) -> Iterator[Change]:
        """All that changes; certificates that are used for the first time may be old already."""
        yield from self.engine.settle()
        while self._has_aged:
            self._has_aged = False
            yield from self.engine.settle()

    async def age(self) -> None:
        """Tells what time does to certificates, for ever."""
        while True:
            await asyncio.sleep(self._aging.pause)
            self.look_at_the_clock()

    def look_at_the_clock(self) -> None:
        """Tells of certificates what has become true since the last look."""
        if self._aging.turn():
            self.settle()

    def _fix_routing(self) -> None:
        """From the first publication on: another way to cut hosts would drain every listener."""
        self.engine.write(tables.ROUTING, (), self.engine.answer(settings.routing, ()))

    def _note(self, change: Change) -> None:
        if change.query is fleets.fleet:
            self._refleet(change.key, change.new)
        if change.query is validity.validity:
            self._has_aged |= self._aging.note(change.key, change.new)
        kind = _STATUS_KINDS.get(change.query)
        if kind is not None:
            subject = ObjectRef(kind, *change.key)
            self.board.put(subject, change.new)
            self._concerned.add(subject)

    def _refleet(self, name: str, found: Fleet | None) -> None:
        if found is not None:
            self.fleets[name] = found
            return
        self.fleets.pop(name, None)
        # Another one of that name is to begin without what was known of this one.
        self.engine.write(addresses.ASSIGNED, name, None)
        self.engine.write(fleets.TROUBLES, name, None)


def _parted(events: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """ContourConfigurations, and everything else: what it means depends on them."""
    configurations: list[Event] = []
    others: list[Event] = []
    for event in events:
        is_one = event.kind.model is ContourConfiguration
        (configurations if is_one else others).append(event)
    return configurations, others
