"""What a replica shows of itself: health, metrics, and what those look at who look into a fault.

Everything is read when it is asked for; what is wired where is in `contour.serve`.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from contour.envoyreports import view
from contour.kubernetes.cluster import Collection
from contour.metrics import certificates, cluster, fleets, graph, httpproxies
from contour.pages import debug, dot, health
from contour.pages.listeners import Pages
from contour.pages.settings import Purpose
from showing import exposition

if TYPE_CHECKING:
    from contour.serve import Replica


def pages(of: "Replica") -> Mapping[Purpose, Pages]:
    """By what they are for."""
    return {
        "health": health.pages(of.readiness),
        "metrics": _metrics(of).pages(),
        "debug": debug.pages(
            {
                **of.instance.pages(),
                "dag": lambda: dot.drawing(of.controller.engine),
                "cluster": lambda: [_collection(it) for it in of.cluster.state()],
                "replicas": lambda: [view.fleet(it) for it in of.reports],
            }
        ),
    }


def _metrics(of: "Replica") -> exposition.Metrics:
    engine, tls = of.controller.engine, of.options.tls
    return exposition.Metrics(
        graph.Graph(engine, of.settlings, of.operations),
        fleets.Fleets(of.server.fleets),
        httpproxies.HTTPProxies(engine, of.controller.board, of.leadership.is_leader),
        certificates.Certificates(engine, {"xds": tls.certificate} if tls else {}),
        cluster.Provider(of.cluster.state),
        cluster.Statuses(of.writer.tallies, lambda: of.writer.waiting),
        cluster.Events(lambda: of.recorder.sent, lambda: of.recorder.dropped),
        cluster.Replicas(
            of.leadership.is_leader,
            lambda: of.reporter.is_reporting,
            lambda: len(of.collector.followers),
            lambda: (not of.currency.lack, of.shedding.shed),
        ),
    )


def _collection(found: Collection) -> dict[str, Any]:
    served = str(found.resource) if found.resource else "not served"
    state = asdict(found.state)
    return {"kind": found.kind, "namespace": found.namespace, "resource": served, **state}
