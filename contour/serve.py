"""The page that wires the whole: event → write → settle → publish.

A provider yields batches of events. Each event becomes a row; the graph settles; what changed
goes to the fleets as parts of xDS resources, and to the board as statuses. Everything else in
this package is one of these steps, and none of them knows another.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

from contour import intake
from contour.envoy import outputs
from contour.events import Batch
from contour.status.board import Board, Remark
from contour.verdicts import Verdicts
from contour.xds import resources
from crds.meta import ObjectRef
from dag import listeners, nodes, plan, ports, settings, tables
from dag.incremental import Engine
from dag.listeners import DEFAULT_FLEET
from dag.view import Change

Publish = Callable[[str, Iterable[resources.Change]], None]
"""Takes the changed parts of a fleet."""

_STATUS_KINDS = {query: kind for kind, query in plan.STATUSES.items()}


class Controller:
    """The core between a provider and the fleets."""

    def __init__(self, publish: Publish) -> None:
        self.engine = Engine(plan.PLAN + outputs.PLAN)
        self.board = Board()
        self._publish = publish
        self.engine.write(tables.FLEETS, DEFAULT_FLEET, True)

    def bind(self, host_ports: ports.HostPorts) -> None:
        """Serves one machine: ports are bound as this says, not as in a pod."""
        self.engine.write(tables.HOST_PORTS, (), host_ports)

    def name(self, controller_name: str) -> None:
        """Serves the GatewayClasses of this controller, whatever the configuration says."""
        self.engine.write(tables.CONTROLLER_NAMES, (), controller_name)

    def hear(
        self,
        fleet: str,
        settle_soon: Callable[[], None],
        is_accepted: Callable[[resources.Name], bool] = lambda _: True,
    ) -> Verdicts:
        """Who is to be told what the Envoys of a fleet say, so that statuses tell it too."""
        return Verdicts(fleet, self.engine, settle_soon, is_accepted)

    def take(self, batch: Batch) -> None:
        """One step: everything in the batch is written before anything is published."""
        for kind, key, found in batch.events:
            fault = intake.write(self.engine, kind, key, found)
            subject = ObjectRef(kind.kind, *key)
            self.board.remark(subject, "intake", (Remark("error", fault),) if fault else ())
        for place, complaints in batch.complaints.items():
            if isinstance(place, ObjectRef):
                remarks = tuple(Remark(it.severity, str(it)) for it in complaints)
                self.board.remark(place, "document", remarks)
        self.settle()

    def listeners(self) -> tuple[nodes.Listener, ...]:
        """The listeners of the default fleet."""
        return self.engine.answer(listeners.listeners, DEFAULT_FLEET) or ()

    def settle(self) -> None:
        """Brings every answer up to date and tells those concerned what changed."""
        parts: defaultdict[str, list[resources.Change]] = defaultdict(list)
        for change in self.engine.settle():
            self._tell(change)
            for fleet, part in outputs.changes(change):
                parts[fleet].append(part)
        for fleet, changed in parts.items():
            self._publish(fleet, changed)
        if parts:
            self._fix_routing()

    def _fix_routing(self) -> None:
        """From the first publication on: another way to cut hosts would drain every listener."""
        self.engine.write(tables.ROUTING, (), self.engine.answer(settings.routing, ()))

    def _tell(self, change: Change) -> None:
        kind = _STATUS_KINDS.get(change.query)
        if kind is not None:
            self.board.put(ObjectRef(kind, *change.key), change.new)
