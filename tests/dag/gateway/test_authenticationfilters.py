"""AuthenticationFilters: what they require of requests, and what their routes are told."""

import dataclasses
import json

import pytest

from crds.meta import NamespacedName, ObjectRef
from dag import hosts, nodes
from dag.engine import work
from dag.engine.incremental import Engine
from dag.gateway import authenticationfilters
from dag.problems import Problem
from dag.references import keysets
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class, route, service, to
from tests.dag.world import FLEET, apply, delete, routes, world
from tests.testbed import certificates, tokens

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
KEY = NamespacedName("default", "it")
REFERRED = ObjectRef("AuthenticationFilter", *KEY)
URI = "https://keys.example.com/jwks"
REF = (
    "{type: ExtensionRef, extensionRef: "
    "{group: gateway.envoyproxy.io, kind: AuthenticationFilter, name: it}}"
)
FILTERED = (
    f"{{matches: [{{path: {{value: /a}}}}], filters: [{REF}], "
    "backendRefs: [{name: s1, port: 80}]}"
)
ROUTE = route("r", FILTERED, to("s2"))
KNOWN = keysets.KeySet(tokens.jwks())


def provider(name: str = "one", more: str = "", uri: str = URI, authority: str = "") -> str:
    trusted = f", caCertificateRefs: [{authority}]" if authority else ""
    return f"{{name: {name}, remoteJWKS: {{uri: '{uri}'{trusted}}}{more}}}"


def local(spec: str) -> str:
    return f"{{name: one, localJWKS: {{{spec}}}}}"


STORED = "type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: keys}"


def text(kind: str, name: str, entry: str, content: str) -> str:
    field = "stringData" if kind == "Secret" else "data"
    return (
        f"---\n{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}, namespace: default}}, "
        f"{field}: {{{entry}: {json.dumps(content)}}}}}\n"
    )


def filter_(*providers: str) -> str:
    spec = f"{{type: JWT, jwtProviders: [{', '.join(providers)}]}}"
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: AuthenticationFilter, "
        f"metadata: {{name: it, namespace: default}}, spec: {spec}}}\n"
    )


def source(uri: str = URI) -> nodes.RemoteJwks:
    host = uri.split("/")[2].rsplit(":", 1)[0].strip("[]") if "[" not in uri else "2001:db8::1"
    return nodes.RemoteJwks(uri, nodes.UpstreamTls(system=True, sni=host), 5.0)


def know(engine: Engine, found: keysets.KeySet = KNOWN, uri: str = URI) -> None:
    keysets.write(engine, source(uri), found)
    engine.settle()


def guards(engine: Engine) -> list[nodes.Policies | None]:
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "*"))
    assert found is not None
    return [it.policies for it in found.routes]


def test_a_rule_requires_a_token_once_the_keys_are_known() -> None:
    it = world(GIVEN + filter_(provider()) + ROUTE)
    assert routes(it, "*") == ["/a/... -> 500", "/ -> default/s2:80"]
    assert status_text.route(it, "r")[1] == "ResolvedRefs=False/UnsupportedValue"
    assert "has not been fetched yet" in status_text.route_messages(it, "r")[1]
    assert it.answer(keysets.wanted, source()) is not None
    know(it)
    assert routes(it, "*") == ["/a/... -> default/s1:80", "/ -> default/s2:80"]
    required = nodes.Policies(jwt=nodes.Jwt("AuthenticationFilter/default/it", REFERRED))
    assert guards(it) == [required, None]
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]


def test_both_spellings_of_the_key_set_mean_the_same() -> None:
    seed = provider().replace("remoteJWKS", "remoteJwks")
    found = [
        world(GIVEN + filter_(it) + ROUTE).answer(authenticationfilters.providers, KEY)
        for it in (provider(), seed)
    ]
    assert found[0] == found[1] != ()


def test_an_edit_of_a_filter_and_new_keys_do_the_same_work_for_any_number_of_routes() -> None:
    found = [_edited(100), _edited(1000)]
    assert found == [work.Work(runs=2, checks=2, woken=2)] * 2, (
        "the providers, and what routes are told"
    )


def _edited(count: int) -> work.Work:
    """The work of an edit among so many routes; new keys are none at all."""
    many = "".join(route(f"r{it}", FILTERED, hosts=(f"h{it}.com",)) for it in range(count))
    it = world(GIVEN + filter_(provider()) + many)
    know(it)
    before = dataclasses.astuple(it.work)
    apply(it, filter_(provider(more=", audiences: [b]")))
    after = dataclasses.astuple(it.work)
    know(it, KNOWN._replace(keys=keysets.EMPTY))
    assert dataclasses.astuple(it.work) == after
    return work.Work(*(b - a for a, b in zip(before, after, strict=True)))


def test_key_sets_of_a_filter_are_wanted_while_a_route_names_it() -> None:
    it = world(GIVEN + filter_(provider()) + route("r", to("s2")))
    assert it.answer(keysets.wanted, source()) is None
    apply(it, ROUTE)
    assert it.answer(keysets.wanted, source()) is not None
    delete(it, "HTTPRoute", "r")
    assert it.answer(keysets.wanted, source()) is None


def test_equal_providers_have_one_name_and_other_ones_another() -> None:
    it = world(
        GIVEN
        + filter_(provider("one"), provider("two"), provider("three", ", issuer: a@b"))
        + ROUTE
    )
    found = it.answer(authenticationfilters.providers, KEY)
    assert isinstance(found, tuple)
    assert found[0].name == found[1].name != found[2].name


def test_the_tokens_of_providers_with_keys_will_do_and_the_others_are_told() -> None:
    other = "https://other.example.com/"
    it = world(GIVEN + filter_(provider(), provider("two", uri=other)) + ROUTE)
    know(it)
    assert routes(it, "*")[0] == "/a/... -> default/s1:80"
    know(it, keysets.KeySet(fault="answers 500"), other)
    told = status_text.route_messages(it, "r")[1]
    assert "spec.jwtProviders[1]: answers 500" in told
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    know(it, KNOWN._replace(fault="answers 502"))
    assert "stays in use: answers 502" in status_text.route_messages(it, "r")[1]


@pytest.mark.parametrize(
    ("providers", "told"),
    [
        ([], "spec.jwtProviders: needs at least one provider"),
        ([provider(), provider()], "spec.jwtProviders[1].name: 'one' is the name of two"),
        ([provider("'a b'")], "spec.jwtProviders[0].name: 'a b' is no qualified name"),
        ([provider(more=", issuer: foo")], "spec.jwtProviders[0].issuer: 'foo' is neither"),
        (["{name: one}"], "spec.jwtProviders[0]: exactly one of remoteJWKS, remoteJwks and"),
        (
            [provider(more=", remoteJwks: {uri: 'https://a.b/'}")],
            "spec.jwtProviders[0]: exactly one of remoteJWKS, remoteJwks and",
        ),
        ([provider(uri="http://a.b/")], "spec.jwtProviders[0].remoteJWKS.uri: the scheme must be"),
        ([provider(uri="https://localhost/")], "leads to the proxy itself"),
        ([provider(uri="https://169.254.169.254/")], "leads to the proxy itself or its machine"),
        ([provider(uri="https://[::1]/")], "leads to the proxy itself or its machine"),
        ([provider(uri="https://me@a.b/")], "is no URI of a server"),
        (
            [provider(more=", claimToHeaders: [{claim: sub, header: host}]")],
            "spec.jwtProviders[0].claimToHeaders[0].header: 'host'",
        ),
        (
            [provider(more=", claimToHeaders: [{claim: '', header: x-a}]")],
            "spec.jwtProviders[0].claimToHeaders[0].claim: must not be empty",
        ),
        ([provider(more=", localJWKS: {inline: '{}'}")], "exactly one of remoteJWKS"),
        ([local("inline: hello")], "localJWKS.inline: the key set is not JSON"),
        ([local("inline: '{\"keys\": []}'")], "localJWKS.inline: the key set has 0 keys"),
        ([local("type: Inline")], "spec.jwtProviders[0].localJWKS: needs inline for the type"),
        ([local("type: ValueRef, inline: '{}'")], "localJWKS: needs inline for the type"),
        ([local(f"{STORED}, inline: '{{}}'")], "localJWKS: needs inline for the type"),
        (
            [local("type: ValueRef, valueRef: {group: apps, kind: Deployment, name: keys}")],
            "localJWKS.valueRef: kind apps/Deployment is not supported; use ConfigMap or Secret",
        ),
        (
            [provider(authority="{group: '', kind: Service, name: ca}")],
            "remoteJWKS.caCertificateRefs[0]: kind Service is not supported",
        ),
    ],
)
def test_a_filter_that_cannot_be_built_drops_its_rule_alone(
    providers: list[str], told: str
) -> None:
    it = world(GIVEN + filter_(*providers) + ROUTE)
    assert routes(it, "*") == ["/a/... -> 500", "/ -> default/s2:80"]
    assert status_text.route(it, "r") == [
        "Accepted",
        "ResolvedRefs=False/UnsupportedValue",
        "PartiallyInvalid=True/UnsupportedValue",
    ]
    assert told in status_text.route_messages(it, "r")[1]
    found = it.answer(authenticationfilters.providers, KEY)
    assert isinstance(found, Problem)


@pytest.mark.parametrize("uri", ["https://192.0.2.1:8443/", "https://[2001:db8::1]/keys"])
def test_addresses_of_both_families_may_be_asked(uri: str) -> None:
    it = world(GIVEN + filter_(provider(uri=uri)) + ROUTE)
    know(it, uri=uri)
    assert routes(it, "*")[0] == "/a/... -> default/s1:80"


def test_a_filter_that_goes_closes_its_rule() -> None:
    it = world(GIVEN + filter_(provider()) + ROUTE)
    know(it)
    delete(it, "AuthenticationFilter", "it")
    assert routes(it, "*")[0] == "/a/... -> 500"
    assert it.answer(keysets.wanted, source()) is None


def test_two_filters_on_a_rule_drop_it_and_one_that_is_named_twice_does_not() -> None:
    other = REF.replace("name: it", "name: other")
    twice = route("r", FILTERED.replace(REF, f"{REF}, {REF}"))
    it = world(GIVEN + filter_(provider()) + twice)
    know(it)
    assert routes(it, "*") == ["/a/... -> default/s1:80"]
    apply(it, route("r", FILTERED.replace(REF, f"{REF}, {other}")))
    assert routes(it, "*") == ["/a/... -> 500"]


def test_tokens_are_required_on_redirects_too() -> None:
    moved = f"{{filters: [{REF}, {{type: RequestRedirect, requestRedirect: {{statusCode: 301}}}}]}}"
    it = world(GIVEN + filter_(provider()) + route("r", moved))
    know(it)
    required = nodes.Jwt("AuthenticationFilter/default/it", REFERRED)
    assert guards(it) == [nodes.Policies(jwt=required)]


def test_keys_in_the_filter_itself_need_no_server() -> None:
    it = world(GIVEN + filter_(local(f"inline: {json.dumps(tokens.jwks())}")) + ROUTE)
    assert routes(it, "*")[0] == "/a/... -> default/s1:80"
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
@pytest.mark.parametrize("entry", ["jwks", "jwks.json"])
def test_keys_in_an_object_are_live(kind: str, entry: str) -> None:
    stored = local(STORED.replace("ConfigMap", kind))
    it = world(GIVEN + filter_(stored) + ROUTE)
    assert routes(it, "*")[0] == "/a/... -> 500"
    assert f"{kind} default/keys not found" in status_text.route_messages(it, "r")[1]
    apply(it, text(kind, "keys", entry, tokens.jwks()))
    assert routes(it, "*")[0] == "/a/... -> default/s1:80"
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    apply(it, text(kind, "keys", entry, "hello"))
    assert routes(it, "*")[0] == "/a/... -> 500"
    told = f"spec.jwtProviders[0]: {kind} default/keys is not JSON"
    assert told in status_text.route_messages(it, "r")[1]
    delete(it, kind, "keys")
    assert routes(it, "*")[0] == "/a/... -> 500"


def test_new_keys_in_an_object_run_no_route() -> None:
    many = "".join(route(f"r{it}", FILTERED, hosts=(f"h{it}.com",)) for it in range(100))
    newer = tokens.jwks().replace('"one"', '"newer"')
    it = world(GIVEN + filter_(local(STORED)) + text("ConfigMap", "keys", "jwks", "x") + many)
    apply(it, text("ConfigMap", "keys", "jwks", tokens.jwks()))
    before = it.work.runs
    apply(it, text("ConfigMap", "keys", "jwks", newer))
    assert it.work.runs - before == 3, "what is in the object, twice, and that it is well"


def test_authorities_of_a_server_are_read_and_their_lack_is_told() -> None:
    authority = certificates.authority()
    named = provider(authority="{group: '', kind: ConfigMap, name: ca}")
    it = world(GIVEN + filter_(named) + ROUTE)
    trust = nodes.Trust((ObjectRef("ConfigMap", "default", "ca"),))
    tls = nodes.UpstreamTls(trust=trust, sni="keys.example.com")
    asked = nodes.RemoteJwks(URI, tls, 5.0)
    assert "ConfigMap default/ca not found" in status_text.route_messages(it, "r")[1]
    assert it.answer(keysets.wanted, asked) == keysets.Wanted(b"", loopback=True)
    apply(it, text("ConfigMap", "ca", "ca.crt", authority.pem.decode()))
    wanted = it.answer(keysets.wanted, asked)
    assert wanted is not None
    assert wanted.authorities == authority.pem
    keysets.write(it, asked, KNOWN)
    it.settle()
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    delete(it, "ConfigMap", "ca")
    assert routes(it, "*")[0] == "/a/... -> default/s1:80"
    told = "the last key set that was fetched stays in use: ConfigMap default/ca not found"
    assert told in status_text.route_messages(it, "r")[1]
