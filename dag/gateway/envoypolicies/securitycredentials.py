"""API keys and passwords (basic auth) of a SecurityPolicy: where requests have them, and which.

The keys and passwords for Envoy (`known`) and what routes read (`required`) are separate, so a new
key changes no route, and no route contains a key. A Secret that cannot be used closes the routes of
the policy; an entry that cannot be a key is reported and left out.
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import field

from crds.envoygateway import policycredentials as crd
from crds.envoygateway.securitypolicy import SecurityPolicySpec
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import nodes
from dag.engine.view import View, query
from dag.gateway.envoypolicies import policymerging, securitytokens
from dag.problems import Problem, Refused
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place, gathered
from dag.references import opaque
from dag.values import headers

KIND = securitytokens.KIND
USERS = ".htpasswd"
"""The entry of a Secret with the users."""
_SHA = "{SHA}"
_DIGEST = 20
"""Bytes of SHA-1."""
_COOKIE = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""A valid name of a cookie (RFC 6265, section 4.1.1)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The credentials of a policy, or why they are not available; and remarks."""

    known: nodes.Known | Problem = field(repr=False)
    told: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A `Reading` without the keys and passwords: it stays equal when these are renewed."""

    sources: tuple[nodes.KeySource, ...] = ()
    has_passwords: bool = False
    refusal: Problem | None = None
    told: tuple[Problem, ...] = ()


@query
def reading(view: View, key: NamespacedName) -> Reading:
    """The credentials of a policy."""
    found = securitytokens.MERGING.read(view, key)
    if found is None or found.spec is None:
        return Reading(nodes.Known())
    try:
        known, told = gathered(_known(view, found.own, found.spec))
    except Refused as refused:
        return Reading(refused.problem)
    return Reading(known, told)


@query
def state(view: View, key: NamespacedName) -> State:
    """Whether the credentials of a policy are available, and where requests have to show them."""
    found = view.ask(reading, key)
    if isinstance(found.known, Problem):
        return State(refusal=found.known)
    keys = found.known.keys
    sources = keys.sources if keys is not None else ()
    return State(sources, found.known.passwords is not None, told=found.told)


def required(view: View, own: Place, written: SecurityPolicySpec) -> Findings[nodes.Authentication]:
    """The authentication of routes; Refused if the credentials are not available."""
    set_ = {"apiKeyAuth": written.api_key_auth, "basicAuth": written.basic_auth}
    fields = [name for name, it in set_.items() if it is not None]
    assert fields
    key = policymerging.source(own, *fields)
    found = view.ask(state, key)
    if found.refusal is not None:
        raise Refused(found.refusal)
    yield from found.told
    return nodes.Authentication(ObjectRef(KIND, *key), found.sources, found.has_passwords)


def _known(view: View, own: Place, spec: SecurityPolicySpec) -> Findings[nodes.Known]:
    keys, passwords = None, None
    if spec.api_key_auth is not None:
        keys = yield from _keys(view, own.at("apiKeyAuth"), spec.api_key_auth)
    if spec.basic_auth is not None:
        passwords = yield from _passwords(view, own.at("basicAuth"), spec.basic_auth)
    return nodes.Known(keys, passwords)


def _keys(view: View, at: Place, written: crd.APIKeyAuth) -> Findings[nodes.ApiKeys]:
    sources = tuple(_sources(at, written.extract_from))
    client_header = _forwarded(at.at("forwardClientIDHeader"), written.forward_client_id_header)
    by_client: dict[str, str] = {}
    holders: dict[str, str] = {}
    for index, it in enumerate(written.credential_refs):
        place = at.at("credentialRefs", index)
        entries = secret(view, place, it)
        for client in sorted(entries):
            text = opaque.as_text(entries[client])
            if why := _unfit(client, text, by_client, holders):
                yield complaints.policy_remark(place, f"the entry {client[:60]} {why}")
            else:
                by_client[client] = text
                holders[text] = client
    if not by_client:
        text = "has no key, so nobody could pass"
        raise Refused(complaints.policy_closes(at.at("credentialRefs"), text))
    keys = tuple(by_client.items())
    return nodes.ApiKeys(sources, keys, client_header, is_hidden=bool(written.sanitize))


def _unfit(client: str, text: str, by_client: dict[str, str], holders: dict[str, str]) -> str:
    """Why an entry is left out, without quoting it; empty if it is not left out."""
    if not text:
        return "is left out: it is empty, or no text"
    if client in by_client:
        return "is left out: an earlier Secret has a key of this client"
    if text in holders:
        return f"is left out: it has the same key as {holders[text][:60]}"
    return ""


def _sources(at: Place, written: Sequence[crd.KeySources]) -> Iterator[nodes.KeySource]:
    for index, it in enumerate(written):
        place = at.at("extractFrom", index)
        if sum(map(bool, (it.headers, it.params, it.cookies))) != 1:
            text = "needs exactly one of headers, params and cookies"
            raise Refused(complaints.policy_closes(place, text))
        for number, name in enumerate(it.headers):
            if why := headers.request_refusal(name):
                here = place.at("headers", number)
                raise Refused(complaints.policy_closes(here, f"{name[:60]!r} {why}"))
            yield nodes.KeySource("header", name.lower())
        for name in it.params:
            yield nodes.KeySource("query", name)
        for number, name in enumerate(it.cookies):
            if not _COOKIE.fullmatch(name):
                here = place.at("cookies", number)
                text = f"{name[:60]!r} is not a valid name of a cookie"
                raise Refused(complaints.policy_closes(here, text))
            yield nodes.KeySource("cookie", name)


def _passwords(view: View, at: Place, written: crd.BasicAuth) -> Findings[nodes.Passwords]:
    user_header = _forwarded(at.at("forwardUsernameHeader"), written.forward_username_header)
    place = at.at("users")
    content = secret(view, place, written.users).get(USERS)
    named = f"Secret {written.users.namespace or at.subject.namespace}/{written.users.name}"
    if content is None:
        raise Refused(complaints.policy_closes(place, f"{named} has no {USERS}"))
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        raise Refused(complaints.policy_closes(place, f"{named} is no text")) from None
    users: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        written_ = line.strip()
        if not written_ or written_.startswith("#"):
            continue
        user, _, digest = written_.partition(":")
        if why := _unreadable(user, digest):
            text = f"{named} has a line that {why} (line {number})"
            raise Refused(complaints.policy_closes(place, text))
        if user in users:
            text = f"{named} has the user of line {number} before; the first line is used"
            yield complaints.policy_remark(place, text)
        else:
            users[user] = digest.removeprefix(_SHA)
    if not users:
        raise Refused(complaints.policy_closes(place, f"{named} has no user, so nobody could pass"))
    return nodes.Passwords(tuple(users.items()), user_header)


def _unreadable(user: str, digest: str) -> str:
    """What is wrong with a line, without quoting it; empty if nothing is."""
    if not user or not digest:
        return "is not of the form user:{SHA}hash"
    if headers.value_refusal(user) is not None:
        return "has a user that no header can have"
    if not digest.startswith(_SHA):
        return "has a hash that is not served: only {SHA} is (htpasswd -s)"
    try:
        is_whole = len(b64decode(digest.removeprefix(_SHA), validate=True)) == _DIGEST
    except ValueError:
        is_whole = False
    return "" if is_whole else "has a {SHA} hash that is not 20 bytes in Base64"


def secret(view: View, at: Place, written: crd.SecretReference) -> dict[str, bytes]:
    """The entries of a Secret; Refused if the policy may not read it or it is not there."""
    return opaque.entries(view, at, written, _closed)


def _closed(at: Place, why: str) -> Refused:
    return Refused(complaints.policy_closes(at, why))


def _forwarded(at: Place, name: str | None) -> str:
    """The header that names the client to the backend, in lower case; empty for none."""
    if not name:
        return ""
    if why := headers.request_refusal(name):
        raise Refused(complaints.policy_closes(at, f"{name[:60]!r} {why}"))
    return name.lower()
