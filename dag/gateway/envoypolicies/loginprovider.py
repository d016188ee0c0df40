"""The OpenID provider of a SecurityPolicy: its endpoints, and how Envoy reaches that for tokens.

Endpoints that the policy does not name are those of the provider's discovery document. Without
`backendRefs` Envoy resolves the name of the token endpoint and trusts the authorities of its
machine. So the author of a policy can make it connect to any name, as with the server of a key set:
it sends a request for tokens there, over verified TLS, and nobody sees the answer.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from crds.envoygateway import policylogin as crd
from crds.gateway.references import BackendObjectReference
from crds.records import replace
from dag import nodes
from dag.engine.view import View
from dag.gateway import backends, tokenkeys
from dag.problems import Problem, Refused
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place
from dag.references import discovery, keysets
from dag.values import addresses, durations, uris

KIND: Final = "SecurityPolicy"
REFRESH = 600.0
"""Seconds after which a discovery document is fetched again."""
_HTTPS_PORT, _HTTP_PORT = 443, 80


def endpoints(
    view: View, at: Place, written: crd.LoginProvider
) -> Findings[nodes.ProviderEndpoints]:
    """The endpoints that the policy names, else the provider's; Refused if not known."""
    found = nodes.ProviderEndpoints("", "")
    if not written.authorization_endpoint or not written.token_endpoint:
        found = yield from _discovered(view, at.at("issuer"), written.issuer)
    if text := written.authorization_endpoint:
        _check_page(at.at("authorizationEndpoint"), text)
        found = found._replace(authorization=text)
    if text := written.end_session_endpoint:
        _check_page(at.at("endSessionEndpoint"), text)
        found = found._replace(end_session=text)
    if text := written.token_endpoint:
        _check_server(at.at("tokenEndpoint"), text, is_named=bool(written.backend_refs))
        found = found._replace(token=text)
    return found


def _discovered(view: View, at: Place, issuer: str) -> Findings[nodes.ProviderEndpoints]:
    refusal = uris.refusal(issuer, ("https",))
    why = refusal.why if refusal is not None else ""
    if not why and any(it in issuer for it in "?#"):
        why = "an issuer has no query and no fragment"
    if why:
        raise Refused(complaints.policy_closes(at, why))
    tls = nodes.UpstreamTls(system=True, sni=uris.host(issuer))
    source = nodes.Discovery(issuer, tls, tokenkeys.TIMEOUT, REFRESH)
    state = view.ask(keysets.state, source)
    known = keysets.keys(view, source)
    if not known:
        raise Refused(complaints.policy_closes(at, state.fault))
    if state.fault:
        text = f"the last discovery document that was fetched stays in use: {state.fault}"
        yield complaints.policy_remark(at, text)
    return discovery.endpoints(known)


def _check_page(at: Place, text: str) -> None:
    """Refused for a URL to which no browser can be sent."""
    if not _is_page(text):
        why = f"{text[:60]!r} is no http or https URL of a page"
    elif not uris.is_plain(text):
        why = f"{text[:60]!r} has characters that no URL has"
    else:
        return
    raise Refused(complaints.policy_closes(at, why))


def _is_page(text: str) -> bool:
    """Whether it is a URL of http or https with a host and without a user and a fragment."""
    try:
        parts = urlsplit(text)
        is_whole = bool(parts.hostname) and parts.port != 0 and parts.username is None
    except ValueError:
        return False
    return is_whole and parts.scheme in {"http", "https"} and not parts.fragment


def _check_server(at: Place, text: str, *, is_named: bool) -> None:
    """Refused for a token endpoint that Envoy must not connect to, or not without TLS."""
    refusal = uris.refusal(text, ("https", "http") if is_named else ("https",))
    why = refusal.why if refusal is not None else ""
    if why and refusal is not None and refusal.part == "scheme" and not is_named:
        why += ", unless backendRefs name the server"
    if not why and not uris.is_plain(text):
        why = f"{text[:60]!r} has characters that no URL of a server has"
    if why:
        raise Refused(complaints.policy_closes(at, why))


def cluster(view: View, at: Place, written: crd.LoginProvider, token: str) -> nodes.Cluster:
    """The cluster of the token endpoint; Refused if there can be none."""
    named, *more = written.backend_refs or (None,)
    if named is None:
        return _looked_up(at, token)
    if more:
        text = "only one server is served"
        raise Refused(complaints.policy_closes(at.at("backendRefs"), text))
    place = at.at("backendRefs", 0)
    found = backends.cluster(view, named, place)
    if isinstance(found, Problem):
        why = found.message.removeprefix(f"{place.path}: ")
        raise Refused(complaints.policy_closes(place, why))
    if found.tls is None and urlsplit(token).scheme == "https":
        return replace(found, protocol="tls", tls=_tls(uris.host(token)))
    return found


def references(written: crd.PolicyLogin | None) -> tuple[BackendObjectReference, ...]:
    """The servers that a policy names."""
    return written.provider.backend_refs if written is not None else ()


def _looked_up(at: Place, token: str) -> nodes.Cluster:
    name, parts = uris.host(token), urlsplit(token)
    if addresses.of_family(name, "IPv6" if ":" in name else "IPv4") is not None:
        text = "the host of a token endpoint must be a name, which its certificate is for"
        raise Refused(complaints.policy_closes(at.at("tokenEndpoint"), text))
    port = parts.port or (_HTTPS_PORT if parts.scheme == "https" else _HTTP_PORT)
    source = nodes.ServicePort(at.subject.key, port, kind=KIND)
    address = nodes.DnsAddress(name, port)
    return nodes.Cluster(source, address, "tls", tls=_tls(name))


def _tls(name: str) -> nodes.UpstreamTls:
    return nodes.UpstreamTls(system=True, names=(nodes.AlternativeName("DNS", name),), sni=name)


def retry(at: Place, written: crd.LoginBackendSettings | None) -> nodes.LoginRetry | None:
    """The retries of requests to the token endpoint; Refused for a back-off that makes no sense."""
    found = written.retry if written is not None else None
    if found is None or not found.num_retries:
        return None
    back_off = found.per_retry.back_off if found.per_retry is not None else None
    times = tuple(_back_off(at.at("retry").at("perRetry").at("backOff"), back_off))
    backoff, longest = times or (None, None)
    triggers = found.retry_on.triggers if found.retry_on is not None else ()
    return nodes.LoginRetry(triggers or _FAILURES, found.num_retries, backoff, longest)


_FAILURES = ("5xx", "gateway-error", "connect-failure", "reset")


def _back_off(at: Place, written: crd.LoginBackOff | None) -> Iterator[float | None]:
    if written is None or (written.base_interval is None and written.max_interval is None):
        return
    if written.base_interval is None:
        text = "must be set where maxInterval is"
        raise Refused(complaints.policy_closes(at.at("baseInterval"), text))
    base = durations.seconds(written.base_interval)
    longest = durations.seconds(written.max_interval) if written.max_interval is not None else None
    if base <= 0:
        text = "must be at least 1ms"
        raise Refused(complaints.policy_closes(at.at("baseInterval"), text))
    if longest is not None and longest < base:
        text = "must not be shorter than baseInterval"
        raise Refused(complaints.policy_closes(at.at("maxInterval"), text))
    yield base
    yield longest
