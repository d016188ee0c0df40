"""What the engine maintains for the Gateway API: its indexes, what is kept, and the statuses."""

from collections.abc import Mapping
from typing import Any

from crds.meta import NamespacedName
from dag import grants
from dag.gateway import attachment, hosts, routestatus, selection, status
from dag.view import Query

INDEXES = (*grants.INDEXES, *selection.INDEXES, *attachment.INDEXES, *hosts.INDEXES)
KEPT = (*attachment.KEPT, *hosts.KEPT)

STATUSES: Mapping[str, Query[NamespacedName, Any]] = {
    "GatewayClass": status.gateway_class,
    "Gateway": status.gateway,
    "HTTPRoute": routestatus.httproute_status,
}
