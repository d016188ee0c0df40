"""What the engine maintains for the Gateway API: its indexes, what is kept, and the statuses."""

from collections.abc import Mapping
from typing import Any

from crds.meta import NamespacedName
from dag.engine.view import Query
from dag.gateway import (
    attachment,
    authenticationfilters,
    clientports,
    conflicts,
    filteredlisteners,
    filterlimits,
    filteruses,
    listenersets,
    listenersetstatus,
    policies,
    policystatus,
    precedence,
    proxystatus,
    ratelimitstatus,
    routestatus,
    selection,
    servedlisteners,
    serviceparents,
    status,
    statusoverflow,
    telemetry,
    telemetrystatus,
)
from dag.gateway.envoypolicies import (
    clientpolicies,
    extensionpolicies,
    securitypolicies,
    trafficpolicies,
)
from dag.references import grants

INDEXES = (
    *grants.INDEXES,
    *selection.INDEXES,
    *listenersets.INDEXES,
    *conflicts.INDEXES,
    *attachment.INDEXES,
    *servedlisteners.INDEXES,
    *filteredlisteners.INDEXES,
    *policies.INDEXES,
    *policystatus.INDEXES,
    *statusoverflow.INDEXES,
    *telemetry.INDEXES,
    *listenersetstatus.INDEXES,
    *precedence.INDEXES,
    *proxystatus.INDEXES,
    *filteruses.INDEXES,
    *filterlimits.INDEXES,
    *authenticationfilters.INDEXES,
    *serviceparents.INDEXES,
    *securitypolicies.EFFECTS.indexes,
    *trafficpolicies.EFFECTS.indexes,
    *extensionpolicies.EFFECTS.indexes,
    *clientpolicies.EFFECTS.indexes,
    *clientports.INDEXES,
)
KEPT = (
    *securitypolicies.EFFECTS.kept,
    *trafficpolicies.EFFECTS.kept,
    *extensionpolicies.EFFECTS.kept,
    *clientpolicies.EFFECTS.kept,
    *filteruses.KEPT,
    *filterlimits.KEPT,
    *authenticationfilters.KEPT,
    *selection.KEPT,
    *conflicts.KEPT,
    *attachment.KEPT,
    *servedlisteners.KEPT,
    *clientports.KEPT,
    *filteredlisteners.KEPT,
    *policystatus.KEPT,
    *listenersetstatus.KEPT,
    *precedence.KEPT,
    *serviceparents.KEPT,
)

STATUSES: Mapping[str, Query[NamespacedName, Any]] = {
    "GatewayClass": status.gateway_class,
    "Gateway": status.gateway,
    "ListenerSet": listenersetstatus.listener_set,
    "BackendTLSPolicy": policystatus.backend_tls_policy,
    "XTelemetryPolicy": telemetrystatus.telemetry_policy,
    "XBackend": policystatus.xbackend,
    "EnvoyProxy": proxystatus.envoy_proxy,
    "RateLimitFilter": ratelimitstatus.rate_limit_filter,
    "SecurityPolicy": securitypolicies.EFFECTS.status,
    "BackendTrafficPolicy": trafficpolicies.EFFECTS.status,
    "EnvoyExtensionPolicy": extensionpolicies.EFFECTS.status,
    "ClientTrafficPolicy": clientports.client_traffic_policy,
    **routestatus.STATUSES,
}
