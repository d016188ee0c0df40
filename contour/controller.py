"""The controller, which connects all steps: event → write → settle → publish.

A provider yields batches of events. Each event becomes a row; the graph settles; what changed
goes to the fleets as parts of xDS resources, and to the board as statuses. Everything else in
this package is one of these steps, and none of them knows another.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from contour import aging, intake, routingmode
from contour.audit import CrossingsChange
from contour.complaints import Complaint
from contour.envoy import outputs
from contour.envoyreports import FleetReports, PublishedState, RefusedObjects
from contour.events import Batch, Event
from contour.extensioncalls.rows import HookRows
from contour.heldports import HeldPorts
from contour.process import collections_later
from contour.rawconfig import snapshot
from contour.rawconfig.serving import EnvoyConfigs, PublishNode
from contour.status.board import Board, Remark
from contour.xds import resources
from crds.contourconfiguration import ContourConfigurationSpec
from crds.envoyconfig import EnvoyConfig
from crds.kinds import KINDS
from crds.meta import NamespacedName, ObjectRef
from dag import (
    fleets,
    foreignobjects,
    hints,
    listeners,
    localbackends,
    nodes,
    plan,
    ports,
    reached,
    tables,
)
from dag.configuration import reading, settings
from dag.engine.incremental import Engine
from dag.engine.view import Change, Plan
from dag.fleetnames import DEFAULT_FLEET
from dag.fleets import Fleet, FleetProblem
from dag.gateway import addresses, statusoverflow
from dag.references import keysets
from dag.warnings import validity

Publish = Callable[[str, Iterable[resources.Change]], None]
"""Takes the changed parts of a fleet."""

Notify = Callable[[Collection[ObjectRef]], None]
"""Takes the objects whose status may have to change."""

OnFleetsChanged = Callable[[], None]
"""Is called when the set of wanted fleets, or one of them, has changed."""

Audit = Callable[[Collection[CrossingsChange]], None]
"""Takes the references across namespaces that have changed."""

OnKeySet = Callable[[keysets.Source, keysets.Wanted | None], bool]
"""Takes key sets to be fetched; None: no longer. Returns whether it has written a row."""

_PORTION = 500
"""Parts that are published at a time while nobody is served."""

_STATUS_KINDS = {query: kind for kind, query in plan.WITH_SERVICES.items()}
_CROSSING_KINDS = {query: kind for kind, query in plan.CROSSINGS.items()}


def _ignored(*_: object, **__: object) -> None:
    """Does nothing, where there is no consumer."""


def _not_fetched(_: keysets.Source, __: keysets.Wanted | None) -> bool:
    """Does nothing: key sets are not fetched."""
    return False


class Controller:
    """The core between a provider and the fleets."""

    def __init__(
        self,
        publish: Publish | None,
        notify: Notify | None = None,
        on_fleets_changed: OnFleetsChanged | None = None,
        now: aging.Clock = aging.utc,
        publish_node: PublishNode = _ignored,
        *,
        gives_hints: bool = False,
    ) -> None:
        """`publish`: None if the graph is not to be translated for Envoy. `gives_hints`: all
        objects belong to one user, so names may be suggested."""
        named = hints.PLAN if gives_hints else Plan()
        made = outputs.PLAN if publish is not None else reached.PLAN
        self.engine = Engine(plan.PLAN + made + snapshot.PLAN + named)
        self.engine.write(hints.GIVEN, (), gives_hints or None)
        self.engine.write(tables.TRANSLATED, (), publish is not None or None)
        self.envoy_configs = EnvoyConfigs(self.engine, publish_node)
        self.hook_rows = HookRows(self.engine)
        self._held_ports = HeldPorts(self.engine)
        self._refused = RefusedObjects(self.engine)
        rows = (self.envoy_configs, self.hook_rows, self._held_ports)
        self.notes: list[Callable[[Change], bool]] = [it.note for it in rows]
        """Each is called with each change, and returns whether it has written a row."""
        self.board = Board()
        self._publish = publish or _ignored
        self._notify = notify or _ignored
        self._on_fleets_changed = on_fleets_changed or _ignored
        self.audit: Audit = _ignored
        self.check: Callable[[], None] = _ignored
        """Is called between the steps of a batch; if it raises, nothing more is published."""
        self.on_key_set: OnKeySet = _not_fetched
        self.fleets: dict[str, Fleet] = {}
        """The wanted fleets, by name."""
        self._aging = aging.Aging(partial(self.engine.write, validity.PHASES), now)
        self._waiting: list[Event] | None = []
        self._concerned: set[ObjectRef] = set()
        self._has_written = self._is_taking = self._is_owed = False

    def use_host_ports(self, host_ports: ports.HostPorts) -> None:
        """Serves on one machine, with these ports instead of those of a pod."""
        self.engine.write(tables.HOST_PORTS, (), host_ports)

    def use_local_backends(self, backends: localbackends.Backends) -> None:
        """Routes requests for these Services to addresses of this machine."""
        for service, addresses_ in backends.items():
            self.engine.write(localbackends.NAMED, service, addresses_)

    def assume_acceptance(self) -> None:
        """Serves no Envoy; statuses say that acceptance is assumed."""
        self.engine.write(tables.ACCEPTANCE_ASSUMED, (), True)

    def set_controller_name(self, controller_name: str) -> None:
        """Sets the controller name of the served GatewayClasses; overrides the configuration."""
        self.engine.write(tables.CONTROLLER_NAMES, (), controller_name)

    def follow(self, name: NamespacedName, *, in_cluster: bool = True) -> None:
        """Follows this ContourConfiguration alone; nothing is served before it exists."""
        self.engine.write(tables.CONFIGURATION_NAME, (), name)
        self.engine.write(tables.LOOPBACK_REFUSED, (), in_cluster or None)

    @property
    def is_configured(self) -> bool:
        """Whether a valid version of the followed ContourConfiguration has been seen.

        Until then nothing is served, and only the status of the configuration is written.
        """
        return self._waiting is None

    @property
    def is_settled(self) -> bool:
        """Whether the answers include everything that was taken; False during a first build."""
        return self.is_configured and not self._is_taking

    def attach_observer(
        self,
        fleet: str,
        settle_soon: Callable[[], None],
        is_accepted: Callable[[resources.Name], bool] = lambda _: True,
        published: PublishedState | None = None,
    ) -> FleetReports:
        """Observes what the Envoys of a fleet accept and refuse, so that statuses show it."""
        asked_by = outputs.asked_by(fleet)
        served = (is_accepted, published, asked_by)
        return FleetReports(fleet, self._refused, settle_soon, *served)

    def report_process_errors(self, faults: tuple[str, ...]) -> None:
        """Takes the settings that this process could not apply, for the configuration's status."""
        self.engine.write(tables.PROCESS_FAULTS, (), faults or None)
        self.settle()

    def set_fleet_problems(self, fleet: str, found: tuple[FleetProblem, ...]) -> None:
        """Takes what is wrong with the objects of a fleet, for statuses."""
        self.engine.write(fleets.PROBLEMS, fleet, found or None)
        self.settle()

    def set_addresses(
        self, fleet: str, found: addresses.Addresses | None, cluster_ips: addresses.Addresses = ()
    ) -> None:
        """Takes the addresses at which clients reach a fleet; None if it is gone or unknown."""
        self.engine.write(addresses.ASSIGNED, fleet, found)
        self.engine.write(addresses.CLUSTER_IPS, fleet, cluster_ips or None)
        self.settle()

    def set_untold(self, subject: ObjectRef, gateways: tuple[NamespacedName, ...]) -> None:
        """Takes the Gateways for which an object's status has no room; the Gateways' statuses say
        so."""
        if gateways != (self.engine.row(statusoverflow.UNTOLD, subject) or ()):
            self.engine.write(statusoverflow.UNTOLD, subject, gateways or None)
            self.settle()

    def generation(self, subject: ObjectRef) -> int | None:
        """The generation of an object that the graph has judged; None if it has none."""
        table = None if self._is_taking else tables.BY_KIND.get(subject.kind)
        found = table and self.engine.row(table, subject.key)
        return found.metadata.generation if found else None

    def subjects(self) -> list[ObjectRef]:
        """All objects whose status this controller may write."""
        if self._is_taking:
            return []
        kinds = [it.kind for it in KINDS.values() if it.has_status and it.kind in tables.BY_KIND]
        rows = self.engine.rows
        return [ObjectRef(it, *key) for it in kinds for key, _ in rows(tables.BY_KIND[it])]

    @property
    def controller_name(self) -> str:
        """The controller in statuses: that of the served GatewayClasses, if any are served."""
        return settings.controller_in_statuses(self.engine.answer(settings.controller_name, ()))

    @property
    def configuration(self) -> ContourConfigurationSpec:
        """The spec of the ContourConfiguration in force; an empty one if there is none."""
        found = self.engine.answer(settings.chosen_configuration, ())
        return found.spec if found else ContourConfigurationSpec()

    def take(self, batch: Batch) -> None:
        """Takes one batch: everything in it is written before anything is published."""
        with collections_later():
            for _ in self._taking(batch):
                self.check()

    def building(self, batch: Batch) -> Iterator[None]:
        """Takes a first batch in small steps, so that other tasks can run between them. No Envoy
        may be served before the end, because parts are published in portions. Other changes that
        arrive meanwhile are settled with it."""
        return self._taking(batch, portion=_PORTION)

    def _taking(self, batch: Batch, portion: int | None = None) -> Iterator[None]:
        self._is_taking = self._is_owed = True
        yield from self._written(batch)
        while self._is_owed:
            self._is_owed = False
            yield from self._settling(portion)
        self._is_taking = False  # only now: if this is cancelled before, nothing may be published
        self._tell_concerned()

    def _written(self, batch: Batch) -> Iterator[None]:
        for kind, is_absent in batch.absent.items():
            self.engine.write(tables.ABSENT, kind, is_absent or None)
        configurations, others = intake.parted(batch.events)
        yield from self._write(configurations)
        if self._waiting is not None:
            self._waiting += others
            others = self._awaited()
        yield from self._write(others)
        for place, complaints in batch.complaints.items():
            if isinstance(place, ObjectRef):
                remarks = tuple(Remark(it.severity, str(it), it) for it in complaints)
                self._remark(place, "document", remarks)
                self._note_unknown(place, complaints)
            else:
                self.board.complain(place, complaints)
        routingmode.note_size(self.engine)

    def _write(self, events: Iterable[Event]) -> Iterator[None]:
        for kind, key, found in events:
            fault = intake.write(self.engine, kind, key, found)
            if kind.model is EnvoyConfig:
                self.envoy_configs.take(key, found)
            subject = ObjectRef(kind.kind, *key)
            self._remark(subject, "intake", (Remark("error", fault),) if fault else ())
            if kind.stand_in is not None:
                row = self.engine.row(tables.BY_KIND[kind.kind], key)
                self.board.note_unread(subject, isinstance(row, kind.stand_in))
            if kind.has_status:
                self._concerned.add(subject)
            yield

    def _awaited(self) -> list[Event]:
        """The events that have waited for a configuration, as soon as there is one."""
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
        self.engine.write(tables.NOT_TAKEN, subject, "; ".join(faults) or None)

    def _note_unknown(self, subject: ObjectRef, complaints: Iterable[Complaint]) -> None:
        """Writes the fields that were left out of an object, sorted, for its status."""
        warnings = (it for it in complaints if it.severity == "warning")
        found = {": ".join(filter(None, (it.field, it.message))) for it in warnings}
        self.engine.write(tables.UNKNOWN_FIELDS, subject, tuple(sorted(found)) or None)

    @property
    def extension_kinds(self) -> tuple[nodes.ForeignKind, ...]:
        """The kinds of objects that the registered extensions bring."""
        return self.engine.answer(foreignobjects.kinds, ()) or ()

    def listeners(self, fleet: str = DEFAULT_FLEET) -> tuple[nodes.Listener, ...]:
        """The listeners of a fleet."""
        return self.engine.answer(listeners.listeners, fleet) or ()

    def settle(self) -> None:
        """Brings every answer up to date, publishes what changed and notifies the status writer."""
        if self._is_taking:
            self._is_owed = True  # is done when the batch has been taken
            return
        with collections_later():
            for _ in self._settling():
                pass
        self._tell_concerned()

    def _settling(self, portion: int | None = None) -> Iterator[None]:
        parts: defaultdict[str, list[resources.Change]] = defaultdict(list)
        refits = False
        crossings: list[CrossingsChange] = []
        if self._waiting is None:
            routingmode.fix(self.engine)
        for change in self._settled():
            yield
            if change is None:
                continue
            self._note(change)
            if (kind := _CROSSING_KINDS.get(change.query)) is not None:
                who = ObjectRef(kind, *change.key)
                crossings.append(CrossingsChange(who, change.old or (), change.new or ()))
            refits = refits or change.query in plan.MADE
            for fleet, part in outputs.changes(change):
                parts[fleet].append(part)
            if outputs.is_opening(change):
                parts[change.key.fleet] += ()
        for fleet, changed in parts.items():
            yield from self._published(fleet, changed, portion or len(changed))
        self.envoy_configs.publish()
        if refits:
            self._on_fleets_changed()
        if crossings:
            self.audit(crossings)

    def _published(
        self, fleet: str, changed: list[resources.Change], portion: int
    ) -> Iterator[None]:
        """Publishes `portion` changes at a time; an empty publication opens a fleet."""
        for start in range(0, max(1, len(changed)), max(1, portion)):
            self._publish(fleet, changed[start : start + portion])
            yield

    def _tell_concerned(self) -> None:
        concerned, self._concerned = self._concerned, set()
        if concerned:
            self._notify(concerned)

    def _settled(self) -> Iterator[Change | None]:
        """All changes. A change may cause rows to be written (a certificate that is used for the
        first time may have expired already), which cause further changes."""
        yield from self.engine.settling()
        while self._has_written:
            self._has_written = False
            self.hook_rows.flush()
            self._held_ports.flush()
            yield from self.engine.settling()

    async def age(self) -> None:
        """Updates the validity of certificates as time passes, until it is cancelled."""
        while True:
            await asyncio.sleep(self._aging.pause)
            self.update_validity()

    def update_validity(self) -> None:
        """Updates the validity of certificates to the present time."""
        if self._aging.update():
            self.settle()

    def _note(self, change: Change) -> None:
        if change.query is fleets.fleet:
            self._update_fleet(change.key, change.new)
        if change.query is validity.validity:
            self._has_written |= self._aging.note(change.key, change.new)
        if change.query is keysets.wanted:
            self._has_written |= self.on_key_set(change.key, change.new)
        for note in self.notes:
            self._has_written |= note(change)
        if (kind := _STATUS_KINDS.get(change.query)) is not None:
            subject = ObjectRef(kind, *change.key)
            self.board.put(subject, change.new)
            self._concerned.add(subject)

    def _update_fleet(self, name: str, found: Fleet | None) -> None:
        if found is not None:
            self.fleets[name] = found
            return
        self.fleets.pop(name, None)
        # A later fleet of that name must not inherit what was known about this one.
        self.engine.write(addresses.ASSIGNED, name, None)
        self.engine.write(addresses.CLUSTER_IPS, name, None)
        self.engine.write(fleets.PROBLEMS, name, None)
