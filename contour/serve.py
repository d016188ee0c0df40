"""`contour serve`: one replica of an instance in a Kubernetes cluster.

Everything is listed, and the ContourConfiguration is there, before the xDS port opens: no Envoy is
ever told less than it has. Every replica serves, only the one that leads writes; what depends on
Envoys waits until the others have told of theirs. Told to stop, it frees the Lease first.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from typing import Any

from contour import audit, currency, observation, process
from contour.envoyreports import FleetReports, reporting
from contour.envoyreports.collector import Collector
from contour.envoyreports.encoding import LeaderStatus
from contour.envoyreports.reporting import Reporter
from contour.events import Batch
from contour.finalizers import finalizers, wanted
from contour.infrastructure.desired import Release
from contour.infrastructure.term import Infrastructure
from contour.instance import Instance
from contour.kubernetes.cluster import Cluster
from contour.kubernetes.scope import Scope
from contour.metrics import graph
from contour.pages import health, listeners
from contour.pages import settings as page_settings
from contour.shedding import Shedding
from contour.status import addresses
from contour.status.addresses import Address
from contour.status.announcements import Announcements
from contour.status.answers import Answers
from contour.status.update import Sources
from contour.status.writer import Writer
from contour.upkeep import Upkeep
from contour.xds import credentials
from contour.xds.limits import Limits
from contour.xds.server import Server
from crds.contourconfiguration import ContourConfigurationSpec
from crds.meta import NamespacedName, ObjectRef
from dag.listeners import DEFAULT_FLEET
from kube import election, events
from kube.client import Client
from kube.credentials import Access
from kube.events import Recorder
from kube.lease import KUBERNETES, Timing
from provisioning import guarded, identities

log = logging.getLogger(__name__)

BUILD = metadata.version("contour-ingress")
_NAME = "projectcontour.io/contour"


@dataclass(frozen=True, slots=True)
class Election:
    """How the replicas agree on which of them writes."""

    lease: election.Place
    timing: Timing = KUBERNETES


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    access: Access
    configuration: NamespacedName
    address: str
    """Where xDS is served: `host:port`."""
    advertised: str
    """The same, as the other replicas reach it."""
    tls: credentials.Files | None
    fleet_service: NamespacedName
    """The Service in front of Envoy, whose name is in the certificates of Envoys."""
    release: Release
    """What the fleets are of that we keep."""
    scope: Scope = field(default_factory=Scope)
    limits: Limits = field(default_factory=Limits)
    """What one peer may take of the xDS port."""
    election: Election | None = None
    """None: there is one replica, which always leads."""
    sites: Mapping[page_settings.Purpose, page_settings.ListenAddress] = field(
        default_factory=lambda: page_settings.USUAL
    )
    """Where the pages are if the configuration does not say it."""

    @property
    def patience(self) -> float:
        """Seconds without an answer of the API server, after which nobody may lead any more: so
        long is what was known trusted."""
        return (self.election.timing if self.election else KUBERNETES).renew_deadline


async def serve(options: Options) -> None:
    """Serves until SIGTERM or SIGINT. Raises `kube.credentials.AccessError` and OSError."""
    stopped = process.stop_signals()
    if options.tls is not None:
        options.tls.stamp()
    async with Client(options.access) as client:
        replica = Replica(client, options)
        async with replica.open():
            await process.until(stopped, replica.activities(), replica.endings())


class Replica:
    """The parts, and what flows between them."""

    def __init__(self, client: Client, options: Options) -> None:
        self.options = options
        self.cluster = Cluster(client, options.scope)
        self.leadership = _leadership(client, options)
        self.collector = Collector(frozenset({identities.CONTROL_PLANE}), BUILD)
        self.reporter = Reporter(self.leadership.identity, BUILD, _credentials(options.tls))
        self.reporter.address, self.reporter.on_leader_status = (
            options.advertised,
            self._on_leader_status,
        )
        service = self.collector.service()
        self.server = Server(
            (options.address,), tls=options.tls, limits=options.limits, services=(service,)
        )
        self.currency = currency.Currency(
            options.patience,
            lambda: client.reach.silence,
            lambda: currency.positions(self.cluster.state()),
            asyncio.get_running_loop().time,
        )
        self.collector.leader_status = self._leader_status
        self.shedding = Shedding(lambda: self.currency.lack, self.server)
        self.reports: list[FleetReports] = []
        self.instance = Instance(self.server, self._concern, self._heard, self._refit)
        self.controller = self.instance.controller
        self.controller.follow(options.configuration)
        self.controller.audit = audit.tell
        self.upkeep = Upkeep(self.controller, self.cluster, options.scope, self._located)
        self.infrastructure: Infrastructure | None = None
        self.answers = Answers(self.controller.board, self.controller.generation)
        self.recorder = Recorder(client, events.Reporter(_NAME, self.leadership.identity))
        self.announcements = Announcements(self.controller.board, self.recorder.record, self._uid)
        self.writer = Writer(
            client, self._sources(), self.controller.subjects, self.announcements.written
        )
        self.finalizers = finalizers.Finalizers(client, self._of_finalizers())
        self.cluster.hear(self._restored)
        self.settlings, self.operations = graph.Settlings(), graph.Operations()
        self.readiness = health.Readiness(
            {
                "cluster": self._unlisted,
                "configuration": self._unconfigured,
                "xds": lambda: "" if self.server.ports else "the xDS port is not open yet",
                "current": lambda: self.currency.lack,
            }
        )
        self._listeners = listeners.Listeners(observation.pages(self))
        self._configured: ContourConfigurationSpec | None = None
        self._campaign: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """The pages are there from the start, so that it can be asked what it waits for."""
        await self._place_pages()
        try:
            yield
        finally:
            await self.server.stop()
            await self._listeners.close()

    def activities(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """Everything that goes on at once, for ever."""
        leaders = reporting.addresses(self.leadership.leaders())
        return (
            self.cluster.run(),
            self._serve(),
            self._compete(),
            self.reporter.follow(leaders),
            self.shedding.run(),
            self.controller.age(),
        )

    def endings(self) -> tuple[process.Step, ...]:
        """How it takes leave: whoever leads next can begin before our Envoys look for another."""
        return (
            process.Step("release of the Lease", self._resign, 2.5),
            process.Step("end of the xDS streams", self.server.stop, 1.5),
        )

    # What happens.

    async def _serve(self) -> None:
        """event → write → settle → publish, for ever; the port opens when there is a whole."""
        with process.without_collections():
            await self._take(await self.cluster.initial())
        if not self.controller.is_configured:
            log.warning("%s", self._unconfigured())
        async for batch in self.cluster.changes():
            await self._take(batch)

    async def _take(self, batch: Batch) -> None:
        self.operations.note(batch, self.controller.engine)
        with (
            self.settlings.timed(),
            nullcontext() if self.server.ports else process.without_collections(),
        ):
            self.instance.take(batch)
        if self.controller.configuration != self._configured:
            await self._configure(self.controller.configuration)
        if self.controller.is_configured and not self.server.ports:
            await self.server.start()
            self.finalizers.notice(self.cluster.subjects(wanted.KINDS))
            log.info("serving xDS on %s", self.options.address)

    async def _configure(self, spec: ContourConfigurationSpec) -> None:
        """What of the configuration concerns the process and not Envoy."""
        self._configured = spec
        await self._place_pages()
        self._locate()

    async def _place_pages(self) -> None:
        spec = self._configured or ContourConfigurationSpec()
        faults = await self._listeners.update(page_settings.sites(spec, self.options.sites))
        for fault in faults:
            log.error("%s", fault)
        self.controller.complain(faults)

    async def _compete(self) -> None:
        self._campaign = asyncio.current_task()
        await self.leadership.run(self._lead)

    async def _resign(self) -> None:
        self.readiness.close()
        if self._campaign is not None:
            self._campaign.cancel()
            await asyncio.wait((self._campaign,))

    async def _lead(self) -> None:
        """One term."""
        self.collector.lead(is_alone=self.options.election is None)
        try:
            async with asyncio.TaskGroup() as tasks:
                for work in (
                    self.writer.run(),
                    self.finalizers.run(),
                    self.recorder.run(),
                    self._keep_fleets(),
                    self._assemble(),
                ):
                    tasks.create_task(work)
        finally:
            # Who led is out of reach of the Lease, perhaps: one of these leads next.
            self.reporter.meet(self.collector.addresses)
            self.collector.resign()

    async def _assemble(self) -> None:
        """What may depend on the Envoys of other replicas waits until those have been heard."""
        await self.collector.assembled()
        self.writer.release()
        await self.announcements.run()

    async def _keep_fleets(self) -> None:
        access, is_leader = self.options.access, self.leadership.is_leader
        try:
            async with guarded.Client(access, "contour", is_leader) as client:
                found = Infrastructure(client, self.options.release, self.upkeep)
                self.infrastructure = found
                await found.run()
        finally:
            self.infrastructure = None

    def _leader_status(self) -> LeaderStatus:
        """What we say to those who report to us."""
        peers = (self.options.advertised, *self.collector.addresses)
        is_leader = self.leadership.is_leader()
        return self.currency.leader_status(is_leader=is_leader, build=BUILD, peers=peers)

    def _on_leader_status(self, found: LeaderStatus | None) -> None:
        is_comparable = found is not None and found.build == BUILD
        self.currency.take(found, is_comparable=is_comparable)

    def _refit(self) -> None:
        """There are to be other fleets than before."""
        if self.infrastructure is not None:
            self.infrastructure.notice()

    def _heard(self, reports: FleetReports) -> None:
        """A fleet is there."""
        fleet = self.server.fleet(reports.fleet)
        fleet.identities = frozenset(self._identities(reports.fleet))
        self.reports.append(reports)
        self.collector.add(reports)
        self.reporter.add(reports)

    def _identities(self, fleet: str) -> tuple[str, ...]:
        """Whose certificates may see a fleet."""
        if fleet == DEFAULT_FLEET:
            namespace, name = self.options.fleet_service
            return identities.fleet(name, namespace)
        namespace, _, name = fleet.partition("/")
        return identities.gateway_fleet(name, namespace)

    def _concern(self, subjects: Collection[ObjectRef]) -> None:
        """Something else is to be told of these, perhaps."""
        self.writer.changed(subjects)
        self.finalizers.notice(subjects)
        self.announcements.notice(subjects)

    def _restored(self, subject: ObjectRef) -> None:
        """The API server has another status of an object than before."""
        if subject == self._service():
            self._locate()
        else:
            self.writer.notice((subject,))
            self.finalizers.notice((subject,))

    def _locate(self) -> None:
        """Where clients reach Envoy may be another place."""
        spec = self._configured or ContourConfigurationSpec()
        configured = spec.ingress.status_address if spec.ingress else None
        known = self.cluster.known(self._service())
        found = addresses.addresses(configured or "", known and known.status)
        found = found or self.upkeep.addresses(DEFAULT_FLEET)
        self.controller.locate(DEFAULT_FLEET, addresses.of_gateway(found))
        self.writer.notice(self.answers.relocate(found))

    def _located(self, fleet: str, found: tuple[Address, ...] | None) -> None:
        """Where clients reach a fleet that we keep."""
        if fleet == DEFAULT_FLEET:
            self._locate()
        else:
            told = None if found is None else addresses.of_gateway(found)
            self.controller.locate(fleet, told)

    def _service(self) -> ObjectRef:
        envoy = self._configured.envoy if self._configured else None
        named = envoy.service if envoy else None
        usual = self.options.fleet_service
        return ObjectRef("Service", *((named.namespace, named.name) if named else usual))

    # What is told.

    def _sources(self) -> Sources:
        return Sources(
            answer=self.answers,
            known=self.cluster.known,
            is_leader=self.leadership.is_leader,
            controller_name=lambda: self.controller.controller_name,
            is_assembled=lambda: self.collector.is_assembled,
            untold=self.controller.untold,
            resource=self.cluster.resource,
        )

    def _of_finalizers(self) -> finalizers.Sources:
        return finalizers.Sources(
            finalizer=lambda kind: wanted.finalizer(kind, self.options.configuration),
            is_wanted=self._is_finalizer_wanted,
            known=self.cluster.known,
            everything=lambda: self.cluster.subjects(wanted.KINDS),
            concerned=partial(wanted.concerned, self.controller.engine),
            resource=self.cluster.resource,
            is_leader=self.leadership.is_leader,
            told=self.writer.drained,
        )

    def _is_finalizer_wanted(self, subject: ObjectRef) -> bool | None:
        """Nobody can tell before everything is there."""
        is_known = self.controller.is_configured and bool(self.server.ports)
        return wanted.is_wanted(self.controller.engine, subject) if is_known else None

    def _uid(self, subject: ObjectRef) -> str:
        known = self.cluster.known(subject)
        return known.uid if known else ""

    def _unlisted(self) -> str:
        waiting = sorted({it.kind for it in self.cluster.state() if it.state.phase == "starting"})
        return f"waiting for the list of {', '.join(waiting)}" if waiting else ""

    def _unconfigured(self) -> str:
        if self.controller.is_configured:
            return ""
        subject = ObjectRef("ContourConfiguration", *self.options.configuration)
        rows = [it for it in self.controller.board.rows() if it.subject == subject]
        words = "; ".join(it for row in rows for it in row.reasons)
        return f"waiting for {subject}" + (f" to be valid: {words}" if words else "")


def _leadership(client: Client, options: Options) -> election.Elector | election.Unopposed:
    found = options.election
    if found is None:
        return election.Unopposed()
    told = {reporting.ANNOTATION: options.advertised}
    return election.Elector(client, found.lease, timing=found.timing, annotations=told)


def _credentials(files: credentials.Files | None) -> reporting.Credentials | None:
    return None if files is None else partial(credentials.client, files)
