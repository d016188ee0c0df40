"""A running instance: the controller, the xDS server that it feeds, and the reports of Envoys.

`contour run` and `contour serve` have it in common. A fleet is created when it is first mentioned.
Answers of its Envoys that arrive together are settled together.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from contour import turns
from contour.answers import explained, shown
from contour.answers.analyzed import ShownFinding
from contour.answers.explained import Explained
from contour.complaints import Locate, Place
from contour.controller import Controller, Notify, OnFleetsChanged
from contour.envoy import outputs, releases
from contour.envoyreports import FleetReports
from contour.events import Batch
from contour.extensioncalls.answers import Answers
from contour.extensioncalls.asker import Asker
from contour.extensioncalls.lasting import FILE, Lasting
from contour.inspection.analysis import Analyzer
from contour.inspection.explaining import Explainer
from contour.inspection.server import Question, Walk, fragment
from contour.keysets.keeper import Keeper, Store
from contour.rawconfig.nodereports import NodeReports
from contour.rawconfig.snapshot import Snapshot
from contour.status import listing, rows
from contour.xds import resources, view
from contour.xds.fleet import Fleet
from contour.xds.identities import NodeIdentity
from contour.xds.server import Server
from crds.meta import ObjectRef
from dag import exports, ratelimitclient
from dag.fleetnames import DEFAULT_FLEET
from dag.rawconfig.claims import NodeKey
from dag.references import keysets
from provisioning import identities

log = logging.getLogger(__name__)

_PATIENCE = 3.0
"""Seconds that a start may wait for servers of key sets, so that a restart does not close guarded
routes for a moment."""

_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING}


def _nobody(_: FleetReports, is_there: bool) -> None:
    """Ignores what the Envoys of a fleet report."""


def _silence(_: NodeReports, is_there: bool) -> None:
    """Ignores what the Envoys of a node ID report."""


def _nowhere(_: ObjectRef, __: str) -> Place | None:
    """The place of no field is known."""


@dataclass(slots=True, eq=False)
class Instance:
    """Must be made where an event loop runs."""

    server: Server
    tell: Notify | None = None
    """Is called with the objects whose status may have to change."""
    on_fleet_reports: Callable[[FleetReports, bool], None] = _nobody
    """Is called with the reports of a fleet when they are created (True) and removed (False)."""
    on_fleets_changed: OnFleetsChanged | None = None
    """Is called when the wanted fleets have changed."""
    on_node_reports: Callable[[NodeReports, bool], None] = _silence
    """Is called with the reports of a node ID when they are created (True) and removed (False)."""
    logs_complaints: bool = True
    """Whether complaints of providers are logged here; otherwise they are shown elsewhere."""
    gives_hints: bool = False
    """Whether statuses may suggest names of other objects (`dag.hints`)."""
    locator: Callable[[], Locate] = lambda: _nowhere
    """Makes, for each listing, a function that locates the fields of objects in files."""
    answers: Path | None = None
    """The file with the replies of extensions, beside which last good states are stored; None:
    none."""
    store: Store | None = None
    """Stores key sets from one run to the next."""
    controller: Controller = field(init=False)
    key_sets: Keeper = field(init=False)
    asker: Asker = field(init=False)
    """Asks extensions; `begin` it before any Envoy is served, and `run` it."""
    fleet_reports: dict[str, FleetReports] = field(default_factory=dict)
    """What the Envoys of fleets report."""
    node_reports: dict[NodeKey, NodeReports] = field(default_factory=dict)
    """What the Envoys of node IDs report."""
    _unwanted: set[str] = field(default_factory=set)
    """The fleets that were not wanted when the wanted ones changed last."""
    _settling: asyncio.Handle | None = None

    def __post_init__(self) -> None:
        self.controller = Controller(
            self._publish,
            self.tell,
            self._fleets_changed,
            publish_node=self._publish_node,
            gives_hints=self.gives_hints,
        )
        controller = self.controller
        lasting = Lasting(self.answers and self.answers.with_name(FILE))
        answers = Answers(self.answers)
        self.asker = Asker(controller.engine, controller.settle, answers, lasting=lasting)
        controller.hook_rows.questioner = self.asker
        controller.hook_rows.outlast(lasting)
        write = partial(keysets.write, self.controller.engine)
        self.key_sets = Keeper(write, self.controller.settle, self.store)
        self.controller.on_key_set = self.key_sets.note
        self._fleet(DEFAULT_FLEET)

    def take(self, batch: Batch) -> None:
        """One step of the loop; new complaints of the provider are logged."""
        self._log(batch)
        self.controller.take(batch)

    async def fetch(self) -> None:
        """Waits for the first answers of servers of key sets, for at most `_PATIENCE`."""
        await self.key_sets.first(_PATIENCE)
        self.controller.settle()

    async def build(self, batch: Batch) -> None:
        """Takes a first batch, before any Envoy is served; other tasks run in between."""
        self._log(batch)
        await turns.take(self.controller.building(batch))

    def _log(self, batch: Batch) -> None:
        for folder in batch.healed:
            log.info("%s: can be listed again", folder)
        for complaint in batch.fresh if self.logs_complaints else ():
            log.log(_LEVELS[complaint.severity], "%s", complaint)

    def walks(self) -> dict[str, Walk]:
        """Listings that are made step by step, by name."""
        return {
            "status": lambda: self._rows(every=False),
            "objects": lambda: self._rows(every=True),
            "findings": self._findings,
            "config": self._config,
        }

    def _findings(self) -> Iterator[ShownFinding | None]:
        controller = self.controller
        return Analyzer(controller.engine, controller.board, self.locator()).steps()

    def _config(self) -> Iterator[dict[str, object] | None]:
        for it in tuple(self._fleets()):
            yield from view.steps(it, fragment)

    def questions(self) -> dict[str, Question]:
        """Questions that the instance answers, by name."""
        return {"explain": self._explained}

    def _explained(self, question: str) -> Explained:
        controller = self.controller
        explainer = Explainer(controller.engine, controller.board, self.locator())
        fleet, request = explained.read(question)
        return explainer.explained(fleet, request)

    def _rows(self, *, every: bool) -> Iterator[shown.Row | None]:
        locate = self.locator()
        for it in listing.steps(self.controller.board, self.controller.engine, every=every):
            yield rows.plain(it.located(locate)) if it is not None else None

    def _publish(self, fleet: str, changes: Iterable[resources.Change]) -> None:
        self._fleet(fleet).publish(changes)

    def _fleets(self) -> Iterator[Fleet]:
        yield from self.server.fleets.values()
        yield from self.server.by_node.values()

    def _publish_node(
        self, key: NodeKey, found: Snapshot | None, changes: Iterable[resources.Change]
    ) -> None:
        identity = NodeIdentity(*key)
        if found is None:
            self.server.remove_node(identity)
            gone = self.node_reports.pop(key)
            gone.forget()
            self.on_node_reports(gone, False)
            return
        fleet = self.server.fleet_of_node(identity)
        if key not in self.node_reports:
            engine, settle_soon = self.controller.engine, self._settle_soon
            fleet.observer = self.node_reports[key] = NodeReports(key, fleet, engine, settle_soon)
            self.on_node_reports(self.node_reports[key], True)
        fleet.publish_edition(found.edition, changes)

    def _fleet(self, name: str) -> Fleet:
        found = self.server.fleets.get(name)
        if found is None:
            found = self.server.fleet(name)
            found.quarantine.stand_in = outputs.stand_in
            found.built_for = releases.BUILT_FOR
            found.is_by_name = name == exports.FLEET
            if name == ratelimitclient.FLEET:
                found.uri, found.counted = identities.RATE_LIMIT_SERVICE, resources.RATE_LIMITS
            found.observer = self._reports(found)
        return found

    def _fleets_changed(self) -> None:
        self._remove_fleets()
        if self.on_fleets_changed is not None:
            self.on_fleets_changed()

    def _remove_fleets(self) -> None:
        """Removes the fleets that were not wanted at the last change either, and have no Envoys. An
        Envoy that ends with its Gateway has had the time to leave, or keeps the fleet."""
        kept = {*self.controller.fleets, DEFAULT_FLEET, exports.FLEET, ratelimitclient.FLEET}
        unwanted = self.server.fleets.keys() - kept
        for name in unwanted & self._unwanted:
            fleet = self.server.fleets[name]
            if not fleet.envoys and not fleet.is_shut:
                self.server.remove(name)
                gone = self.fleet_reports.pop(name)
                self.on_fleet_reports(gone, False)  # it may keep what other replicas report
                gone.forget()
        self._unwanted = unwanted

    def _reports(self, fleet: Fleet) -> FleetReports:
        def is_accepted(name: resources.Name) -> bool:
            return not fleet.acceptance.is_pending(name)

        reports = self.controller.attach_observer(
            fleet.name, self._settle_soon, is_accepted, fleet.acceptance
        )
        self.fleet_reports[fleet.name] = reports
        self.on_fleet_reports(reports, True)
        return reports

    def _settle_soon(self) -> None:
        if self._settling is None:
            self._settling = asyncio.get_running_loop().call_soon(self._settle)

    def _settle(self) -> None:
        self._settling = None
        self.controller.settle()
