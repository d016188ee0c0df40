"""The login of a SecurityPolicy (OpenID Connect): who may pass, and what signs the cookies.

A login that cannot be built closes the routes of the policy. The secrets for Envoy (`secrets`) and
what routes read (`required`) are separate, so a new secret changes no route, and no route contains
one. Elsewhere: the endpoints of the provider (`loginprovider`).

The key of the cookies is derived (`signing`) from the secret of the client and the name of the
policy. So it is the same on every replica and after every restart, and nothing has to be stored
that could be lost; the cookies of one policy are not valid for another; and replacing the client
secret, as after a leak, ends every login. Users get HMACs, so they can guess secrets offline: a
short secret is reported.
"""

import re
from collections.abc import Iterator
from hashlib import blake2b

from crds.envoygateway import policycredentials
from crds.envoygateway import policylogin as crd
from crds.envoygateway.securitypolicy import SecurityPolicySpec
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import nodes
from dag.engine.view import View, query
from dag.gateway.envoypolicies import (
    loginprovider,
    policymerging,
    securitycredentials,
    securitytokens,
)
from dag.problems import Problem, Refused
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place, gathered
from dag.references import opaque, signing
from dag.values import durations, headers, regexes

KIND = loginprovider.KIND
CLIENT_ID, CLIENT_SECRET = "client-id", "client-secret"
"""Entries of Secrets."""
REDIRECT = "%REQ(x-forwarded-proto)%://%REQ(:authority)%/oauth2/callback"
LOGOUT = "/logout"
OPENID = "openid"
"""The scope that makes a login one of OpenID Connect."""
SHORT_SECRET = 16
"""Bytes; whoever has a cookie may guess a shorter secret."""
_REDIRECT = re.compile(
    r"(?:(?i:https?)|%REQ\((?i:x-forwarded-proto)\)%)://"
    r"(?:(?i:[a-z0-9.-]+|\[[0-9a-f:.]+\])|%REQ\((?i::authority)\)%)(?::[0-9]{1,5})?(/[!-~]*)"
)
_NO_PATH = re.compile(r"[%?#]")
_COOKIE = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,200}")


@dataclass(frozen=True, slots=True)
class Reading:
    """The secrets of a policy, or why they are not available; and remarks."""

    known: nodes.LoginSecrets | Problem
    told: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A `Reading` without the secrets: it stays equal when these are renewed."""

    refusal: Problem | None = None
    told: tuple[Problem, ...] = ()


@query
def reading(view: View, key: NamespacedName) -> Reading | None:
    """The secrets of a policy; None if it has no login."""
    found = securitytokens.MERGING.read(view, key)
    if found is None or found.spec is None or found.spec.oidc is None:
        return None
    at = found.own.at("oidc").at("clientSecret")
    try:
        known, told = gathered(_secrets(view, at, key, found.spec.oidc.client_secret))
    except Refused as refused:
        return Reading(refused.problem)
    return Reading(known, told)


@query
def secrets(view: View, key: NamespacedName) -> nodes.LoginSecrets | None:
    """The secrets of a policy, where there are any."""
    found = view.ask(reading, key)
    known = found.known if found is not None else None
    return known if isinstance(known, nodes.LoginSecrets) else None


@query
def state(view: View, key: NamespacedName) -> State:
    """Whether a policy has its secrets."""
    found = view.ask(reading, key)
    if found is None:
        return State()
    refusal = found.known if isinstance(found.known, Problem) else None
    return State(refusal, found.told)


@query
def client_id(view: View, key: NamespacedName) -> str | Problem:
    """The ID of the client in the Secret that a policy names; empty if it names none."""
    found = securitytokens.MERGING.read(view, key)
    written = found.spec.oidc if found is not None and found.spec is not None else None
    if found is None or written is None or written.client_id_ref is None:
        return ""
    at = found.own.at("oidc").at("clientIDRef")
    try:
        return _entry(view, at, written.client_id_ref, CLIENT_ID)
    except Refused as refused:
        return refused.problem


def required(view: View, own: Place, spec: SecurityPolicySpec) -> Findings[nodes.Login]:
    """The login that routes ask for; Refused if something of it is not available."""
    assert spec.oidc is not None
    written, at = spec.oidc, own.at("oidc")
    key = policymerging.source(own, "oidc")
    found = view.ask(state, key)
    if found.refusal is not None:
        raise Refused(found.refusal)
    yield from found.told
    callback = _callback(at.at("redirectURL"), written.redirect_url or REDIRECT)
    endpoints = yield from loginprovider.endpoints(view, at.at("provider"), written.provider)
    config = written.cookie_config
    if written.forward_id_token is not None and written.pass_through_auth_header:
        text = "requests that passThroughAuthHeader spares a login keep what clients send in it"
        yield complaints.policy_remark(at.at("forwardIDToken").at("header"), text)
    return nodes.Login(
        source=ObjectRef(KIND, *key),
        client_id=_client_id(view, at, key, written),
        endpoints=endpoints,
        cluster=loginprovider.cluster(view, at.at("provider"), written.provider, endpoints.token),
        redirect=written.redirect_url or REDIRECT,
        callback=callback,
        logout=_logout(at.at("logoutPath"), written.logout_path or LOGOUT, callback),
        cookies=_cookies(at.at("cookieNames"), key, written.cookie_names),
        scopes=(() if OPENID in written.scopes else (OPENID,)) + written.scopes,
        resources=written.resources,
        domain=written.cookie_domain or "",
        same_site=config.same_site if config is not None else None,
        denied=tuple(_denied(at.at("denyRedirect"), written.deny_redirect)),
        passed=tuple(sorted(set(_passed(at, spec)), key=repr)),
        forwards_access_token=bool(written.forward_access_token),
        id_token_header=_id_token_header(at, spec),
        lifetime=_seconds(written.default_token_ttl),
        refreshes=written.refresh_token,
        refresh_lifetime=_seconds(written.default_refresh_token_ttl),
        login_time=_login_time(at.at("csrfTokenTTL"), written.csrf_token_ttl),
        is_plain=bool(written.disable_token_encryption),
        retry=loginprovider.retry(
            at.at("provider").at("backendSettings"), written.provider.backend_settings
        ),
    )


def _secrets(
    view: View, at: Place, key: NamespacedName, written: policycredentials.SecretReference
) -> Findings[nodes.LoginSecrets]:
    secret = _entry(view, at, written, CLIENT_SECRET).encode()
    if len(secret) < SHORT_SECRET:
        text = f"is shorter than {SHORT_SECRET} bytes: who has logged in may guess it"
        yield complaints.policy_remark(at, text)
    return nodes.LoginSecrets(secret, signing.key(secret, f"login cookies of {KIND} {key}"))


def _entry(view: View, at: Place, written: policycredentials.SecretReference, entry: str) -> str:
    """A text of a Secret; Refused if there is none."""
    content = securitycredentials.secret(view, at, written).get(entry)
    named = f"Secret {written.namespace or at.subject.namespace}/{written.name}"
    if content is None:
        raise Refused(complaints.policy_closes(at, f"{named} has no {entry}"))
    if found := opaque.as_text(content):
        return found
    raise Refused(complaints.policy_closes(at, f"{named} has a {entry} that is empty, or no text"))


_CLIENT_ID = re.compile(r"[!-~]+")
"""What Envoy writes into the `Location` of responses as it is."""


def _client_id(view: View, at: Place, key: NamespacedName, written: crd.PolicyLogin) -> str:
    found = written.client_id or _referred(view, key)
    if _CLIENT_ID.fullmatch(found):
        return found
    place = at.at("clientID" if written.client_id else "clientIDRef")
    raise Refused(complaints.policy_closes(place, "has characters that no URL has"))


def _referred(view: View, key: NamespacedName) -> str:
    found = view.ask(client_id, key)
    if isinstance(found, Problem):
        raise Refused(found)
    return found


def _callback(at: Place, redirect: str) -> str:
    """The path of the URL to which browsers are sent back; Refused for any other form."""
    found = _REDIRECT.fullmatch(redirect)
    if found is None or _NO_PATH.search(found[1]) or found[1] == "/":
        text = (
            f"{redirect[:80]!r} is not of the form scheme://host/path, with a path of its own and"
            " no query; the scheme may be %REQ(x-forwarded-proto)%, the host %REQ(:authority)%"
        )
        raise Refused(complaints.policy_closes(at, text))
    return found[1]


_PATH = re.compile(r"/[!-~]*")


def _logout(at: Place, path: str, callback: str) -> str:
    if not _PATH.fullmatch(path) or _NO_PATH.search(path):
        text = f"{path[:60]!r} is no path without a query"
        raise Refused(complaints.policy_closes(at, text))
    if path == callback:
        raise Refused(complaints.policy_closes(at, "is the path of redirectURL, too"))
    return path


def _cookies(
    at: Place, policy: NamespacedName, written: crd.LoginCookieNames | None
) -> nodes.LoginCookies:
    """Names of cookies that are unique to the policy and the same after every restart."""
    given = written or crd.LoginCookieNames()
    suffix = blake2b(f"{KIND}/{policy}".encode(), digest_size=4).hexdigest()
    made = nodes.LoginCookies(
        access_token=given.access_token or f"AccessToken-{suffix}",
        id_token=given.id_token or f"IdToken-{suffix}",
        refresh_token=f"RefreshToken-{suffix}",
        expires=f"OauthExpires-{suffix}",
        hmac=f"OauthHMAC-{suffix}",
        nonce=f"OauthNonce-{suffix}",
        verifier=f"CodeVerifier-{suffix}",
    )
    for field, name in (("accessToken", made.access_token), ("idToken", made.id_token)):
        if not _COOKIE.fullmatch(name):
            text = f"{name[:60]!r} is not a valid name of a cookie"
            raise Refused(complaints.policy_closes(at.at(field), text))
        if made.count(name) > 1:
            text = f"{name[:60]!r} is the name of another cookie of the login"
            raise Refused(complaints.policy_closes(at.at(field), text))
    return made


_OPERATORS: dict[str, nodes.Operation] = {
    "Exact": "exact",
    "Prefix": "prefix",
    "Suffix": "suffix",
    "RegularExpression": "regex",
}


def _denied(at: Place, written: crd.DenyRedirect | None) -> Iterator[nodes.HeaderMatch]:
    for index, it in enumerate(written.headers if written is not None else ()):
        place = at.at("headers", index)
        if why := headers.name_refusal(it.name):
            raise Refused(complaints.policy_closes(place.at("name"), f"{it.name[:60]!r} {why}"))
        operator = _OPERATORS.get(it.type, "exact")
        why = regexes.refusal(it.value) if operator == "regex" else headers.value_refusal(it.value)
        if why:
            raise Refused(complaints.policy_closes(place.at("value"), why))
        yield nodes.HeaderMatch(it.name.lower(), nodes.ValueMatch(operator, it.value))


def _passed(at: Place, spec: SecurityPolicySpec) -> Iterator[nodes.HeaderMatch]:
    """Requests that pass by a token in a header; Refused if not every such token is verified."""
    assert spec.oidc is not None
    if not spec.oidc.pass_through_auth_header:
        return
    place = at.at("passThroughAuthHeader")
    if spec.jwt is None or spec.jwt.optional or spec.jwt.fail_open:
        text = "needs jwt, neither optional nor failOpen: else such a request is not verified"
        raise Refused(complaints.policy_closes(place, text))
    for provider in spec.jwt.providers:
        sources = provider.extract_from
        if sources is None or not (sources.headers or sources.cookies or sources.params):
            yield _with("authorization", "Bearer ")
            continue
        for it in sources.headers:
            yield _with(it.name.lower(), it.value_prefix or "")


def _with(name: str, prefix: str) -> nodes.HeaderMatch:
    value = nodes.ValueMatch("prefix", prefix) if prefix else nodes.ValueMatch("present")
    return nodes.HeaderMatch(name, value)


def _id_token_header(at: Place, spec: SecurityPolicySpec) -> str:
    assert spec.oidc is not None
    if spec.oidc.forward_id_token is None:
        return ""
    place, name = at.at("forwardIDToken").at("header"), spec.oidc.forward_id_token.header
    if why := headers.request_refusal(name):
        raise Refused(complaints.policy_closes(place, f"{name[:60]!r} {why}"))
    if any(it.name == name.lower() for it in _passed(at, spec)):
        text = "is a header of passThroughAuthHeader, too"
        raise Refused(complaints.policy_closes(place, text))
    return name.lower()


def _seconds(text: str | None) -> float | None:
    return durations.seconds(text) if text is not None else None


def _login_time(at: Place, text: str | None) -> float | None:
    found = _seconds(text)
    if found is not None and found < 1:
        raise Refused(complaints.policy_closes(at, "must be at least 1s: nobody could log in"))
    return found
