"""`contour serve`: one replica of an instance in a Kubernetes cluster.

The xDS port opens when all objects are listed and the ContourConfiguration is there, so that no
Envoy gets less than it has. Every replica serves; only the leader writes. Statuses that depend on
Envoys wait for the reports of the other replicas. When told to stop, a replica first frees the
Lease.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path

from contour import audit, freshness, observation, process, readiness
from contour.configfile.source import Source
from contour.discovery.following import Following
from contour.envoyreports import FleetReports, reporting
from contour.envoyreports.collector import Collector
from contour.envoyreports.encoding import LeaderStatus
from contour.envoyreports.report import Reports
from contour.envoyreports.reporting import Reporter
from contour.events import Batch
from contour.extensioncalls import answers
from contour.finalizers import wanted
from contour.fleetstatus import FleetStatus
from contour.infrastructure.desired import Release
from contour.infrastructure.ratelimitservice import provisioned
from contour.instance import Instance
from contour.keysets.shared import SharedStore
from contour.kubernetes.cluster import Cluster
from contour.kubernetes.scope import Scope
from contour.leading import Counting, Leader, Parts
from contour.pages import listeners
from contour.pages import settings as page_settings
from contour.rawconfig.nodereports import NodeReports
from contour.shedding import Shedding
from contour.xds import credentials
from contour.xds.limits import Limits
from contour.xds.server import Server
from crds import foreign
from crds.kinds import Kind
from crds.meta import NamespacedName, ObjectRef
from dag import foreignobjects, nodes, ratelimitclient
from dag.fleetnames import DEFAULT_FLEET
from kube import election
from kube.client import Client
from kube.credentials import Access
from kube.lease import KUBERNETES, Timing
from observability import signals
from provisioning import identities

log = logging.getLogger(__name__)

_SOME = 5_000
"""Events that are counted at a time."""

_PATIENCE = 3.0
"""Seconds that a start also waits for the stored key sets."""

BUILD = metadata.version("contour-ingress")


@dataclass(frozen=True, slots=True)
class Election:
    """How the replicas agree on which of them writes."""

    lease: election.Place
    timing: Timing = KUBERNETES


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line."""

    access: Access
    configuration: NamespacedName
    address: str
    """Where xDS is served: `host:port`."""
    advertised: str
    """The address at which other replicas reach it."""
    tls: credentials.Files | None
    fleet_service: NamespacedName
    """The Service in front of Envoy, whose name is in the certificates of Envoys."""
    release: Release
    """The release to which the fleets that we keep belong."""
    source: Source | None = None
    """The file with the configuration; None: it is in an object of the cluster."""
    state: Path | None = None
    """The directory for files that outlive the process; None: there are none."""
    scope: Scope = field(default_factory=Scope)
    counting: Counting = field(default_factory=Counting)
    limits: Limits = field(default_factory=Limits)
    """What one peer may take of the xDS port."""
    election: Election | None = None
    """None: there is one replica, which always leads."""
    sites: Mapping[page_settings.Purpose, page_settings.ListenAddress] = field(
        default_factory=lambda: page_settings.USUAL
    )
    """Where the pages are served unless the configuration says otherwise."""

    @property
    def patience(self) -> float:
        """Seconds without an answer of the API server after which a leader has to stop; as long as
        that, known objects count as current."""
        return (self.election.timing if self.election else KUBERNETES).renew_deadline


async def serve(options: Options) -> None:
    """Serves until SIGTERM or SIGINT. Raises `kube.credentials.AccessError`, OSError, and
    `configfile.source.UnusableFileError` if there is another configuration beside the file."""
    stopped = signals.StopSignals().stopped
    if options.tls is not None:
        options.tls.stamp()
    async with Client(options.access) as client:
        replica = Replica(client, options)
        async with replica.open():
            await process.until(stopped, replica.activities(), replica.endings())


class Replica:
    """The parts of a replica, and how they are connected."""

    def __init__(self, client: Client, options: Options) -> None:
        self.options = options
        self.leadership = _leadership(client, options)
        self.cluster = Cluster(client, options.scope)
        self.collector = Collector(frozenset({identities.CONTROL_PLANE}), BUILD)
        self.collector.leader_status = self._leader_status
        self.reporter = Reporter(self.leadership.identity, BUILD, _credentials(options.tls))
        self.reporter.on_leader_status = self._on_leader_status
        services = (self.collector.service(),)
        self.server = Server(
            (options.address,), tls=options.tls, limits=options.limits, services=services
        )
        self.freshness = _freshness(client, self.cluster, options.patience)
        self.shedding = Shedding(lambda: self.freshness.lack, self.server)
        self._turn = asyncio.Lock()  # held by the task that takes a batch
        self.key_sets = SharedStore(client, options.release)
        self.instance = Instance(
            self.server,
            lambda subjects: self.leader.on_answers(subjects),  # noqa: PLW0108 - made below
            self._on_fleet,
            lambda: self.leader.on_fleets(),  # noqa: PLW0108
            self._on_node,
            answers=options.state and options.state / answers.FILE,
            store=self.key_sets,
        )
        self.controller = self.instance.controller
        _place(self)
        self.controller.envoy_configs.on_change = self._on_envoy_config
        self.controller.envoy_configs.values.on_change = self.cluster.want
        self.following = Following(client, self.instance, options.release.ownership.labels)
        self.following.on_change = self._on_envoy_config
        self.following.on_object = self._on_object
        self.fleet_status = FleetStatus(
            self.controller,
            self.cluster,
            options.scope,
            options.fleet_service,
            lambda found: self.leader.on_addresses(found),  # noqa: PLW0108
        )
        found = (self.controller, self.cluster, self.server, self.collector, self.reporter)
        parts = Parts(*found, self.fleet_status, self.following, self.key_sets, options.counting)
        self.leader = Leader(client, self.leadership, parts, options.configuration, options.release)
        self.cluster.hear(self._on_object)
        self.cluster.extension_kinds.on_fault = self._on_extension_kind
        self.readiness = readiness.readiness(
            self.cluster, self.controller, options.configuration, self.server, self.freshness
        )
        self.timings = observation.Timings()
        self._listeners = listeners.Listeners(observation.pages(_shown(self)))

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Serves the pages from the start, so that they show what the replica waits for."""
        await self._place_pages()
        try:
            yield
        finally:
            await self.server.stop()
            await self._listeners.close()

    def activities(self) -> tuple[Coroutine[object, object, None], ...]:
        """All activities, which run concurrently and never end."""
        leaders = reporting.addresses(self.leadership.leaders())
        return (
            self.cluster.run(),
            self._serve(),
            self.leader.campaign(),
            self.reporter.follow(leaders),
            self.shedding.run(),
            self.controller.age(),
            self.instance.asker.run(),
            self.instance.key_sets.run(),
            self.key_sets.run(),
            self.following.run(),
        )

    def endings(self) -> tuple[process.Step, ...]:
        """Steps of the shutdown: the next leader starts before our Envoys reconnect."""
        return (
            process.Step("release of the Lease", self._resign, 2.5),
            process.Step("end of the xDS streams", self.server.stop, 1.5),
        )

    async def _resign(self) -> None:
        self.readiness.close()
        await self.leader.resign()

    async def _serve(self) -> None:
        """event → write → settle → publish, for ever; the port opens when the configuration is
        complete. Changes of a file with the configuration wait until everything is listed."""
        source = self.options.source
        with process.without_collections():
            batch = await self.cluster.initial()
            await self.key_sets.listed(_PATIENCE)
            await self._take(source.first(batch) if source is not None else batch)
        if missing := readiness.unconfigured(self.controller, self.options.configuration):
            log.warning("%s", missing)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_file())
            async for batch in self.cluster.changes():
                await self._take(source.alone(batch) if source is not None else batch)

    async def _follow_file(self) -> None:
        if self.options.source is not None:
            async for batch in self.options.source.changes():
                await self._take(batch)

    async def _take(self, batch: Batch) -> None:
        async with self._turn:
            await self._taken(batch)

    async def _taken(self, batch: Batch) -> None:
        if self.server.ports:
            self.timings.operations.note(batch.events, self.controller.engine)
            with self.timings.settlings.timed():
                self.instance.take(batch)
        else:
            await self._build(batch)
        if self.fleet_status.configure(self.controller.configuration):
            self.leader.on_configuration()
            await self._place_pages()
        if self.controller.is_configured:
            self.following.configure(self._discovered())
            await self._follow_extension_kinds()
        if self.controller.is_configured and not self.server.ports:
            await self.instance.fetch()
            await self.instance.asker.begin()
            await self.server.start()
            self.leader.finalizers.notice(self.cluster.subjects(wanted.KINDS))
            log.info("serving xDS on %s", self.options.address)

    async def _follow_extension_kinds(self) -> None:
        """Follows the kinds of objects of extensions; before any Envoy is served, all of them are
        listed."""
        found = [foreign.kind(*it) for it in self.controller.extension_kinds]
        self.cluster.extension_kinds.follow(found)
        if found and not self.server.ports:
            await self.cluster.extension_kinds.settled()
            await self._build(self.cluster.pending())

    def _on_extension_kind(self, kind: Kind, fault: str) -> None:
        """Takes why the objects of a kind cannot be read; empty if they can."""
        key = nodes.ForeignKind(kind.group, kind.versions[0], foreign.name(kind))
        self.controller.engine.write(foreignobjects.FAULTS, key, fault or None)
        self.controller.settle()

    def _discovered(self) -> tuple[str, ...]:
        """The namespaces whose EnvoyConfigs are served."""
        found = self.controller.configuration.discovery
        if found is None:
            return ()
        return found.namespaces or (self.options.configuration.namespace,)

    async def _build(self, batch: Batch) -> None:
        """Takes a batch, perhaps of thousands of objects, while no Envoy is served yet: the pages
        still answer."""
        engine = self.controller.engine
        with process.without_collections():
            for start in range(0, len(batch.events), _SOME):
                self.timings.operations.note(batch.events[start : start + _SOME], engine)
                await asyncio.sleep(0)
            with self.timings.settlings.timed():
                await self.instance.build(batch)

    async def _place_pages(self) -> None:
        sites = page_settings.sites(self.fleet_status.configuration, self.options.sites)
        faults = await self._listeners.update(sites)
        for fault in faults:
            log.error("%s", fault)
        self.controller.report_process_errors(faults)

    def _leader_status(self) -> LeaderStatus:
        """The answer to replicas that report to us."""
        peers = (self.options.advertised, *self.collector.addresses)
        is_leader = self.leadership.is_leader()
        return self.freshness.leader_status(is_leader=is_leader, build=BUILD, peers=peers)

    def _on_leader_status(self, found: LeaderStatus | None) -> None:
        is_comparable = found is not None and found.build == BUILD
        self.freshness.take(found, is_comparable=is_comparable)

    def _on_fleet(self, reports: FleetReports, is_there: bool) -> None:
        """A fleet is served, or (not `is_there`) no longer served."""
        if is_there:
            fleet = self.server.fleet(reports.fleet)
            fleet.identities = _identities(reports.fleet, self.options.fleet_service)
        self._on_reports(reports, is_there)

    def _on_reports(self, reports: Reports, is_there: bool) -> None:
        for it in (self.collector, self.reporter):
            it.add(reports) if is_there else it.remove(reports.fleet)

    def _on_node(self, reports: NodeReports, is_there: bool) -> None:
        """A node ID is served, or (not `is_there`) no longer served."""
        self._on_reports(reports, is_there)
        reports.is_everyone = self._hears_everyone

    def _hears_everyone(self) -> bool:
        return self.leadership.is_leader() and self.collector.is_assembled

    def _on_envoy_config(self, key: NamespacedName) -> None:
        self.leader.on_envoy_config(key)

    def _on_object(self, subject: ObjectRef) -> None:
        """The API server has another version or status of an object."""
        if subject == self.fleet_status.service:
            self.fleet_status.refresh()
        else:
            self.leader.on_object(subject)


def _shown(of: Replica) -> observation.Shown:
    tls = of.options.tls
    return observation.Shown(
        instance=of.instance,
        server=of.server,
        cluster=of.cluster,
        following=of.following,
        leader=of.leader,
        reporter=of.reporter,
        collector=of.collector,
        freshness=of.freshness,
        shedding=of.shedding,
        readiness=of.readiness,
        timings=of.timings,
        certificates={"xds": tls.certificate} if tls else {},
    )


def _identities(fleet: str, service: NamespacedName) -> frozenset[str]:
    """The certificate names that may see a fleet; for the shared one, those of its Service."""
    if fleet == DEFAULT_FLEET:
        return frozenset(identities.fleet(service.name, service.namespace))
    namespace, _, name = fleet.partition("/")
    return frozenset(identities.gateway_fleet(name, namespace))


def _place(of: Replica) -> None:
    """Tells the parts which instance this is, and what it shares with other replicas."""
    controller, options, reporter = of.controller, of.options, of.reporter
    controller.follow(options.configuration)
    controller.engine.write(ratelimitclient.PROVISIONED, (), provisioned(options.release))
    controller.audit = audit.log_changes
    controller.envoy_configs.are_stored = True
    reporter.address = options.advertised
    of.key_sets.on_change = of.instance.key_sets.reread
    of.instance.key_sets.follows = lambda: reporter.is_reporting


def _leadership(client: Client, options: Options) -> election.Elector | election.Unopposed:
    found = options.election
    if found is None:
        return election.Unopposed()
    told = {reporting.ANNOTATION: options.advertised}
    return election.Elector(client, found.lease, timing=found.timing, annotations=told)


def _freshness(client: Client, cluster: Cluster, patience: float) -> freshness.Freshness:
    return freshness.Freshness(
        patience,
        lambda: client.reachability.silence,
        lambda: freshness.positions(cluster.state()),
        asyncio.get_running_loop().time,
    )


def _credentials(files: credentials.Files | None) -> reporting.Credentials | None:
    return None if files is None else partial(credentials.client, files)
