"""AuthenticationFilters: the tokens (JWTs) that requests of a rule must have.

Source: the AuthenticationFilter of Envoy Gateway 0.5. Any provider of a filter suffices. A filter
of which one provider cannot be built serves nobody; one that lacks the keys of some providers takes
the tokens of the others. What Envoy gets of a filter (`providers`) and what routes read of it
(`REMARKS`) are separate, so an edit of issuers or keys affects no route, however many name the
filter.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from crds.envoygateway import authenticationfilter as crd
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import nodes, tables
from dag.engine.view import Index, Kept, View, query
from dag.gateway import filteruses, tokenkeys
from dag.gateway.resolving import Reference
from dag.problems import Problem, Refused
from dag.problems import gateway as problems
from dag.problems.places import Findings, Place

KIND = "AuthenticationFilter"

Remarks = Problem | tuple[str, ...]
"""The remarks in the statuses of a filter's routes; a problem if the filter cannot be served."""


def policies(
    view: View, references: Sequence[Reference], made: nodes.Policies
) -> Findings[nodes.Policies]:
    """The policies with the tokens that a rule requires."""
    target, at = references[0]
    for other, second in references[1:]:
        if other != target:
            text = "only one AuthenticationFilter can stand on a rule"
            raise Refused(problems.filter_not_valid(second, text))
    found = next(iter(view.bucket(REMARKS, target)), None)
    if found is None:
        raise Refused(problems.filter_not_found(at, f"{KIND} {target} not found"))
    if isinstance(found, Problem):
        raise Refused(problems.filter_not_valid(at, f"{KIND} {target}: {found.message}"))
    for text in found:
        yield problems.filter_remark(at, f"{KIND} {target}: {text}")
    return replace(made, jwt=nodes.Jwt(f"{KIND}/{target}", ObjectRef(KIND, *target)))


@query
def remarks(view: View, key: NamespacedName) -> Remarks | None:
    """The remarks of a filter for its routes; None if there is no such filter. They stay the same
    when other tokens are required or other keys are known."""
    written = view.read(tables.AUTHENTICATION_FILTERS, key)
    if written is None:
        return None
    found = view.ask(providers, key)
    if isinstance(found, Problem):
        return found
    place = Place(ObjectRef(KIND, *key))
    faults = [*_faults(view, place, found)]
    if not any(tokenkeys.state(view, it.jwks).is_known for it in found):
        return problems.filter_not_valid(place.at("jwtProviders"), "; ".join(faults))
    return tuple(faults)


@query
def providers(view: View, key: NamespacedName) -> tuple[nodes.JwtProvider, ...] | Problem:
    """The providers of a filter, with or without keys; none if there is no such filter."""
    written = view.read(tables.AUTHENTICATION_FILTERS, key)
    place = Place(ObjectRef(KIND, *key))
    try:
        return tuple(_providers(place, written)) if written is not None else ()
    except Refused as refused:
        return refused.problem


def _faults(view: View, place: Place, found: Sequence[nodes.JwtProvider]) -> Iterator[str]:
    for index, provider in enumerate(found):
        state = tokenkeys.state(view, provider.jwks)
        if state.fault:
            at = place.at("jwtProviders", index)
            kept = "the last key set that was fetched stays in use: " if state.is_known else ""
            yield f"{at.path}: {kept}{state.fault}"


def _providers(place: Place, written: crd.AuthenticationFilter) -> Iterator[nodes.JwtProvider]:
    every = written.spec.jwt_providers
    if not every:
        text = "needs at least one provider"
        raise Refused(problems.filter_not_valid(place.at("jwtProviders"), text))
    seen: set[str] = set()
    for index, it in enumerate(every):
        at = place.at("jwtProviders", index)
        if it.name in seen or not _NAME.fullmatch(it.name):
            why = "is the name of two providers" if it.name in seen else "is no qualified name"
            raise Refused(problems.filter_not_valid(at.at("name"), f"{it.name[:60]!r} {why}"))
        seen.add(it.name)
        yield _provider(at, it)


_NAME = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?"
)
"""A qualified name of Kubernetes, which may be a DNS name."""
_ISSUER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+|[^\s@]+@[^\s@]+")
"""A URI with a scheme, or an e-mail address."""


def _provider(at: Place, written: crd.JWTAuthenticationProvider) -> nodes.JwtProvider:
    """Named by its content, so that equal ones are one."""
    if written.issuer and not _ISSUER.fullmatch(written.issuer):
        text = f"{written.issuer[:60]!r} is neither a URI nor an e-mail address"
        raise Refused(problems.filter_not_valid(at.at("issuer"), text))
    made = nodes.JwtProvider(
        name="",
        jwks=tokenkeys.source(at, written),
        issuer=written.issuer,
        audiences=written.audiences,
        claim_headers=tokenkeys.claim_headers(
            at, written.claim_to_headers, problems.filter_not_valid
        ),
    )
    return replace(made, name=blake2b(repr(made).encode(), digest_size=16).hexdigest())


def _entries(key: NamespacedName, found: Remarks) -> Iterator[tuple[NamespacedName, Remarks]]:
    yield key, found


REMARKS: Index[NamespacedName, Remarks] = Index(
    "remarks on AuthenticationFilters", remarks, _entries
)
"""By filter: one member, its remarks, if the filter exists and a route names it."""

INDEXES = (REMARKS,)
KEPT = (Kept(remarks, filteruses.AUTHENTICATED),)
"""Settled before the routes that read `REMARKS`. Key sets of a filter that no route names are not
fetched."""
