"""What the engine maintains for HTTPProxy and TLSCertificateDelegation."""

from collections.abc import Mapping

from crds.meta import NamespacedName
from dag.engine.view import Kept, Query
from dag.httpproxy import expansion, owner, serving, status
from dag.references import delegation
from dag.statuses import ContourStatus

INDEXES = (*delegation.INDEXES, *owner.INDEXES, *expansion.INDEXES, *serving.INDEXES)
KEPT = (Kept(expansion.expansion, expansion.ROOTS), Kept(serving.included, serving.INCLUDERS))
STATUSES: Mapping[str, Query[NamespacedName, ContourStatus | None]] = {
    "HTTPProxy": status.status,
    "TLSCertificateDelegation": status.delegation_status,
}
