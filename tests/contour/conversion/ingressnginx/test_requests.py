"""Requests to converted Ingresses are answered as ingress-nginx answers them."""

import re

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
        ("/(/|$)(.*)", REGEX, {"rewrite-target": "/x/$2"}, {"/": "api/x/", "/a": "404"}),
        ("/a/(.*)", REGEX, {"rewrite-target": "/$1"}, {"/a/b": "api/b", "/a": "api/"}),
        ("/(.*)", REGEX, {"rewrite-target": "/$1"}, {"/a/b": "api/a/b"}),
        ("/a/(.+)", REGEX, {"rewrite-target": "/$1"}, {"/a/b": "api/b", "/a/": "404"}),
        ("/", "Prefix", {"rewrite-target": "/"}, {"/a": "api/a"}),
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
        ("/", "Prefix", {"ssl-passthrough": "true"}, {"/a": "api/a"}),
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
        ({"canary-weight": "100", "canary-weight-total": "200"}, {"/": "api/ 50%, other/ 50%"}),
        ({"canary-weight": "5", "canary-weight-total": "10"}, {"/": "api/ 95%, other/ 5%"}),
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


def test_an_expression_for_a_canary_that_envoy_cannot_read_is_told() -> None:
    given = {"canary": "true", "canary-by-header": "x", "canary-weight": "20"}
    given["canary-by-header-pattern"] = "(?!a)b"
    found = convert(ingress(given, name="a-canary", service="other"), ingress())
    (told,) = found.told
    assert "is not a valid RE2 expression" in told.text
    assert answers(found, "/ x: b") == ["api/ 80%, other/ 20%"]


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


AUTH = {"auth-url": "https://auth.example.com"}
RANGES = {"whitelist-source-range": "10.0.0.0/8"}


@pytest.mark.parametrize(
    ("path", "path_type", "annotations", "expected"),
    [
        ("/a", "Prefix", AUTH, {"/a": "503", "/a/b": "503", "/ab": "other/ab"}),
        ("/a", "Exact", AUTH, {"/a": "503", "/a/b": "other/a/b"}),
        ("/a", REGEX, AUTH, {"/a": "503", "/ab": "503", "/A": "other/A"}),
        ("/a", REGEX, {**AUTH, "use-regex": "true"}, {"/Ab": "503", "/b": "other/b"}),
        ("/a(/|$)(.*)", REGEX, {**RANGES, "rewrite-target": "/$1$2"}, {"/A/b": "503"}),
        ("/a", "Prefix", {"rewrite-target": "/x"}, {"/a/b": "503", "/b": "other/b"}),
        # What cannot be written is closed from its literal beginning on.
        ("/ab?(?!c)", REGEX, {"use-regex": "true"}, {"/ac": "503", "/b": "other/b"}),
        ("/ä", "Prefix", {}, {"/%C3%A4": "503"}),
        ("/a|/b", REGEX, {"use-regex": "true"}, {"/x/b": "503"}),
    ],
)
def test_a_path_that_is_left_out_is_closed(
    path: str, path_type: str, annotations: dict[str, str], expected: dict[str, str]
) -> None:
    rest = ingress(None, "/", name="rest", service="other")
    found = convert(ingress(annotations, path, path_type), rest)
    assert any("503" in it.text for it in found.told)
    assert any(it.is_left_out for it in found.told)
    assert dict(zip(expected, answers(found, *expected), strict=True)) == expected


def test_a_rewritten_path_does_not_take_requests_of_a_guarded_one() -> None:
    rewritten = ingress({"rewrite-target": "/$2"}, "/(/|$)(.*)", REGEX)
    found = convert(rewritten, ingress(RANGES, "/", name="rest", service="other"))
    assert answers(found, "/", "/a") == ["api/", "403"]
    assert found.told == []


@pytest.mark.parametrize("wider", ["*.example.com", ""])
def test_a_host_that_is_left_out_is_not_served_by_a_wider_one(wider: str) -> None:
    made = convert(
        ingress(
            {**AUTH, "server-alias": "b.example.com", "from-to-www-redirect": "true"},
            "/a",
            host="www.example.com",
        ),
        ingress(name="wide", host=wider, service="other"),
    )
    names = ("www.example.com", "b.example.com", "example.com", "c.example.com")
    expected = ["503", "503", "503", "other/b"]
    assert answers(made, *(f"http://{it}/b" for it in names)) == expected


@pytest.mark.parametrize("first", ["auth", "other"])
def test_of_two_ingresses_for_a_path_the_oldest_counts(first: str) -> None:
    years = {"auth": 2024, "other": 2024, first: 2023}
    found = convert(
        ingress(AUTH, "/a", name="auth", created=f"{years['auth']}-01-01T00:00:00Z"),
        ingress(None, "/a", name="other", created=f"{years['other']}-01-01T00:00:00Z"),
        ingress(name="rest", service="other"),
    )
    assert answers(found, "/a") == ["503" if first == "auth" else "api/a"]
    assert [it.subject for it in found.told if "comes first" in it.text] == [
        f"Ingress default/{'other' if first == 'auth' else 'auth'}"
    ]


def test_an_exact_path_comes_before_the_same_prefix() -> None:
    found = convert(
        ingress(None, "/a", "Exact", name="exact"),
        ingress(None, "/a", "Prefix", name="prefix", service="other"),
    )
    assert answers(found, "/a", "/a/b") == ["api/a", "other/a/b"]
    assert found.told == []


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        # All paths are expressions, whatever their type, and the longest one comes first.
        (["Prefix /a", "Prefix /"], {"/A/b": "0", "/ab": "0", "/b": "1"}),
        (["Exact /a", "Prefix /"], {"/A": "0", "/a/b": "0"}),
        (["Regex /a/.*/x", "Regex /a/v1/long/", "Prefix /"], {"/a/v1/long/x": "1", "/a/b/x": "0"}),
        (["Regex /a.c", "Regex /ab."], {"/abc": "1"}),
        (["Regex /v[0-9]$", "Regex /v"], {"/v1": "0", "/v1/x": "1"}),
        # A rewritten path is a prefix here: only with regard to case.
        (["Regex /a(/|$)(.*)", "Prefix /"], {"/a/b": "0", "/A/b": "503", "/ab": "1"}),
        (
            ["Regex /a(/|$)(.*)", "Regex /a/b(/|$)(.*)"],
            {"/a/b/c": "1", "/a/B/c": "503", "/a/c": "0"},
        ),
        (["Regex /a(/|$)(.*)", "Prefix /a/secret/place"], {"/a/secret/place": "1", "/a/b": "0"}),
        # It would come after a shorter expression, to which it does not belong.
        (["Regex /a/b(/|$)(.*)", "Prefix /a", "Prefix /"], {"/a/b": "503", "/a/c": "1"}),
        (["Regex /a/(.*)", "Regex /a(/|$)(.*)", "Prefix /"], {"/a/b": "503", "/b": "2"}),
    ],
)
def test_the_paths_of_a_host_with_expressions(paths: list[str], expected: dict[str, str]) -> None:
    """Each path sends its requests to a place of its own: by a rewrite, or by a redirect."""
    made = []
    for index, written in enumerate(paths):
        path_type, _, path = written.replace("Regex", REGEX).partition(" ")
        target = {"rewrite-target": f"/{index}/${path.count('(')}"}
        other = {"use-regex": "true", "permanent-redirect": f"http://{index}"}
        made.append(ingress(target if "(" in path else other, path, path_type, name=f"i{index}"))
    found = [
        re.search(r"503|(?<=//)\d|(?<=api/)\d", it) for it in answers(convert(*made), *expected)
    ]
    assert [it and it[0] for it in found] == list(expected.values())
