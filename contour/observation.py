"""The pages of a replica: health, metrics, and what helps to debug it.

Everything is read when a page is requested. `contour.serve` connects the parts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from contour import packages
from contour.dashboard import pages as dashboard
from contour.discovery.following import Following
from contour.envoyreports import view
from contour.envoyreports.collector import Collector
from contour.envoyreports.reporting import Reporter
from contour.freshness import Freshness
from contour.instance import Instance
from contour.kubernetes.cluster import Cluster, Collection
from contour.leading import Leader
from contour.metrics import certificates, cluster, envoyconfigs, fleets, graph, httpproxies
from contour.pages import debug, dot, health
from contour.pages.listeners import Pages
from contour.pages.settings import Purpose
from contour.shedding import Shedding
from contour.xds.server import Server
from observability import exposition


@dataclass(frozen=True, slots=True)
class Timings:
    """How long batches took, and what was in them."""

    settlings: graph.Settlings = field(default_factory=graph.Settlings)
    operations: graph.Operations = field(default_factory=graph.Operations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The parts of a replica that the pages read."""

    instance: Instance
    server: Server
    cluster: Cluster
    following: Following
    leader: Leader
    reporter: Reporter
    collector: Collector
    freshness: Freshness
    shedding: Shedding
    readiness: health.Readiness
    timings: Timings
    certificates: Mapping[str, Path]


def pages(of: Shown) -> Mapping[Purpose, Pages]:
    """The pages, by purpose."""
    return {
        "health": health.pages(of.readiness),
        "metrics": _metrics(of).pages(),
        "debug": {
            **dashboard.pages(of.instance),
            **debug.pages(
                {
                    "dag": lambda: dot.drawing(of.instance.controller.engine),
                    "cluster": lambda: [_collection(it) for it in _collections(of)],
                    "replicas": lambda: list(map(view.fleet, of.instance.fleet_reports.values())),
                    "version": packages.versions,
                },
                of.instance.walks(),
                of.instance.questions(),
            ),
        },
    }


def _metrics(of: Shown) -> exposition.Metrics:
    controller, leader = of.instance.controller, of.leader
    return exposition.Metrics(
        graph.Graph(controller.engine, of.timings.settlings, of.timings.operations),
        fleets.Fleets(of.server.fleets, controller.fleets),
        envoyconfigs.EnvoyConfigs(
            controller.engine,
            controller.envoy_configs.counts,
            of.server.by_node,
            leader.is_leader,
        ),
        httpproxies.HTTPProxies(controller.engine, controller.board, leader.is_leader),
        certificates.Certificates(controller.engine, of.certificates),
        cluster.Provider(lambda: _collections(of)),
        cluster.Statuses(leader.writer.tallies, lambda: leader.writer.waiting),
        cluster.Events(lambda: leader.recorder.sent, lambda: leader.recorder.dropped),
        cluster.Replicas(
            leader.is_leader,
            lambda: of.reporter.is_reporting,
            lambda: len(of.collector.followers),
            lambda: (not of.freshness.lack, of.shedding.shed),
        ),
    )


def _collections(of: Shown) -> Iterator[Collection]:
    yield from of.cluster.state()
    yield from of.following.state()


def _collection(found: Collection) -> dict[str, Any]:
    served = str(found.resource) if found.resource else "not served"
    state = asdict(found.state)
    return {"kind": found.kind, "namespace": found.namespace, "resource": served, **state}
