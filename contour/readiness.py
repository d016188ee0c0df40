"""What a replica waits for before it is ready, in words for people."""

from contour.controller import Controller
from contour.freshness import Freshness
from contour.kubernetes.cluster import Cluster
from contour.pages import health
from contour.xds.server import Server
from crds.meta import NamespacedName, ObjectRef


def readiness(
    cluster: Cluster,
    controller: Controller,
    configuration: NamespacedName,
    server: Server,
    freshness: Freshness,
) -> health.Readiness:
    """The conditions for readiness, in the order in which they become true."""
    return health.Readiness(
        {
            "cluster": lambda: unlisted(cluster),
            "configuration": lambda: unconfigured(controller, configuration),
            "xds": lambda: "" if server.ports else "the xDS port is not open yet",
            "current": lambda: freshness.lack,
        }
    )


def unconfigured(controller: Controller, configuration: NamespacedName) -> str:
    """Why there is no configuration to serve; empty if there is one."""
    if controller.is_configured:
        return ""
    subject = ObjectRef("ContourConfiguration", *configuration)
    rows = [it for it in controller.board.rows() if it.subject == subject]
    words = "; ".join(it for row in rows for it in row.reasons)
    return f"waiting for {subject}" + (f" to be valid: {words}" if words else "")


def unlisted(cluster: Cluster) -> str:
    """The kinds that have to be listed before anything is served; empty if there are none."""
    waiting = cluster.awaited()
    return f"waiting for the list of {', '.join(waiting)}" if waiting else ""
