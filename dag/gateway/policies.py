"""BackendTLSPolicies: how TLS is spoken to a Service port or Backend (GEP-1897).

A policy that names the port beats one for the whole Service; of two equal ones the older wins, and
the other's status says so. What a policy asks for is never weakened: if none of its authorities can
be read, its backends get no requests. Elsewhere: what its owner is told (`policystatus`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crds.gateway.backendtlspolicy import BackendTLSPolicy, BackendTLSPolicyValidation
from crds.gateway.known import unknown_values
from crds.gateway.references import LocalObjectReference
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import nodes, tables
from dag.engine.view import Index, View, query
from dag.problems import Problem, referents
from dag.problems import listeners as problems
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.references import trust
from dag.seniority import Senior, senior


class Target(NamedTuple):
    """A Service or Backend, or one of its ports."""

    service: NamespacedName
    section: str = ""
    """The port: its name, or its number in a Backend; if empty, every port that no other policy
    names."""
    kind: str = "Service"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a policy asks for, and what is wrong with it."""

    tls: nodes.UpstreamTls | None
    problems: tuple[Problem, ...] = ()


@query
def wanted(view: View, key: NamespacedName) -> Wanted:
    """What a policy asks for; no TLS where it cannot be met."""
    found = view.read(tables.BACKEND_TLS_POLICIES, key)
    if found is None:
        return Wanted(None)
    return validated(view, found.spec.validation, complaints.policy(key).at("validation"))


def validated(view: View, validation: BackendTLSPolicyValidation, at: Place) -> Wanted:
    """What the field `validation` of a policy or backend asks for."""
    judged = tuple(_findings(view, validation, at))
    told = tuple(it for it in judged if isinstance(it, Problem))
    if any(it.type == ConditionType.Accepted and it.severity == "error" for it in told):
        return Wanted(None, told)
    authorities = tuple(sorted({it for it in judged if isinstance(it, ObjectRef)}))
    return Wanted(_tls(validation, authorities), told)


@query
def winner(view: View, target: Target) -> NamespacedName | None:
    """The policy that holds for a target: the oldest."""
    claims = view.bucket(POLICIES, target)
    return min(claims).key if claims else None


@query
def tls_towards(view: View, port: nodes.ServicePort) -> nodes.UpstreamTls | Problem | None:
    """How TLS is spoken to a Service port, or why it cannot be; None if there is no policy."""
    return towards(view, Target(port.service, port.port_name))


def towards(view: View, target: Target) -> nodes.UpstreamTls | Problem | None:
    """How TLS is spoken to a Service or Backend, or to one of its ports if `target` names one."""
    named = view.ask(winner, target) if target.section else None
    policy = named or view.ask(winner, target._replace(section=""))
    if policy is None:
        return None
    return view.ask(wanted, policy).tls or referents.policy_not_met(policy)


def _findings(
    view: View, validation: BackendTLSPolicyValidation, at: Place
) -> Iterator[ObjectRef | Problem]:
    for unknown in unknown_values(validation):
        field = Place(at.subject, f"{at.path}.{unknown.path}")
        yield complaints.policy_value_not_known(field, unknown.message)
    known = validation.well_known_ca_certificates
    yield from trusted(view, validation.ca_certificate_refs, known, at)


def trusted(
    view: View, references: Sequence[LocalObjectReference], known: str | None, at: Place
) -> tuple[ObjectRef | Problem, ...]:
    """The objects with the authorities of a policy or backend, and what is wrong with them."""
    if known not in (None, "System"):
        field = at.at("wellKnownCACertificates")
        return (complaints.policy_value_not_known(field, f"{known!r} is not known; System is"),)
    if known is not None:
        return ()
    found = tuple(
        _authority(view, it, at.at("caCertificateRefs", index))
        for index, it in enumerate(references)
    )
    is_empty = not any(isinstance(it, ObjectRef) for it in found)
    return (*found, problems.no_valid_authority(at)) if is_empty else found


def _authority(view: View, reference: LocalObjectReference, at: Place) -> ObjectRef | Problem:
    if why_not := trust.kind_refusal(view, reference.group, reference.kind):
        return complaints.policy_authority_kind(at, why_not)
    own = NamespacedName(at.subject.namespace, reference.name)
    ref = trust.named(reference.kind, own)
    if why := view.ask(trust.refusal, nodes.Trust((ref,))):
        return problems.authority_not_valid(at, why.message)
    return ref


def _tls(
    validation: BackendTLSPolicyValidation, authorities: tuple[ObjectRef, ...]
) -> nodes.UpstreamTls:
    """TLS with `hostname` as server name, which is also checked unless other names are given."""
    names = tuple(
        nodes.AlternativeName("DNS", it.hostname)
        if it.hostname
        else nodes.AlternativeName("URI", it.uri or "")
        for it in validation.subject_alt_names
    )
    return nodes.UpstreamTls(
        trust=nodes.Trust(authorities) if authorities else None,
        system=not authorities,
        names=names or (nodes.AlternativeName("DNS", validation.hostname),),
        sni=validation.hostname,
    )


def targets(found: BackendTLSPolicy) -> tuple[Target, ...]:
    """The Services and Backends that a policy is for, all in its own namespace."""
    return tuple(
        Target(NamespacedName(found.metadata.namespace, it.name), it.section_name or "", it.kind)
        for it in found.spec.target_refs
        if (it.group, it.kind) in TARGETS
    )


TARGETS = frozenset({("", "Service"), (ENVOY_GATEWAY, "Backend")})
"""The kinds that a policy may be for."""


def _by_target(_: NamespacedName, found: BackendTLSPolicy) -> Iterator[tuple[Target, Senior]]:
    return ((it, senior(found.metadata)) for it in targets(found))


POLICIES: Index[Target, Senior] = Index(
    "BackendTLSPolicies of a Service or Backend", tables.BACKEND_TLS_POLICIES, _by_target
)

INDEXES = (POLICIES,)
