"""What a ClientTrafficPolicy means, and what its owner is told.

A policy that cannot be served as safely as it asks closes its listeners. Elsewhere: which part of
it holds where (`dag.gateway.clientports`, `dag.gateway.listenerclients`).
"""

from collections.abc import Iterator

from crds.envoygateway.clienttrafficpolicy import ClientTrafficPolicy
from crds.envoygateway.policytargets import UnreadPolicy
from crds.gateway.known import unknown_values
from crds.meta import NamespacedName
from crds.records import dataclass
from crds.unserved import unserved
from dag import nodes, tables
from dag.engine.view import View, query
from dag.gateway.envoypolicies import clienttls, clienttraffic
from dag.gateway.envoypolicies.clienttls import KIND, ClientTls
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policyeffects import Effects, Meaning
from dag.gateway.envoypolicies.policytargets import PolicyKind
from dag.problems import Problem, Refused
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place, gathered
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
    """Seconds that connections of streams may rest; None: as the settings say."""
    is_closed: bool = False
    """They take no requests: something guards them that is not served."""


CLOSED = Effect(is_closed=True)


@query
def meaning(view: View, key: NamespacedName) -> Meaning[Effect] | None:
    """What a policy means; None if it is not there."""
    found = view.read(tables.CLIENT_TRAFFIC_POLICIES, key)
    if found is None:
        return None
    own = complaints.attached(KIND, key)
    if isinstance(found, UnreadPolicy):
        return Meaning(CLOSED, (complaints.policy_closes_listeners(own, "cannot be read"),))
    closing = tuple(_closing(view, found, own))
    effect, told = gathered(_effect(view, found, own))
    if effect is None or closing:
        return Meaning(CLOSED, (*closing, *told))
    return Meaning(effect, told)


def _closing(view: View, found: ClientTrafficPolicy, own: Place) -> Iterator[Problem]:
    """What the policy says that is not served, or not known, and may keep somebody out."""
    for field in unserved(found):
        if field.guards:
            at = Place(own.subject, field.path)
            yield complaints.policy_closes_listeners(at, f"is {field.why}")
    for unknown in view.read(tables.UNKNOWN_FIELDS, own.subject) or ():
        if "clientValidation" in unknown:
            text = f"has a field that is not known here, {unknown}"
            yield complaints.policy_closes_listeners(own, text)


def _effect(view: View, found: ClientTrafficPolicy, own: Place) -> Findings[Effect | None]:
    """What it asks for; None if that cannot be served as safely."""
    spec = found.spec
    for value in unknown_values(found):
        if "clientValidation" not in value.path:
            at = Place(own.subject, value.path)
            yield complaints.policy_field_not_served(at, value.message)
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


EFFECTS = Effects(ANCESTRY, meaning, CLOSED)
"""Settled before the listeners that read them. What owners are told: `dag.gateway.clientports`."""
