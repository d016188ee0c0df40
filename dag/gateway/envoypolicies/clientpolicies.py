"""The effect of a ClientTrafficPolicy.

A policy that cannot be served as safely as it asks closes its listeners. Elsewhere: which part of
it holds where, and its status (`dag.gateway.clientports`, `dag.gateway.listenerclients`).
"""

from collections.abc import Iterator

from crds.envoygateway.clienttrafficpolicy import ClientTrafficPolicySpec
from crds.envoygateway.policytargets import UnreadPolicy
from crds.gateway.known import unknown_values
from crds.records import dataclass
from crds.unserved import unserved
from dag import nodes, tables
from dag.engine.view import View
from dag.gateway.envoypolicies import clienttls, clienttraffic
from dag.gateway.envoypolicies.clienttls import KIND, ClientTls
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policyeffects import Effects
from dag.gateway.envoypolicies.policytargets import Policy, PolicyKind
from dag.problems import Problem, Refused, shared
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place
from dag.values import durations

POLICIES = PolicyKind(KIND, tables.CLIENT_TRAFFIC_POLICIES, ("Gateway", "ListenerSet"))
ANCESTRY = Ancestry(POLICIES)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a policy asks of its listeners."""

    tls: ClientTls = ClientTls()
    traffic: nodes.ClientTraffic = nodes.ClientTraffic()
    sockets: nodes.Sockets = nodes.Sockets()
    stream_idle: float | None = None
    """Seconds that connections of streams may be idle; None: as the settings say."""
    is_closed: bool = False
    """The listeners take no requests: something guards them that is not served."""


CLOSED = Effect(is_closed=True)


def _closing(view: View, found: Policy, own: Place) -> Iterator[Problem]:
    """Fields of the policy that are not served or not known, and may keep clients out."""
    if isinstance(found, UnreadPolicy):
        yield complaints.policy_closes_listeners(own, "cannot be read")
        return
    for field in unserved(found):
        if field.guards:
            at = Place(own.subject, field.path)
            yield complaints.policy_closes_listeners(at, f"is {field.why}")
    for unknown in view.read(tables.UNKNOWN_FIELDS, own.subject) or ():
        if "clientValidation" in unknown:
            text = f"has a field that is not known here, {unknown}"
            yield complaints.policy_closes_listeners(own, text)


def _effect(view: View, spec: ClientTrafficPolicySpec, own: Place) -> Findings[Effect | None]:
    """The effect of a policy; None if it cannot be served as safely as it asks."""
    for value in unknown_values(spec):
        if "clientValidation" not in value.path:
            at = Place(own.subject, f"{own.path}.{value.path}")
            yield shared.no_effect(at, value.message)
    try:
        tls = ClientTls()
        if spec.tls is not None:
            tls = yield from clienttls.terms(view, spec.tls, own.at("tls"))
        traffic = yield from clienttraffic.traffic(spec, own)
        sockets = yield from clienttraffic.sockets(spec, own)
    except Refused as refused:
        yield refused.problem
        return None
    tcp = spec.timeout.tcp if spec.timeout is not None else None
    rests = tcp.idle_timeout if tcp is not None else None
    return Effect(tls, traffic, sockets, durations.seconds(rests) if rests is not None else None)


EFFECTS = Effects(ANCESTRY, _effect, CLOSED, _closing)
"""Settled before the listeners that read them. Elsewhere: the status
(`dag.gateway.clientports`)."""
