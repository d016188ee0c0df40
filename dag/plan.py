"""Every rule there is, in the order in which the engine settles them.

`INDEXES` and `KEPT` of each package are defined beside its rules; here they become one plan, and
each kind with a status is mapped to its status query. The listeners of Gateways come first: the
other APIs ask for them.
"""

from collections.abc import Mapping

from crds.meta import NamespacedName
from dag import (
    backendaddresses,
    classicclaims,
    configurationstatus,
    crossings,
    exports,
    extensions,
    fleets,
    foreignobjects,
    hookservers,
    hostdns,
    hosts,
    listeners,
    ports,
    proxyfleets,
    ratelimitservice,
    refusals,
    releases,
    services,
    tables,
)
from dag.engine.view import Kept, Plan, Query
from dag.gateway import plan as gateway
from dag.httpproxy import plan as httpproxy
from dag.ingress import plan as ingress
from dag.patches import policies as patches
from dag.patches import status as patchstatus
from dag.rawconfig import revisions as rawrevisions
from dag.rawconfig import serving as rawconfig
from dag.rawconfig import status as rawstatus
from dag.references import keysets
from dag.statuses import Status
from dag.warnings import validity

STATUSES: Mapping[str, Query[NamespacedName, Status | None]] = {
    kind: refusals.with_refusals(kind, status)
    for api in (
        ingress,
        httpproxy,
        extensions,
        gateway,
        patchstatus,
        configurationstatus,
        rawstatus,
    )
    for kind, status in api.STATUSES.items()
}
"""By kind: the query for the status of an object; None if it is not ours to write."""

WITH_SERVICES: Mapping[str, Query[NamespacedName, Status | None]] = {
    **STATUSES,
    "Service": refusals.of_service,
}
"""The same, with the kind whose status is not ours: its problems become Events."""

CROSSINGS = crossings.queries(STATUSES)
"""By kind: the query for what an object uses of other namespaces; None if nothing."""

MADE = (fleets.fleet, ratelimitservice.wanted, ratelimitservice.process)
"""The queries for what an instance makes: in a cluster, or as processes on this machine."""

PLAN = Plan(
    indexes=(
        *tables.INDEXES,
        *backendaddresses.INDEXES,
        *gateway.INDEXES,
        *ingress.INDEXES,
        *httpproxy.INDEXES,
        *ports.INDEXES,
        *listeners.INDEXES,
        *classicclaims.INDEXES,
        *hosts.INDEXES,
        *patches.INDEXES,
        *hookservers.INDEXES,
        *crossings.INDEXES,
        services.LEFT_OUT,
        *exports.INDEXES,
        *fleets.INDEXES,
        *proxyfleets.INDEXES,
        *ratelimitservice.INDEXES,
        *releases.INDEXES,
        *rawconfig.INDEXES,
    ),
    kept=(
        *gateway.KEPT,
        *ingress.KEPT,
        *httpproxy.KEPT,
        *listeners.KEPT,
        *hosts.KEPT,
        *patches.KEPT,
        *hookservers.KEPT,
        *foreignobjects.KEPT,
        *fleets.KEPT,
        *ratelimitservice.KEPT,
        *exports.KEPT,
        *rawconfig.KEPT,
        *(Kept(query, tables.BY_KIND[kind]) for kind, query in STATUSES.items()),
        refusals.SERVICES,
        *crossings.kept(CROSSINGS),
    ),
    published=(
        listeners.host_ports,
        listeners.listener,
        hosts.virtual_host,
        hosts.secure_host,
        *MADE,
        hookservers.connection,
        hookservers.servers,
        validity.validity,
        keysets.wanted,
        hostdns.wanted,
        rawrevisions.history,
        *WITH_SERVICES.values(),
        *CROSSINGS.values(),
    ),
)
