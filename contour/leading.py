"""What a replica does while it leads: statuses, Events, finalizers, and the fleets of Envoys.

All of it writes with a client that checks before each write whether this replica still leads
(`kube.leading`).
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial

from contour.controller import Controller
from contour.discovery.certifying import NodeCertificates
from contour.discovery.following import Following
from contour.discovery.writing import Revisions
from contour.envoyreports.collector import Collector
from contour.envoyreports.reporting import Reporter
from contour.finalizers import finalizers, wanted
from contour.fleetstatus import FleetStatus
from contour.infrastructure.applications import Applications
from contour.infrastructure.desired import Release
from contour.infrastructure.handedover import HandedOver
from contour.infrastructure.ratelimitservice import RateLimits, Site
from contour.infrastructure.term import Infrastructure
from contour.keysets.shared import Publisher, SharedStore
from contour.kubernetes.cluster import Cluster
from contour.kubernetes.known import ObservedObject
from contour.ratelimits import child, given
from contour.status.addresses import Address
from contour.status.announcements import Announcements
from contour.status.answers import Answer, Answers
from contour.status.update import Sources
from contour.status.writer import Writer
from contour.xds.server import Server
from crds.kinds import ASKED_FOR
from crds.meta import NamespacedName, ObjectRef
from dag.ratelimitclient import PORT
from dag.ratelimitservice import Process
from kube import election, events, leading
from kube.client import Client
from kube.events import Recorder
from kube.resources import Resource

_NAME = "projectcontour.io/contour"
_OPT_IN = frozenset(it.kind for it in ASKED_FOR)


@dataclass(frozen=True, slots=True)
class Counting:
    """How this replica counts requests for RateLimitFilters while it leads, where there is no
    Redis."""

    control_plane: str = "127.0.0.1:8001"
    """The xDS server of this replica."""
    listen: str = f"127.0.0.1:{PORT}"
    """The address on which it listens for Envoys, in gRPC's notation."""
    site: Site = field(default_factory=Site)
    """The address at which Envoys reach it."""

    def process(self, wanted: Process | None) -> child.Child | None:
        """The process to run; None: none."""
        if wanted is None:
            return None
        return child.Child(self.control_plane, self.listen, settings=given.settings(wanted))


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a replica that a leader works with."""

    controller: Controller
    cluster: Cluster
    server: Server
    collector: Collector
    reporter: Reporter
    fleet_status: FleetStatus
    following: Following
    key_sets: SharedStore
    counting: Counting


class Leader:
    """Leads whenever this replica is elected, for any number of terms."""

    def __init__(
        self,
        client: Client,
        leadership: election.Elector | election.Unopposed,
        parts: Parts,
        configuration: NamespacedName,
        release: Release,
    ) -> None:
        self.is_leader = leadership.is_leader
        self._leadership = leadership
        self._parts = parts
        self._configuration = configuration
        controller, cluster = parts.controller, parts.cluster
        fenced = leading.Client(client, leadership.is_leader, leadership.write_timeout)
        self.recorder = Recorder(fenced, events.Reporter(_NAME, leadership.identity))
        self._announcements = Announcements(controller.board, self.recorder.record, self._uid)
        self._answers = Answers(controller.board, controller.generation)
        certificates = NodeCertificates(fenced, release)
        self.revisions = Revisions(fenced, parts.following, controller, certificates.renew)
        sources = Sources(
            answer=self._answer,
            known=self._known,
            controller_name=lambda: controller.controller_name,
            is_assembled=lambda: parts.collector.is_assembled,
            untold=controller.set_untold,
            is_change_underway=lambda: cluster.has_news or parts.server.is_sending,
            resource=self._resource,
        )
        told = self._announcements.written
        self.writer = Writer(fenced, sources, controller.subjects, told)
        self.finalizers = finalizers.Finalizers(fenced, self._finalizer_sources())
        status = parts.fleet_status
        self._infrastructure = Infrastructure(fenced, release, status)
        self._handed_over = HandedOver(fenced, release, status)
        self._applications = Applications(
            fenced, release, status.application_namespaces, status.tell_applications
        )
        self._rate_limits = RateLimits(
            fenced,
            release,
            status.rate_limit_service,
            status.tell_rate_limits,
            lambda: bool(parts.server.ports) and status.knows_gateways(),
            parts.counting.site,
        )
        self._counting = child.Keeper(lambda: parts.counting.process(status.rate_limit_process()))
        self._key_sets = Publisher(fenced, release, parts.key_sets, self._is_serving)
        self._campaign: asyncio.Task[None] | None = None

    async def campaign(self) -> None:
        """Leads whenever it may, until `resign`."""
        self._campaign = asyncio.current_task()
        await self._leadership.run(self._term)

    async def resign(self) -> None:
        """Frees the Lease, so that the next leader can start."""
        if self._campaign is not None:
            self._campaign.cancel()
            await asyncio.wait((self._campaign,))

    def _answer(self, subject: ObjectRef, newest: int) -> Answer | None:
        """None where another controller writes the statuses."""
        if subject.kind in _OPT_IN and not self.revisions.may_write(subject.namespace):
            return None
        return self._answers(subject, newest)

    def _known(self, subject: ObjectRef) -> ObservedObject | None:
        of = self._parts.following if subject.kind in _OPT_IN else self._parts.cluster
        return of.known(subject)

    def _resource(self, kind: str) -> Resource | None:
        of = self._parts.following if kind in _OPT_IN else self._parts.cluster
        return of.resource(kind)

    # What has changed.

    def on_answers(self, subjects: Collection[ObjectRef]) -> None:
        """The statuses of these objects may have to change."""
        self.writer.changed(subjects)
        self.finalizers.notice(subjects)
        self._announcements.notice(subjects)

    def on_object(self, subject: ObjectRef) -> None:
        """The API server has another version or status of an object."""
        self.writer.seen(subject)
        self.finalizers.notice((subject,))

    def on_envoy_config(self, key: NamespacedName) -> None:
        """The revisions of an EnvoyConfig, or which of them is served, may have changed."""
        self.revisions.notice(key)

    def on_addresses(self, found: tuple[Address, ...]) -> None:
        """The addresses of the shared fleet have changed."""
        self.writer.notice(self._answers.relocate(found))

    def on_fleets(self) -> None:
        """The fleets that there should be, or their ports, or the rate limit service have
        changed."""
        self._infrastructure.notice()
        self._handed_over.notice()
        self._rate_limits.notice()
        self._counting.notice()

    def on_configuration(self) -> None:
        """The configuration has changed."""
        self._infrastructure.notice()
        self._handed_over.notice()
        self._applications.notice()

    # One term.

    async def _term(self) -> None:
        collector = self._parts.collector
        collector.lead(is_alone=isinstance(self._leadership, election.Unopposed))
        try:
            async with asyncio.TaskGroup() as tasks:
                for work in (
                    self.writer.run(),
                    self.finalizers.run(),
                    self.recorder.run(),
                    self._infrastructure.run(),
                    self._handed_over.run(),
                    self._applications.run(),
                    self._rate_limits.run(),
                    self._counting.run(),
                    self._key_sets.run(),
                    self.revisions.run(),
                    self._after_reports(),
                ):
                    tasks.create_task(work)
        finally:
            # If this replica cannot reach the Lease, one of its followers leads next.
            self._parts.reporter.meet(collector.addresses)
            collector.resign()

    async def _after_reports(self) -> None:
        """Waits for the reports of the other replicas before it writes statuses that may depend on
        them."""
        await self._parts.collector.assembled()
        for it in self._parts.following.instance.node_reports.values():
            it.refresh()
        self.writer.release()
        await self._announcements.run()

    def _finalizer_sources(self) -> finalizers.Sources:
        cluster, engine = self._parts.cluster, self._parts.controller.engine
        return finalizers.Sources(
            finalizer=lambda kind: wanted.finalizer(kind, self._configuration),
            manager=wanted.manager(self._configuration),
            is_serving=self._is_serving,
            is_wanted=partial(wanted.is_wanted, engine),
            is_served=lambda it: wanted.is_served(engine, it, cluster.finalizers),
            known=cluster.known,
            everything=lambda: cluster.subjects(wanted.KINDS),
            concerned=partial(wanted.concerned, engine),
            resource=cluster.resource,
            until_statuses_are_written=self.writer.drained,
        )

    def _is_serving(self) -> bool:
        """Whether everything has been read and is served."""
        return self._parts.controller.is_configured and bool(self._parts.server.ports)

    def _uid(self, subject: ObjectRef) -> str:
        if subject.kind in _OPT_IN:
            known = self._parts.following.known(subject)
            return known.uid if known else ""
        return self._parts.cluster.uid(subject)
