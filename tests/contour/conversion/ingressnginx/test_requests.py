"""Requests to converted Ingresses are answered as ingress-nginx answers them."""

import pytest

from tests.contour.conversion.ingressnginx.converting import HOST, answers, convert, ingress

REGEX = "ImplementationSpecific"


@pytest.mark.parametrize(
    ("path", "path_type", "annotations", "expected"),
    [
        ("/", "Prefix", {}, {"/": "api/", "/a/b": "api/a/b"}),
        ("/a", "Prefix", {}, {"/a": "api/a", "/a/b": "api/a/b", "/ab": "404"}),
        ("/a/", "Prefix", {}, {"/a": "api/a", "/a/b": "api/a/b", "/ab": "404"}),
        ("/a", "Exact", {}, {"/a": "api/a", "/a/b": "404"}),
        ("/a", REGEX, {}, {"/a": "api/a", "/ab": "api/ab", "/b": "404"}),
        (
            "/v[0-9]+/x",
            REGEX,
            {"use-regex": "true"},
            {"/v1/x": "api/v1/x", "/V12/X/y": "api/V12/X/y", "/va/x": "404"},
        ),
        ("/v[0-9]$", REGEX, {"use-regex": "true"}, {"/v1": "api/v1", "/v1/x": "404"}),
        (
            "/a(/|$)(.*)",
            REGEX,
            {"rewrite-target": "/$2"},
            {"/a": "api/", "/a/b?c=1": "api/b?c=1", "/ab": "404", "/a?b": "api/?b"},
        ),
        ("/a(/|$)(.*)", REGEX, {"rewrite-target": "/x/$2"}, {"/a/b": "api/x/b"}),
        ("/a/(.*)", REGEX, {"rewrite-target": "/$1"}, {"/a/b": "api/b", "/a": "404"}),
        ("/(.*)", REGEX, {"rewrite-target": "/$1"}, {"/a/b": "api/a/b"}),
        (
            "/",
            "Prefix",
            {"permanent-redirect": "https://new.example.com$request_uri"},
            {"/a": "301 https://new.example.com/a"},
        ),
        (
            "/",
            "Prefix",
            {"temporal-redirect": "https://new.example.com/x?q=1", "temporal-redirect-code": "307"},
            {"/a": "307 https://new.example.com/x?q=1", "/?b": "307 https://new.example.com/x?q=1"},
        ),
        ("/", "Prefix", {"app-root": "/app"}, {"/": f"302 http://{HOST}/app", "/x": "api/x"}),
        (
            "/",
            "Prefix",
            {"from-to-www-redirect": "true"},
            {f"http://www.{HOST}/a": f"308 http://{HOST}/a", "/a": "api/a"},
        ),
        ("/", "Prefix", {"server-alias": "b.example.com"}, {"http://b.example.com/": "api/"}),
        ("/", "Prefix", {"whitelist-source-range": "10.0.0.0/8"}, {"/": "403"}),
        ("/", "Prefix", {"denylist-source-range": "127.0.0.0/8"}, {"/": "403"}),
    ],
)
def test_a_path(
    path: str, path_type: str, annotations: dict[str, str], expected: dict[str, str]
) -> None:
    found = convert(ingress(annotations, path, path_type))
    assert found.told == []
    assert dict(zip(expected, answers(found, *expected), strict=True)) == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"canary-weight": "20"}, {"/": "api/ 80%, other/ 20%"}),
        ({"canary-weight": "5", "canary-weight-total": "10"}, {"/": "api/ 50%, other/ 50%"}),
        ({"canary-weight": "0"}, {"/": "api/"}),
        (
            {"canary-by-header": "x-new", "canary-weight": "20"},
            {
                "/ x-new: always": "other/",
                "/ x-new: never": "api/",
                "/": "api/ 80%, other/ 20%",
            },
        ),
        (
            {"canary-by-header": "x-new", "canary-by-header-value": "de"},
            {"/ x-new: de": "other/", "/ x-new: never": "api/", "/": "api/"},
        ),
        (
            {"canary-by-header": "x-new", "canary-by-header-pattern": "d[ek]"},
            {"/ x-new: dk": "other/", "/ x-new: xdkx": "other/", "/ x-new: us": "api/"},
        ),
        (
            {"canary-by-cookie": "new"},
            {"/ cookie: a=b; new=always": "other/", "/ cookie: new=never": "api/", "/": "api/"},
        ),
    ],
)
def test_a_canary(annotations: dict[str, str], expected: dict[str, str]) -> None:
    canary = ingress({"canary": "true", **annotations}, name="a-canary", service="other")
    found = convert(canary, ingress())
    assert found.told == []
    assert dict(zip(expected, answers(found, *expected), strict=True)) == expected


def test_one_expression_makes_all_paths_of_a_host_expressions() -> None:
    found = convert(
        ingress({"use-regex": "true"}, "/v[0-9]", "ImplementationSpecific", name="a"),
        ingress(None, "/plain", "Prefix", name="b", service="other"),
    )
    assert answers(found, "/plain", "/plainer", "/v1") == [
        "other/plain", "other/plainer", "api/v1",
    ]  # fmt: skip


def test_what_no_path_takes_goes_to_the_default_backend() -> None:
    backend = {"service": {"name": "other", "port": {"number": 80}}}
    found = convert(ingress(None, "/a", defaultBackend=backend))
    assert answers(found, "/a", "/b") == ["api/a", "other/b"]
    alone = convert(ingress(rules=[], defaultBackend=backend))
    assert answers(alone, "http://any.example.com/") == ["other/"]
