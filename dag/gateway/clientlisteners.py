"""Which settings of a ClientTrafficPolicy have no effect on its listeners, for its status.

TLS has to end at a listener for what the policy says of it, requests have to come there, and so on.
A policy of a whole Gateway is meant for whichever listeners can have a setting, so it is told only
if none can; one that names a listener is told of that listener.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from crds.envoygateway.clienttrafficpolicy import ClientTrafficPolicySpec
from crds.meta import NamespacedName
from dag.gateway.envoypolicies import clientpolicies, clienttls
from dag.problems import Problem, shared
from dag.problems import policies as complaints


class PolicyListener(NamedTuple):
    """A listener of a policy, as far as the status of the policy depends on it."""

    name: str
    """Empty if the policy does not name it, but all listeners of its holder."""
    protocol: str
    ends_tls: bool


def ignored(
    key: NamespacedName,
    spec: ClientTrafficPolicySpec,
    effect: clientpolicies.Effect,
    listeners: Iterable[PolicyListener],
) -> Iterator[Problem]:
    """The settings that have no effect on listeners of a policy; its effect is not closed."""
    own, every = complaints.attached(clienttls.KIND, key), sorted(listeners)
    if effect.tls != clienttls.ClientTls() and (lost := _without(every, _ends_tls)):
        yield shared.no_effect(own.at("tls"), f"TLS does not end at {lost}")
    if effect.sockets.http3 and (lost := _without(every, _takes_http3)):
        yield shared.no_effect(
            own.at("http3"), f"HTTP/3 is not served at {lost}, only at HTTPS listeners"
        )
    fields = tuple(_of_requests(spec))
    if fields and (lost := _without(every, _takes_requests)):
        yield complaints.no_effect_on_streams(own, fields, lost)
    if lost := _without(every, _takes_connections):
        yield shared.no_effect(own, f"packets of UDP at {lost} have no connections")


def _without(every: Iterable[PolicyListener], fits: Callable[[PolicyListener], bool]) -> str:
    """The listeners on which something has no effect, as words; empty if nothing is told."""
    unfit = [it for it in every if not fits(it)]
    if named := [it.name for it in unfit if it.name]:
        return ", ".join(named)
    return "its listeners" if unfit and not any(map(fits, every)) else ""


def _ends_tls(it: PolicyListener) -> bool:
    return it.ends_tls


def _takes_http3(it: PolicyListener) -> bool:
    return it.protocol == "HTTPS"


def _takes_requests(it: PolicyListener) -> bool:
    return it.protocol in {"HTTP", "HTTPS"}


def _takes_connections(it: PolicyListener) -> bool:
    return it.protocol != "UDP"


def _of_requests(spec: ClientTrafficPolicySpec) -> Iterator[str]:
    """The fields of a policy that are about requests, in the order of the reference."""
    limit = spec.connection.connection_limit if spec.connection is not None else None
    asked = {
        "clientIPDetection": spec.client_ip_detection,
        "path": spec.path,
        "headers": spec.headers,
        "timeout.http": spec.timeout.http if spec.timeout is not None else None,
        "connection.connectionLimit.maxRequestsPerConnection": (
            limit.max_requests_per_connection if limit is not None else None
        ),
        "connection.connectionLimit.maxStreamDuration": (
            limit.max_stream_duration if limit is not None else None
        ),
        "http1": spec.http1,
        "http2": spec.http2,
        "grpc": spec.grpc,
        "healthCheck": spec.health_check,
        "scheme": spec.scheme,
    }
    return (name for name, it in asked.items() if it is not None)
