"""What the engine maintains for Ingress."""

from collections.abc import Mapping

from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import Kept, Query
from dag.ingress import claims, classes, shares, status
from dag.statuses import IngressStatus

INDEXES = (*classes.INDEXES, *shares.INDEXES, *claims.INDEXES)
KEPT = (Kept(shares.shares, tables.INGRESSES), Kept(claims.contest, shares.HOSTS))
STATUSES: Mapping[str, Query[NamespacedName, IngressStatus | None]] = {"Ingress": status.status}
