"""What the engine maintains for Ingress."""

from collections.abc import Mapping

from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import Kept, Query
from dag.ingress import claims, classes, ingresshosts, status
from dag.statuses import EventStatus

INDEXES = (*classes.INDEXES, *ingresshosts.INDEXES, *claims.INDEXES)
KEPT = (Kept(ingresshosts.hosts, tables.INGRESSES), Kept(claims.merged, ingresshosts.HOSTS))
STATUSES: Mapping[str, Query[NamespacedName, EventStatus | None]] = {"Ingress": status.status}
