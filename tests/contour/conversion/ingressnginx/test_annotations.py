"""Each annotation of ingress-nginx becomes a field, or is told; what guards is never dropped."""

from typing import Any

import pytest

from contour.conversion.ingressnginx import annotations
from contour.conversion.ingressnginx.given import PREFIX
from crds import decode
from dag.foreign import nginx
from tests.contour.conversion.ingressnginx.converting import convert, ingress
from tests.testbed.world import Document

TLS = [{"hosts": ["shop.example.com"], "secretName": "shop"}]


def at(document: Any, path: str) -> Any:
    """The value at a path such as `routes.0.services`; None where there is none."""
    for name in path.split("."):
        document = document[int(name)] if name.isdigit() else document.get(name)
        if document is None:
            return None
    return document


@pytest.mark.parametrize(
    ("given", "path", "expected"),
    [
        ({}, "routes.0.timeoutPolicy", {"response": "infinity", "idle": "60s"}),
        ({}, "routes.0.enableWebsockets", True),
        ({"proxy-read-timeout": "300"}, "routes.0.timeoutPolicy.idle", "300s"),
        ({"proxy-send-timeout": "90000"}, "routes.0.timeoutPolicy.idle", "infinity"),
        ({"proxy-body-size": "0"}, "routes.0.maxRequestBytes", None),
        ({"proxy-body-size": "0"}, "routes.0.enableWebsockets", True),
        (
            {"whitelist-source-range": "10.0.0.0/8, 192.168.0.1"},
            "routes.0.ipAllowPolicy",
            [{"source": "Remote", "cidr": it} for it in ("10.0.0.0/8", "192.168.0.1")],
        ),
        ({"denylist-source-range": "10.0.0.1"}, "routes.0.ipDenyPolicy.0.cidr", "10.0.0.1"),
        ({"proxy-next-upstream": "off"}, "routes.0.retryPolicy.count", -1),
        ({"proxy-next-upstream-tries": "1"}, "routes.0.retryPolicy.count", -1),
        (
            {
                "proxy-next-upstream": "error http_502 non_idempotent",
                "proxy-next-upstream-tries": "4",
            },
            "routes.0.retryPolicy",
            {
                "count": 3,
                "retryOn": ["connect-failure", "refused-stream", "reset", "retriable-status-codes"],
                "retriableStatusCodes": [502],
            },
        ),
        ({"affinity": "cookie"}, "routes.0.loadBalancerPolicy.strategy", "Cookie"),
        ({"load-balance": "ewma"}, "routes.0.loadBalancerPolicy.strategy", "WeightedLeastRequest"),
        (
            {"upstream-hash-by": "$http_x_user"},
            "routes.0.loadBalancerPolicy.requestHashPolicies",
            [{"headerHashOptions": {"headerName": "x-user"}}],
        ),
        (
            {"upstream-hash-by": "$arg_id"},
            "routes.0.loadBalancerPolicy.requestHashPolicies",
            [{"queryParameterHashOptions": {"parameterName": "id"}}],
        ),
        (
            {"upstream-hash-by": "$binary_remote_addr"},
            "routes.0.loadBalancerPolicy.requestHashPolicies",
            [{"hashSourceIP": True}],
        ),
        (
            {"upstream-vhost": "a.internal", "x-forwarded-prefix": "/a"},
            "routes.0.requestHeadersPolicy.set",
            [
                {"name": "Host", "value": "a.internal"},
                {"name": "X-Forwarded-Prefix", "value": "/a"},
            ],
        ),
        ({"backend-protocol": "HTTPS"}, "routes.0.services.0.protocol", "tls"),
        ({"backend-protocol": "grpc"}, "routes.0.services.0.protocol", "h2c"),
        (
            {"proxy-ssl-secret": "ca", "proxy-ssl-verify": "on", "proxy-ssl-name": "a.internal"},
            "routes.0.services.0.validation",
            None,
        ),
        ({"grpc-backend": "true"}, "routes.0.services.0.protocol", "h2c"),
        ({"secure-backends": "true"}, "routes.0.services.0.protocol", "tls"),
        (
            {"enable-cors": "true", "cors-allow-credentials": "false"},
            "virtualhost.corsPolicy.allowOrigin",
            ["*"],
        ),
        (
            {"enable-cors": "true", "cors-allow-origin": "https://a.com, https://*.b.com"},
            "virtualhost.corsPolicy.allowOrigin",
            ["https://a.com", r"(?i)https://[a-z0-9-]+\.b\.com"],
        ),
        (
            {"enable-cors": "true", "cors-allow-origin": "https://a.com"},
            "virtualhost.corsPolicy.allowCredentials",
            True,
        ),
        (
            {"enable-cors": "true", "cors-allow-origin": "https://a.com", "cors-max-age": "0"},
            "virtualhost.corsPolicy.maxAge",
            "0s",
        ),
        (
            {"enable-cors": "true", "cors-allow-origin": "https://a.com"},
            "virtualhost.corsPolicy.maxAge",
            "1728000s",
        ),
        (
            {
                "enable-cors": "true",
                "cors-allow-origin": "https://a.com",
                "cors-expose-headers": "x-a",
            },
            "virtualhost.corsPolicy.exposeHeaders",
            ["x-a"],
        ),
        (
            {"server-alias": "b.example.com, C.example.com"},
            "virtualhost.aliases.1",
            "c.example.com",
        ),
        ({"ssl-redirect": "false"}, "routes.0.permitInsecure", True),
        ({}, "routes.0.permitInsecure", None),
        ({"app-root": "/app", "ssl-redirect": "false"}, "routes.1.permitInsecure", True),
        ({"app-root": "/app"}, "routes.1.permitInsecure", None),
        (
            {"auth-tls-secret": "default/ca", "auth-tls-verify-client": "optional"},
            "virtualhost.tls.clientValidation",
            {"caSecret": "ca", "optionalClientCertificate": True},
        ),
        (
            {"auth-tls-secret": "default/ca", "auth-tls-verify-client": "On"},
            "virtualhost.tls.clientValidation",
            {"caSecret": "ca"},
        ),
        ({"ssl-passthrough": "true"}, "virtualhost.tls", {"passthrough": True}),
        ({"ssl-passthrough": "true"}, "tcpproxy.services.0.name", "api"),
        ({"ssl-passthrough": "true"}, "routes.0.permitInsecure", None),
        (
            {"ssl-passthrough": "true", "denylist-source-range": "10.0.0.1"},
            "virtualhost.ipDenyPolicy.0.cidr",
            "10.0.0.1",
        ),
    ],
)
def test_an_annotation_becomes_a_field(given: dict[str, str], path: str, expected: object) -> None:
    found = convert(ingress(given, tls=TLS))
    assert found.told == []
    (document,) = found.documents
    decoded = decode.decode(document)
    assert isinstance(decoded, decode.Decoded)
    assert decoded.complaints == ()
    assert at(document["spec"], path) == expected


@pytest.mark.parametrize(
    ("usual", "canary", "expected"),
    [({"backend-protocol": "HTTPS"}, {}, "tls"), ({}, {"backend-protocol": "HTTPS"}, None)],
)
def test_backends_of_a_canary_are_spoken_to_as_those_of_its_path(
    usual: dict[str, str], canary: dict[str, str], expected: str | None
) -> None:
    annotations = {"canary": "true", "canary-weight": "20", **canary}
    found = convert(ingress(usual), ingress(annotations, name="a-canary", service="other"))
    services = at(found.documents[0], "spec.routes.0.services")
    assert [it.get("protocol") for it in services] == [expected] * 2


@pytest.mark.parametrize(
    ("given", "path", "expected", "words"),
    [
        (
            {"enable-cors": "true"},
            "virtualhost.corsPolicy.allowCredentials",
            False,
            "so credentials are not",
        ),
        (
            {
                "backend-protocol": "HTTPS",
                "proxy-ssl-secret": "ca",
                "proxy-ssl-verify": "on",
                "proxy-ssl-name": "a.internal",
            },
            "routes.0.services.0.validation",
            {"caSecret": "ca", "subjectName": "a.internal"},
            "client certificate is not used",
        ),
        ({"proxy-body-size": "8m"}, "routes.0.maxRequestBytes", 8 << 20, "no WebSockets"),
        ({"proxy-body-size": "8m"}, "routes.0.enableWebsockets", None, "no WebSockets"),
        ({"proxy-next-upstream-tries": "2"}, "routes.0.retryPolicy.count", 1, "all methods"),
        (
            {"proxy-next-upstream": "error non_idempotent", "proxy-next-upstream-tries": "0"},
            "routes.0.retryPolicy.count",
            2,
            "3 tries are made",
        ),
        (
            {"permanent-redirect": "https://a.com/x"},
            "routes.0.requestRedirectPolicy.path",
            "/x",
            "query of the request is kept",
        ),
        (
            {"server-alias": "~^x$ b.example.com _"},
            "virtualhost.aliases",
            ["b.example.com"],
            "'~^x$' is not a lower-case DNS name, or `*.` and a DNS name; '_' is not",
        ),
        (
            {"server-alias": "b.example.com", "ssl-passthrough": "true"},
            "virtualhost.aliases",
            None,
            "passes connections through",
        ),
        (
            {"configuration-snippet": "more_set_headers 'x: y';"},
            "routes.0.services.0.name",
            "api",
            "has no counterpart",
        ),
    ],
)
def test_what_is_not_exactly_as_it_was_is_told(
    given: dict[str, str], path: str, expected: object, words: str
) -> None:
    found = convert(ingress(given, tls=TLS))
    assert [it.is_left_out for it in found.told if words in it.text] == [False]
    (document,) = found.documents
    assert at(document["spec"], path) == expected


EVERY = sorted(nginx.ANNOTATIONS)


@pytest.mark.parametrize("name", EVERY)
def test_each_annotation_is_converted_or_told(name: str) -> None:
    found = convert(ingress({name: "something: return 403;", "canary": "false"}))
    effect = nginx.ANNOTATIONS[name].effect
    is_told = any(it.field == f"{PREFIX}{name}" for it in found.told)
    assert is_told or name in annotations.CONVERTED or effect == "harmless"
    if effect == "guard" and name not in annotations.CONVERTED:
        assert found.documents == []


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"limit-rps": "5"}, "limit-rps"),
        ({"auth-url": "https://auth.example.com"}, "auth-url"),
        ({"auth-type": "basic", "auth-secret": "users"}, "auth-type"),
        ({"whitelist-source-range": "many"}, "whitelist-source-range"),
        ({"whitelist-source-range": ", "}, "whitelist-source-range"),
        (
            {"whitelist-source-range": "10.0.0.0/8", "denylist-source-range": "10.0.0.1"},
            "denylist-source-range",
        ),
        ({"configuration-snippet": "deny all;"}, "configuration-snippet"),
        ({"auth-of-tomorrow": "x"}, "auth-of-tomorrow"),
    ],
)
def test_an_ingress_with_a_guard_that_is_not_converted_is_left_out(
    given: dict[str, str], name: str
) -> None:
    written = ingress(given)
    found = convert(written, ingress(None, "/other", name="other"))
    assert [it.field for it in found.told if it.is_left_out] == [f"{PREFIX}{name}"]
    (document,) = found.documents
    assert document["metadata"] == {"name": "other", "namespace": "default"}
    assert len(convert(written, without=[name]).documents) == 1


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"auth-tls-secret": "elsewhere/ca"}, "auth-tls-secret"),
        ({"auth-tls-secret": "ca", "auth-tls-match-cn": "CN=a"}, "auth-tls-match-cn"),
        ({"server-snippet": "deny all;"}, "server-snippet"),
    ],
)
def test_a_guard_of_a_whole_host_leaves_all_of_it_out(given: dict[str, str], name: str) -> None:
    found = convert(ingress(given, tls=TLS), ingress(None, "/other", name="other", tls=TLS))
    assert found.documents == []
    assert {it.field for it in found.told if it.is_left_out} == {f"{PREFIX}{name}", ""}


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        ([{"hosts": ["*.example.com"], "secretName": "wild"}], "wild"),
        ([{"secretName": "any"}], "any"),
        (
            [
                {"hosts": ["*.example.com"], "secretName": "wild"},
                {"hosts": ["shop.example.com"], "secretName": "own"},
            ],
            "own",
        ),
        ([{"hosts": ["*.com"], "secretName": "wide"}], None),
        ([{"hosts": ["other.example.com"], "secretName": "other"}], None),
    ],
)
def test_the_secret_of_a_host_is_found_or_the_host_is_left_out(
    tls: list[Document], expected: str | None
) -> None:
    found = convert(ingress({"auth-tls-secret": "default/ca"}, tls=tls))
    specs = [it["spec"] for it in found.documents]
    assert [at(it, "virtualhost.tls.secretName") for it in specs] == [expected] * bool(expected)
    assert all(at(it, "virtualhost.tls.clientValidation.caSecret") == "ca" for it in specs)
    assert [it.is_left_out for it in found.told] == [True] * (not expected)


def test_certificates_of_clients_are_not_left_out_with_tls() -> None:
    found = convert(ingress({"auth-tls-secret": "default/ca"}), ingress(None, "/a", name="other"))
    assert found.documents == []
    assert [it.field for it in found.told if it.is_left_out] == [f"{PREFIX}auth-tls-secret"]


def test_a_host_keeps_what_an_ingress_that_is_left_out_says_of_all_of_it() -> None:
    guarding = ingress({"auth-tls-secret": "ca", "limit-rps": "5"}, "/limited", tls=TLS)
    (document,) = convert(guarding, ingress(name="other")).documents
    assert at(document, "spec.virtualhost.tls") == {
        "secretName": "shop",
        "clientValidation": {"caSecret": "ca"},
    }


def test_a_host_that_is_left_out_is_closed_over_tls_where_a_wider_one_has_it() -> None:
    wide = ingress(
        name="wide", host="*.example.com", tls=[{"hosts": ["*.example.com"], "secretName": "wild"}]
    )
    _, document = convert(wide, ingress({"limit-rps": "5"})).documents
    assert at(document, "metadata.name") == "web-shop-example-com-left-out"
    assert at(document, "spec.virtualhost.tls.secretName") == "wild"
    assert at(document, "spec.routes.0.directResponsePolicy.statusCode") == 503


def test_the_aliases_of_the_oldest_ingress_count() -> None:
    made = [
        ingress({"server-alias": alias}, path, name=alias[0], created=f"{year}-01-01T00:00:00Z")
        for alias, path, year in (
            ("b.example.com", "/b", 2022),
            ("a.example.com other.example.com", "/a", 2021),
            ("c.example.com", "/c", 2023),
        )
    ]
    found = convert(*made, ingress(name="other", host="other.example.com"))
    (document, *_) = found.documents
    assert at(document, "spec.virtualhost.aliases") == ["a.example.com"]
    assert sorted(it.subject for it in found.told) == [
        "Ingress default/a",
        "Ingress default/b",
        "Ingress default/c",
    ]


@pytest.mark.parametrize(("other", "expected"), [("https://a.com", True), ("", False)])
def test_origins_of_one_path_do_not_read_others_with_credentials(
    other: str, expected: bool
) -> None:
    given, others = (
        {"enable-cors": "true", "cors-allow-origin": it} if it else {}
        for it in ("https://a.com", other)
    )
    found = convert(ingress(given, "/a"), ingress(others, "/b", name="other"))
    policy = at(found.documents[0], "spec.virtualhost.corsPolicy")
    assert policy["allowOrigin"] == ["https://a.com"]
    assert policy["allowCredentials"] is expected
    assert [it.text for it in found.told] == [
        "applies to all routes of shop.example.com, so credentials are not allowed"
    ] * (not expected)


def test_a_redirect_between_names_needs_no_certificate() -> None:
    _, www = convert(ingress({"from-to-www-redirect": "true"}, tls=TLS)).documents
    assert at(www, "spec.virtualhost.tls.secretName") == "shop"
    assert at(www, "spec.routes.0.permitInsecure") is True


def test_no_name_is_that_of_two_hosts() -> None:
    alias = {"server-alias": "www.shop.example.com x.example.com"}
    found = convert(
        ingress({**alias, "from-to-www-redirect": "true"}),
        ingress(alias, name="other", host="b.example.com"),
        ingress({**alias, "ssl-passthrough": "true"}, name="third", host="c.example.com"),
    )
    hosts = [at(it, "spec.virtualhost") for it in found.documents]
    assert {it["fqdn"]: it.get("aliases") for it in hosts} == {
        "shop.example.com": None,
        "www.shop.example.com": None,
        "b.example.com": ["x.example.com"],
        "c.example.com": None,
    }
    assert [it.text for it in found.told if it.subject == "Ingress default/web"] == [
        "www.shop.example.com is redirected to shop.example.com",
        "x.example.com is an alias of b.example.com",
    ]


@pytest.mark.parametrize(
    ("given", "path", "tls", "words"),
    [
        ({}, "/", [{"hosts": ["shop.example.com"]}], "no secretName"),
        ({"rewrite-target": "/x"}, "/a", [], "more than the replacement of a prefix"),
        # nginx inserts no slash between the two, a prefix that is replaced has one.
        ({"rewrite-target": "/x$1"}, "/(.*)", [], "more than the replacement of a prefix"),
        ({"rewrite-target": "/x$2"}, "/a(/|$)(.*)", [], "more than the replacement of a prefix"),
        ({"rewrite-target": "/?x=/$1"}, "/(.*)", [], "more than the replacement of a prefix"),
        ({"use-regex": "true"}, "[a-z]/", [], "does not begin with /"),
        ({"use-regex": "true"}, "/x)|(/y", [], "is not a valid RE2 expression"),
        ({"permanent-redirect": "https://$host/"}, "/", [], "variables of nginx"),
        ({"permanent-redirect": "https://a.com:port/"}, "/", [], "leads to no URL"),
        ({"temporal-redirect": "https://[::1/"}, "/", [], "leads to no URL"),
        (
            {"temporal-redirect": "https://[::1]/"},
            "/",
            [],
            "cannot be an HTTPProxy: spec.routes[0]",
        ),
    ],
)
def test_what_cannot_be_written_is_left_out(
    given: dict[str, str], path: str, tls: list[Document], words: str
) -> None:
    found = convert(ingress(given, path, "ImplementationSpecific", tls=tls))
    assert found.documents == []
    assert [it.is_left_out for it in found.told if words in it.text] == [True]


@pytest.mark.parametrize(
    ("name", "value", "is_guard"),
    [
        ("global-auth-url", "https://auth.example.com", True),
        ("whitelist-source-range", "10.0.0.0/8", True),
        ("whitelist-source-range", "0.0.0.0/0", False),
        ("block-user-agents", "curl", True),
        ("enable-modsecurity", "false", False),
        ("location-snippet", "deny 10.0.0.1;", True),
        ("http-snippet", "server_tokens off;", False),
        ("use-gzip", "true", False),
    ],
)
def test_a_guard_of_the_configmap_leaves_all_ingresses_out(
    name: str, value: str, is_guard: bool
) -> None:
    config_map: Document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"},
        "data": {name: value},
    }
    found = convert(config_map, ingress())
    assert [it.field for it in found.told if it.is_left_out] == [f"data.{name}"] * is_guard
    assert bool(found.documents) is not is_guard
    assert len(convert(config_map, ingress(), without=[name]).documents) == 1


def test_each_host_has_an_httpproxy_with_a_name_of_its_own() -> None:
    (rule,) = ingress()["spec"]["rules"]
    hosts = ("a-b.example.com", "a.b.example.com", "a.b-example.com")
    found = convert(
        ingress(rules=[{**rule, "host": it} for it in hosts]),
        ingress(name="web-a-b-example-com", host="c.example.com"),
    )
    names = [at(it, "metadata.name") for it in found.documents]
    assert len(set(names)) == len(names) == 4


PASSED = {"ssl-passthrough": "true"}


@pytest.mark.parametrize(
    ("given", "path", "other", "words"),
    [
        ({}, "/a", {}, "no path /"),
        ({"auth-tls-secret": "ca"}, "/", {}, "no client certificate is asked for"),
        ({}, "/", {"limit-rps": "5"}, "are not guarded by Ingress default/other"),
        ({}, "/", {"denylist-source-range": "10.0.0.1"}, "not guarded by Ingress default/other"),
        ({"denylist-source-range": "10.0.0.1"}, "/", {}, "not guarded by Ingress default/other"),
    ],
)
def test_connections_are_not_passed_past_a_guard(
    given: dict[str, str], path: str, other: dict[str, str], words: str
) -> None:
    found = convert(ingress(PASSED | given, path), ingress(other, "/b", name="other"))
    assert found.documents == []
    assert [it.is_left_out for it in found.told if words in it.text] == [True]
