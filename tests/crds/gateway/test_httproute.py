"""The checks of the HTTPRoute's CRD that no schema can say."""

import copy
from typing import Any

import pytest

from crds.gateway.matches import HTTPPathMatch, HTTPRouteMatch
from tests.crds import documents
from tests.crds.objects import decoded, errors

PREFIX = {"path": {"type": "PathPrefix", "value": "/a"}}
REDIRECT = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}
REWRITE = {"type": "URLRewrite", "urlRewrite": {"hostname": "a.b"}}
HEADERS = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": ["a"]}}


def replacing(kind: str) -> documents.Document:
    path = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/b"}
    field = {"RequestRedirect": "requestRedirect", "URLRewrite": "urlRewrite"}[kind]
    return {"type": kind, field: {"path": path}}


def rule(**fields: Any) -> documents.Document:
    return documents.httproute(documents.backends("web", **fields))


def path(value: str, kind: str = "PathPrefix") -> documents.Document:
    return rule(matches=[{"path": {"type": kind, "value": value}}])


def test_a_rule_without_matches_takes_every_request() -> None:
    everything = HTTPRouteMatch(path=HTTPPathMatch(type="PathPrefix", value="/"))
    route = decoded(rule())
    assert route.spec.rules[0].matches == (everything,)
    assert decoded(rule(matches=[{"method": "GET"}])).spec.rules[0].matches[0].path.value == "/"


def test_a_route_without_rules_has_one_that_takes_every_request() -> None:
    document = documents.httproute()
    del document["spec"]["rules"]
    (only,) = decoded(document).spec.rules
    assert [it.path.value for it in only.matches] == ["/"]
    assert only.backend_refs == ()


@pytest.mark.parametrize(
    "value",
    ["a", "", "//", "/a//b", "/./", "/a/../b", "/%2fa", "/a%2F", "/a#b", "/..", "/a/.", "/é"],
)
def test_a_path_that_is_not_normalised_is_refused(value: str) -> None:
    assert [it for it, _ in errors(path(value))] == ["spec.rules[0].matches[0].path"]
    assert errors(path(value, "RegularExpression")) == []


@pytest.mark.parametrize("value", ["/", "/a", "/a/b.c", "/%20", "/a;b=c@d", "/..a"])
def test_a_path_that_is_normalised_is_taken(value: str) -> None:
    assert decoded(path(value)).spec.rules[0].matches[0].path.value == value


TWICE = (
    "filters must not repeat a type, except RequestMirror and ExtensionRef, and may have either"
    " RequestRedirect or URLRewrite, but not both"
)
NOT_WITH_BACKENDS = "RequestRedirect filter must not be used together with backendRefs"
ONE_PREFIX = (
    "When a filter replaces the matched prefix, exactly one PathPrefix match must be specified"
)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (rule(filters=[HEADERS, HEADERS]), TWICE),
        (documents.httproute({"filters": [REDIRECT, REWRITE]}), TWICE),
        (rule(filters=[REDIRECT]), NOT_WITH_BACKENDS),
        (rule(filters=[replacing("URLRewrite")], matches=[PREFIX, PREFIX]), ONE_PREFIX),
        (
            rule(
                filters=[replacing("URLRewrite")],
                matches=[{"path": {"type": "Exact", "value": "/"}}],
            ),
            ONE_PREFIX,
        ),
        (
            documents.httproute({"filters": [replacing("RequestRedirect")], "matches": []}),
            ONE_PREFIX,
        ),
    ],
)
def test_filters_that_do_not_go_together_are_refused(
    given: documents.Document, message: str
) -> None:
    assert errors(given) == [("spec.rules[0]", message)]


def test_filters_that_go_together_are_taken() -> None:
    document = rule(filters=[HEADERS, replacing("URLRewrite")], matches=[PREFIX])
    assert len(decoded(document).spec.rules[0].filters) == 2


@pytest.mark.parametrize(
    "given",
    [
        {"type": "CORS"},
        {"type": "URLRewrite", "requestRedirect": {}},
        {**REDIRECT, "urlRewrite": {}},
    ],
)
def test_a_filter_has_exactly_the_field_that_its_type_names(given: documents.Document) -> None:
    ((where, message),) = errors(documents.httproute({"filters": [given]}))
    assert where == "spec.rules[0].filters[0]"
    assert message.startswith("exactly the field that type names must be specified")


@pytest.mark.parametrize(
    "given",
    [
        {"type": "ReplaceFullPath", "replacePrefixMatch": "/"},
        {"type": "ReplaceFullPath"},
        {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/", "replaceFullPath": "/"},
    ],
)
def test_a_new_path_has_exactly_the_field_that_its_type_names(given: documents.Document) -> None:
    rewrite = {"type": "URLRewrite", "urlRewrite": {"path": given}}
    ((where, _),) = errors(rule(filters=[rewrite], matches=[PREFIX]))
    assert where == "spec.rules[0].filters[0].urlRewrite.path"


def test_a_service_needs_a_port_and_other_kinds_do_not() -> None:
    assert errors(documents.httproute({"backendRefs": [{"name": "web"}]})) == [
        ("spec.rules[0].backendRefs[0]", "Must have port for Service reference")
    ]
    other = {"group": "a.b", "kind": "C", "name": "web"}
    assert decoded(documents.httproute({"backendRefs": [other]})).spec.rules[0].backend_refs


@pytest.mark.parametrize(
    ("request_", "each", "is_taken"),
    [
        ("10s", "10s", True),
        ("1m", "61s", False),
        ("1s", "1s1ms", False),
        ("0s", "10h", True),
        ("500ms", "0s", True),
    ],
)
def test_a_try_may_not_take_longer_than_the_request(
    request_: str, each: str, is_taken: bool
) -> None:
    document = rule(timeouts={"request": request_, "backendRequest": each})
    assert (errors(document) == []) == is_taken


PARENT = {"name": "gateway"}


@pytest.mark.parametrize(
    ("parents", "is_taken"),
    [
        ([PARENT], True),
        ([PARENT, {"name": "other"}], True),
        ([PARENT, {**PARENT, "namespace": "other"}], True),
        ([PARENT, PARENT], False),
        ([PARENT, {**PARENT, "sectionName": "a"}], False),
        ([{**PARENT, "sectionName": "a"}, {**PARENT, "sectionName": "b"}], True),
        ([{**PARENT, "sectionName": "a"}, {**PARENT, "sectionName": "a"}], False),
        ([{**PARENT, "port": 80}, {**PARENT, "port": 81}], True),
        ([{**PARENT, "sectionName": "a"}, {**PARENT, "sectionName": "a", "port": 1}], True),
    ],
)
def test_references_to_one_parent_are_told_apart(
    parents: list[documents.Document], is_taken: bool
) -> None:
    document = documents.httproute(parentRefs=copy.deepcopy(parents))
    assert ([it for it, _ in errors(document)] == []) == is_taken


def test_a_route_has_at_most_128_matches() -> None:
    matches = [{"method": "GET"}] * 64
    two = [documents.backends("web", matches=matches)] * 2
    assert errors(documents.httproute(*two)) == []
    assert errors(documents.httproute(*two, documents.backends("web"))) == [
        ("spec", "the total number of matches across all rules must be at most 128")
    ]


def test_a_match_names_a_header_once() -> None:
    header = {"name": "a", "value": "b"}
    assert errors(rule(matches=[{"headers": [header, {**header, "value": "c"}]}])) == [
        ("spec.rules[0].matches[0]", "headers must not repeat a name")
    ]
    assert errors(rule(matches=[{"queryParams": [header, header]}])) == [
        ("spec.rules[0].matches[0]", "queryParams must not repeat a name")
    ]


def test_a_session_that_lasts_says_how_long() -> None:
    persistence = {"cookieConfig": {"lifetimeType": "Permanent"}}
    ((where, _),) = errors(rule(sessionPersistence=persistence))
    assert where == "spec.rules[0].sessionPersistence"
    assert errors(rule(sessionPersistence={**persistence, "absoluteTimeout": "1h"})) == []
    assert errors(rule(sessionPersistence={"type": "Header", "cookieConfig": {}})) != []
    newer = {"cookie": {"lifetimeType": "Permanent"}}
    assert errors(rule(sessionPersistence=newer)) != []
    assert errors(rule(sessionPersistence={**newer, "absoluteTimeout": "1h"})) == []


@pytest.mark.parametrize(
    ("session", "message"),
    [
        ({"type": "Header", "cookie": {}}, "cookie must be nil if type is not Cookie"),
        ({"header": {"name": "x"}}, "header must be nil if type is not Header"),
        ({"sessionName": "a", "cookie": {"name": "a"}}, "sessionName and cookieConfig of v1.6"),
        ({"cookieConfig": {}, "cookie": {}}, "sessionName and cookieConfig of v1.6"),
        (
            {"type": "Header", "sessionName": "a", "header": {"name": "a"}},
            "sessionName and cookieConfig of v1.6",
        ),
    ],
)
def test_a_session_is_written_in_one_way(session: dict[str, Any], message: str) -> None:
    ((where, told),) = errors(rule(sessionPersistence=session))
    assert where == "spec.rules[0].sessionPersistence"
    assert told.startswith(message)


@pytest.mark.parametrize("name", ["", "a b", "a;b", "a\n", "x" * 257])
def test_a_session_has_the_name_of_a_cookie_or_header(name: str) -> None:
    assert errors(rule(sessionPersistence={"cookie": {"name": name}})) != []
    assert errors(rule(sessionPersistence={"type": "Header", "header": {"name": name}})) != []
