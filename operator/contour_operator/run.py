"""`contour-operator run`: wires the parts of the operator.

Of several replicas, one leads and acts; the others wait for the Lease. A term begins with listing
configurations (by kopf) and children (by label). Each change of these queues a configuration, which
is then reconciled. On a signal the term ends, the next leader finishes what is half done, and the
Lease is freed.
"""

import asyncio
import logging
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial

from contour_operator import children, configurations, desired, following, metrics, pages
from contour_operator import image as image_of_pod
from contour_operator.configurations import Configuration
from contour_operator.definition import Definition
from contour_operator.reconciling import Reconciler
from contour_operator.statuses import Kind
from contour_operator.trust import Trust
from kube import election, events, leading
from kube.client import Client
from kube.credentials import Access
from kube.lease import KUBERNETES, Timing
from kube.workqueue import BATCH, WorkQueue
from observability import exposition
from observability.signals import StopSignals
from provisioning import names
from provisioning.keeping.ownership import Owner

log = logging.getLogger(__name__)

NAME = "projectcontour.io/contour-operator"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line."""

    access: Access
    lease: election.Place
    release: desired.Release
    timing: Timing = KUBERNETES
    page: pages.Site | None = None
    namespaces: tuple[str, ...] = ("*",)
    """The namespaces whose configurations are reconciled, as shell patterns."""
    pod: str = ""
    """The name of our own pod, in the namespace of the Lease: control planes run its image, if the
    release names none."""
    trusted: tuple[str, ...] | None = None
    """Namespaces whose instances may reach beyond them, as shell patterns; None: not set."""

    def covers(self, namespace: str) -> bool:
        """Whether instances are made in a namespace."""
        return any(fnmatchcase(namespace, it) for it in self.namespaces)


async def run(options: Options) -> None:
    """Runs until SIGTERM or SIGINT. Raises `kube.credentials.AccessError` and OSError."""
    signals = StopSignals()
    async with Client(options.access, "contour-operator") as client:
        elector = election.Elector(client, options.lease, timing=options.timing)
        operator = Operator(client, options, elector, signals)
        source = metrics.Source(operator.tally, operator.known, elector.is_leader)
        more = exposition.Metrics(source).pages()
        async with (
            pages.served(options.page, operator.is_settled, more),
            asyncio.TaskGroup() as group,
        ):
            campaign = group.create_task(elector.run(operator.term))
            await signals.stopped.wait()
            log.info("received a signal to stop; releasing the Lease")
            campaign.cancel()


class Operator:
    """What this process does while it leads."""

    def __init__(
        self,
        client: Client,
        options: Options,
        elector: election.Elector,
        signals: StopSignals,
    ) -> None:
        self._client = client
        self._options = options
        self._elector = elector
        self._signals = signals
        self._is_settled = False
        self._term: _Term | None = None
        self.tally = metrics.Tally()

    def known(self) -> metrics.Known:
        """What it knows of the cluster while it leads, for metrics."""
        return self._term.counts() if self._term is not None else metrics.Known()

    def is_settled(self) -> bool:
        """Whether it leads and knows the cluster, or does not lead."""
        return self._is_settled or not self._elector.is_leader()

    async def term(self) -> None:
        """Runs one term: from the moment it leads until it is cancelled."""
        client = leading.Client(self._client, self._elector.is_leader, self._elector.write_timeout)
        try:
            options = replace(self._options, release=await self._release(client))
            self._term = _Term(self, client, options)
            await self._term.run(self._signals)
        finally:
            self._term, self._is_settled = None, False

    async def _release(self, client: Client) -> desired.Release:
        """The release, with the image of control planes."""
        found, pod = self._options.release, self._options.pod
        if found.image or not pod:
            return replace(found, image=found.image or names.IMAGE)
        image = await image_of_pod.own(client, self._options.lease.namespace, pod)
        return replace(found, image=image or names.IMAGE)

    def settle(self) -> None:
        """Notes that the cluster is known."""
        self._is_settled = True

    @property
    def identity(self) -> str:
        """The name of this process in the Lease."""
        return self._elector.identity


class _Term:
    """The state of one term, which is dropped with the leadership."""

    def __init__(self, operator: Operator, client: Client, options: Options) -> None:
        self._operator = operator
        self._options = options
        self._known: dict[children.Labels, Owner] = {}
        self._children = children.followed(client, self._touched)
        self._definition = Definition(client)
        self._recorder = events.Recorder(client, events.Reporter(NAME, operator.identity))
        trust = Trust(client, options.trusted)
        reconciler = Reconciler(client, self._children, options.release, self._tell, trust)
        reconciler.on_seen = self._seen
        self._reconcile = partial(operator.tally.count, reconciler.reconcile)
        self._queue = WorkQueue[Owner]()

    async def run(self, signals: StopSignals) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._children.run())
            group.create_task(self._recorder.run())
            group.create_task(self._definition.run())
            await self._children.synced()
            group.create_task(self._queue.run(self._reconcile))
            follow = following.follow(
                self._options.access, self._definition, self._noticed, signals
            )
            group.create_task(follow)
            self._operator.settle()

    def counts(self) -> metrics.Known:
        """The numbers for the metrics."""
        return metrics.Known(len(self._known), len(self._children), self._children.unlisted)

    def _noticed(self, owner: Owner, is_gone: bool) -> None:
        """Queues a changed configuration; if it is gone, those that wait for its namespace."""
        if not self._options.covers(owner.namespace):
            return
        if is_gone:
            self._known.pop(children.of(owner), None)
            for other in self._known.values():
                if other.namespace == owner.namespace:
                    self._queue.add(other, BATCH)
        else:
            self._known[children.of(owner)] = owner
            self._queue.add(owner, BATCH)

    def _seen(self, owner: Owner, is_there: bool) -> None:
        """kopf does not tell of a configuration that goes while it cannot watch."""
        if is_there:
            self._known[children.of(owner)] = owner
        else:
            self._known.pop(children.of(owner), None)

    def _touched(self, labels: children.Labels) -> None:
        """Queues the configuration of a child that has changed, if it still exists."""
        if (owner := self._known.get(labels)) is not None:
            self._queue.add(owner, BATCH)

    def _tell(self, found: Configuration, kind: Kind, reason: str, message: str) -> None:
        owner, uid = found.owner, found.metadata["uid"]
        version = configurations.RESOURCE.api_version
        regarding = events.Regarding(version, configurations.KIND, *owner, uid)
        self._recorder.record(events.Occurrence(regarding, kind, reason, "Provision", message))
