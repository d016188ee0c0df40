"""The statuses of HTTPProxies and TLSCertificateDelegations.

`Valid` is true exactly when no error is about the object. A child's status reads the reports of all
expansions, each report once however many roots include it. Source: HTTPProxy reference,
"HTTPProxyStatus", "DetailedCondition".
"""

from collections.abc import Iterator

from crds.delegation import TLSCertificateDelegation
from crds.httpproxy import HTTPProxy
from crds.meta import NamespacedName
from crds.unserved import unserved
from crds.virtualhost import VirtualHost
from dag import contourstatus, tables
from dag.engine.view import View, query
from dag.httpproxy import clients, expansion, fallback, owner, serving
from dag.problems import Problem, delegation
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.statuses import ContourStatus


@query
def status(view: View, key: NamespacedName) -> ContourStatus | None:
    """The status of an HTTPProxy; None if it is not for this controller."""
    proxy = view.read(tables.HTTPPROXIES, key)
    if proxy is None or not owner.is_ours(view, proxy):
        return None
    reports = view.bucket(expansion.REPORTS, key)
    found = {it for it in reports if it is not None} | set(_own_problems(view, proxy))
    if expansion.REACHED not in reports:
        found.add(problems.orphaned(problems.spec(key)))
    elif proxy.spec.virtualhost is None and not view.count(serving.SERVED, key):
        found.add(problems.lost_with_its_roots(problems.spec(key)))
    return contourstatus.status(problems.KIND, found)


@query
def delegation_status(view: View, key: NamespacedName) -> ContourStatus | None:
    """The status of a TLSCertificateDelegation, which is never wrong as a whole."""
    found = view.read(tables.DELEGATIONS, key)
    if found is None:
        return None
    return contourstatus.status("TLSCertificateDelegation", set(_doubts(view, found)))


def _doubts(view: View, found: TLSCertificateDelegation) -> Iterator[Problem]:
    key = found.metadata.key
    for index, it in enumerate(found.spec.delegations):
        if "*" in it.target_namespaces and it.target_namespaces != ("*",):
            yield delegation.star_among_names(key, index)
        secret = NamespacedName(key.namespace, it.secret_name)
        if view.read(tables.SECRETS, secret) is None:
            yield delegation.secret_not_found(key, index, secret)


def _own_problems(view: View, proxy: HTTPProxy) -> Iterator[Problem]:
    """The problems of an HTTPProxy that do not depend on the roots that include it."""
    place = problems.spec(proxy.metadata.key)
    for field in unserved(proxy):
        at = place._replace(path=field.path)
        yield problems.unsupported_guard(at) if field.guards else problems.ignored_field(at)
    if proxy.spec.virtualhost is not None:
        at, host = place.at("virtualhost"), proxy.spec.virtualhost
        yield from _lost_names(view, at, host)
        yield from _hidden_tls(view, at, proxy)


def _hidden_tls(view: View, place: Place, proxy: HTTPProxy) -> Iterator[Problem]:
    """What the owners of other hosts, or Gateways, keep from the TLS of a root."""
    found = view.ask(expansion.expansion, proxy.metadata.key)
    claim = found.claim if found is not None else None
    if claim is None or claim.tls is None:
        return
    own = [it for it in owner.fqdns(proxy) if view.ask(owner.owner, it) == proxy.metadata.key]
    if claim.is_fallback:
        yield from fallback.hidden(view, place, own)
    for fqdn in own:
        yield from clients.overruled(view, place.at("tls"), fqdn, claim.tls)


def _lost_names(view: View, place: Place, host: VirtualHost) -> Iterator[Problem]:
    written = [("fqdn", host.fqdn), *((f"aliases[{n}]", it) for n, it in enumerate(host.aliases))]
    for field, text in written:
        fqdn = text.strip().lower()
        if why := owner.refusal(fqdn):
            yield problems.fqdn_not_valid(place.at(field), fqdn, why)
            continue
        winner = view.ask(owner.owner, fqdn)
        if winner not in (None, place.subject.key):
            yield problems.duplicate_vhost(place.at(field), fqdn, winner)
