"""API keys and passwords of SecurityPolicies: what routes are told, what Envoy is, what closes."""

from base64 import b64encode
from hashlib import sha1

import pytest

from dag import nodes
from dag.engine.incremental import Engine
from dag.gateway.envoypolicies import securitycredentials
from dag.problems import Problem
from tests.dag.gateway.manifests import route
from tests.dag.gateway.test_securitypolicies import (
    GATEWAY,
    GIVEN,
    INVALID,
    ROUTE,
    applied,
    message,
    policy,
    served,
    told,
)
from tests.dag.world import apply, delete, key, world


def secret(
    name: str, entries: dict[str, bytes], namespace: str = "default", type_: str = ""
) -> str:
    """A Secret, Opaque if no type is given."""
    data = ", ".join(f"{it!r}: {b64encode(value).decode()}" for it, value in entries.items())
    kind = f"type: {type_}, " if type_ else ""
    metadata = f"metadata: {{name: {name}, namespace: {namespace}}}"
    return f"---\n{{apiVersion: v1, kind: Secret, {metadata}, {kind}data: {{{data}}}}}\n"


def sha(password: str) -> str:
    return "{SHA}" + b64encode(sha1(password.encode()).digest()).decode()


def users(*lines: str) -> str:
    return secret("users", {".htpasswd": "\n".join(lines).encode()})


BASIC = "basicAuth: {users: {name: users}, forwardUsernameHeader: X-User}"
KEYS = secret("keys", {"one": b"key-of-one\n", "two": b"key-of-two"})


def keyed(more: str = "", refs: str = "{name: keys}", sources: str = "{headers: [X-Key]}") -> str:
    """`apiKeyAuth`."""
    return f"apiKeyAuth: {{credentialRefs: [{refs}], extractFrom: [{sources}]{more}}}"


def known(engine: Engine, name: str = "a") -> nodes.Known:
    found = engine.ask(securitycredentials.reading, key(name)).known
    assert not isinstance(found, Problem), found.message
    return found


def test_keys_and_their_places_in_order() -> None:
    sources = "{headers: [X-Key, authorization]}, {params: [k]}, {cookies: [c]}"
    text = keyed(", forwardClientIDHeader: X-Client, sanitize: true", sources=sources)
    it = world(GIVEN + route("r") + KEYS + policy("a", text))
    wanted = (
        nodes.KeySource("header", "x-key"),
        nodes.KeySource("header", "authorization"),
        nodes.KeySource("query", "k"),
        nodes.KeySource("cookie", "c"),
    )
    keys = (("one", "key-of-one"), ("two", "key-of-two"))
    assert known(it).keys == nodes.ApiKeys(wanted, keys, "x-client", is_hidden=True)
    (found,) = served(it)
    assert found.policies is not None
    assert isinstance(found.policies.authentication, nodes.Authentication)
    assert found.policies.authentication.key_sources == wanted
    assert not found.policies.authentication.has_passwords
    assert told(it, "a") == {"gw": ["Accepted"]}


def test_users_without_blank_lines_and_comments() -> None:
    lines = ("# users", "", f" me:{sha('a')} ", f"you:{sha('b')}\r")
    it = world(GIVEN + route("r") + users(*lines) + policy("a", BASIC))
    wanted = (("me", sha("a")[5:]), ("you", sha("b")[5:]))
    assert known(it).passwords == nodes.Passwords(wanted, "x-user")
    assert applied(it) == ["a"]


def test_new_keys_and_passwords_change_no_route() -> None:
    both = f"{keyed()}, {BASIC}"
    for target in (ROUTE, GATEWAY):
        it = world(GIVEN + route("r") + KEYS + users(f"me:{sha('a')}") + policy("a", both, target))
        routes, before = served(it), known(it)
        apply(it, secret("keys", {"one": b"new", "three": b"newer"}) + users(f"me:{sha('b')}"))
        assert served(it) is routes
        assert known(it) != before


def test_ten_thousand_keys() -> None:
    entries = {f"client-{it}": f"key-{it}".encode() for it in range(10_000)}
    it = world(GIVEN + route("r") + secret("keys", entries) + policy("a", keyed()))
    keys = known(it).keys
    assert keys is not None
    assert len(keys.keys) == 10_000
    assert applied(it) == ["a"]
    assert told(it, "a") == {"gw": ["Accepted"]}


LEFT_OUT = {
    "the entry two is left out: it has the same key as one": (
        secret("keys", {"one": b"same", "two": b"same"}),
        "{name: keys}",
    ),
    "the entry one is left out: an earlier Secret has a key of this client": (
        KEYS + secret("more", {"one": b"another"}),
        "{name: keys}, {name: more}",
    ),
    "the entry two is left out: it is empty, or no text": (
        secret("keys", {"one": b"key-of-one", "two": b"\xff"}),
        "{name: keys}",
    ),
}


@pytest.mark.parametrize("words", LEFT_OUT)
def test_entries_that_can_be_nobodys_key_are_told_and_left_out(words: str) -> None:
    secrets, refs = LEFT_OUT[words]
    it = world(GIVEN + route("r") + secrets + policy("a", keyed(refs=refs)))
    assert words in message(it, "a")
    assert told(it, "a") == {"gw": ["Accepted"]}
    assert applied(it) == ["a"]
    keys = known(it).keys
    assert keys is not None
    assert dict(keys.keys)["one"] in {"same", "key-of-one"}
    assert len(keys.keys) == len({value for _, value in keys.keys}) == (2 if "more" in refs else 1)


def test_a_user_of_two_lines_is_told_and_the_first_holds() -> None:
    given = users(f"me:{sha('a')}", f"me:{sha('b')}")
    it = world(GIVEN + route("r") + given + policy("a", BASIC))
    assert "has the user of line 2 before" in message(it, "a")
    passwords = known(it).passwords
    assert passwords is not None
    assert passwords.users == (("me", sha("a")[5:]),)


OTHER = "{name: keys, namespace: other}"
CLOSING = {
    "apiKeyAuth.credentialRefs[0]: Secret default/keys not found": keyed(),
    "apiKeyAuth.credentialRefs[0]: Secret default/typed is of type kubernetes.io/basic-auth": (
        keyed(refs="{name: typed}")
    ),
    "apiKeyAuth.credentialRefs[0]: no ReferenceGrant in namespace other permits": keyed(refs=OTHER),
    "apiKeyAuth.credentialRefs[0]: kind ConfigMap is not supported": (
        keyed(refs="{kind: ConfigMap, name: keys}")
    ),
    "apiKeyAuth.credentialRefs: has no key": keyed(refs=""),
    "apiKeyAuth.extractFrom[0]: needs exactly one of": (
        keyed(refs="", sources="{headers: [a], params: [b]}")
    ),
    "apiKeyAuth.extractFrom[0].headers[0]: ':path' is not a valid": (
        keyed(refs="", sources="{headers: [':path']}")
    ),
    "apiKeyAuth.extractFrom[0].headers[0]: 'Host' cannot be changed": (
        keyed(refs="", sources="{headers: [Host]}")
    ),
    "apiKeyAuth.extractFrom[0].cookies[0]: 'a b' is not a valid": (
        keyed(refs="", sources="{cookies: [a b]}")
    ),
    "apiKeyAuth.forwardClientIDHeader: 'X-Forwarded-For' tells": (
        keyed(", forwardClientIDHeader: X-Forwarded-For", refs="")
    ),
    "basicAuth.users: Secret default/gone not found": "basicAuth: {users: {name: gone}}",
    "basicAuth.users: Secret default/bare has no .htpasswd": "basicAuth: {users: {name: bare}}",
    "basicAuth.users: Secret default/empty has no user": "basicAuth: {users: {name: empty}}",
    "basicAuth.users: Secret default/bcrypt has a line that has a hash that is not served": (
        "basicAuth: {users: {name: bcrypt}}"
    ),
    "basicAuth.users: Secret default/short has a line that has a {SHA} hash that is not 20": (
        "basicAuth: {users: {name: short}}"
    ),
    "basicAuth.forwardUsernameHeader: 'x y' is not a valid": (
        "basicAuth: {users: {name: bare}, forwardUsernameHeader: x y}"
    ),
}
_SECRETS = (
    secret("typed", {"a": b"b"}, type_="kubernetes.io/basic-auth")
    + secret("keys", {"a": b"b"}, "other")
    + secret("bare", {"a": b"b"})
    + secret("empty", {".htpasswd": b"# nobody\n"})
    + secret("bcrypt", {".htpasswd": f"me:{sha('a')}\nyou:$2y$05$c4WoMPo3SXsafkva.".encode()})
    + secret("short", {".htpasswd": b"me:{SHA}YWJj"})
)


@pytest.mark.parametrize("words", CLOSING)
def test_what_cannot_be_had_closes_the_routes_and_is_told(words: str) -> None:
    it = world(GIVEN + route("r") + _SECRETS + policy("a", CLOSING[words]))
    assert applied(it) == ["a 500"]
    assert told(it, "a") == INVALID
    assert message(it, "a").startswith(f"spec.{words}")


def test_secrets_come_and_go_and_no_message_has_what_they_say() -> None:
    it = world(GIVEN + route("r") + policy("a", f"{keyed()}, {BASIC}"))
    assert applied(it) == ["a 500"]
    apply(it, KEYS)
    assert message(it, "a").startswith("spec.basicAuth.users")
    apply(it, users("me:$apr1$secret$hash"))
    assert "secret" not in message(it, "a").lower().replace("secret default/users", "")
    apply(it, users(f"me:{sha('a')}"))
    assert applied(it) == ["a"]
    assert "key-of-one" not in repr(known(it)) + repr(it.ask(securitycredentials.reading, key("a")))
    delete(it, "Secret", "keys")
    assert applied(it) == ["a 500"]


def test_a_secret_of_another_namespace_needs_a_grant() -> None:
    it = world(GIVEN + route("r") + _SECRETS + policy("a", keyed(refs=OTHER)))
    source = "group: gateway.envoyproxy.io, kind: SecurityPolicy, namespace: default"
    apply(
        it,
        "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: "
        f"{{name: g, namespace: other}}, spec: {{from: [{{{source}}}], "
        "to: [{group: '', kind: Secret}]}}\n",
    )
    assert applied(it) == ["a"]
    delete(it, "ReferenceGrant", "other/g")
    assert applied(it) == ["a 500"]


TOKENS = (
    "jwt: {%s providers: [{name: p, %s localJWKS: {type: Inline, inline: "
    '\'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}\'}}]}'
)
OF_HEADER = "extractFrom: {headers: [{name: Authorization, valuePrefix: Own}]},"
IN_ONE_HEADER = [
    (TOKENS % ("", ""), "spec.jwt: cannot be met by the header authorization"),
    (TOKENS % ("", OF_HEADER), "spec.jwt: cannot be met by the header authorization"),
    (TOKENS % ("", OF_HEADER.replace("Authorization", "X-Token")), ""),
    (TOKENS % ("", "extractFrom: {cookies: [c]},"), ""),
    (TOKENS % ("optional: true,", ""), ""),
    (keyed(sources="{headers: [Authorization]}"), "spec.apiKeyAuth: cannot be met by the header"),
    (keyed(sources="{headers: [Authorization]}, {params: [k]}"), ""),
]


@pytest.mark.parametrize(("spec", "words"), IN_ONE_HEADER)
def test_what_a_request_would_need_in_place_of_its_password_is_told(spec: str, words: str) -> None:
    given = GIVEN + route("r") + KEYS + users(f"me:{sha('secret')}")
    it = world(given + policy("a", f"{BASIC}, {spec}"))
    assert words in message(it, "a")
    assert (message(it, "a") == "the policy applies") is (not words)
    apply(it, policy("a", spec))
    assert message(it, "a") == "the policy applies"
