"""The CRDs are structural, up to date, and let through whatever upstream's let through."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest

import crds
from crds import kinds, schema
from crds.meta import model
from crds.unserved import Unserved
from tests.crds import openapi, unreleased

OURS = [it for it in kinds.KINDS.values() if it.ours]
# MARIN3R's say less: they bound nothing. Of an EnvoyProxy, which two versions of two groups spell,
# tests/dag/envoyproxy/test_reading.py looks at each field. The kinds of Envoy Gateway that came
# after v0.5 are not among these files; EnvoyPatchPolicy is, but is written as v1.9 has it.
WITH_UPSTREAM = [
    it
    for it in OURS
    if it.group == kinds.CONTOUR or it.kind in {"AuthenticationFilter", "RateLimitFilter"}
]
"""Those that are upstream's to the letter; Envoy Gateway had the two filters last in v0.5."""


def test_the_files_are_what_the_models_say() -> None:
    schemas = Path(crds.__file__).parent / "schema"
    written = {
        str(it.relative_to(schemas)): it.read_text(encoding="utf-8")
        for it in schemas.glob("**/*.yaml")
    }
    assert written == schema.documents(), "run hack/generate"


def schema_of(kind: kinds.Kind) -> schema.Schema:
    found: schema.Schema = schema.crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


UNTYPED = {"x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"}
"""A value of several types, or of any, has one of these and no type."""
ALLOWED = {
    *UNTYPED,
    "type",
    "description",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "enum",
    "default",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
}


@pytest.mark.parametrize("kind", OURS, ids=lambda it: str(it.kind))
def test_a_schema_is_structural(kind: kinds.Kind) -> None:
    for path, node in openapi.parts(schema_of(kind)):
        assert set(node) <= ALLOWED, path
        if "type" not in node:
            assert UNTYPED & set(node), path
            continue
        assert node["type"] in {"object", "array", "string", "integer", "number", "boolean"}, path
        assert ("properties" in node) + ("additionalProperties" in node) <= 1, path
        assert ("items" in node) == (node["type"] == "array"), path


@pytest.mark.parametrize("kind", OURS, ids=lambda it: str(it.kind))
def test_every_field_is_described(kind: kinds.Kind) -> None:
    missing = [
        path
        for path, node in openapi.parts(schema_of(kind))
        if not node.get("description") and not path.endswith(("[]", "{}", ".metadata"))
    ]
    assert missing == []


@pytest.mark.parametrize("kind", OURS, ids=lambda it: str(it.kind))
def test_a_default_is_a_value_that_the_schema_allows(kind: kinds.Kind) -> None:
    for path, node in openapi.parts(schema_of(kind)):
        if "default" in node and "enum" in node:
            assert node["default"] in node["enum"], path
        if isinstance(node.get("default"), int) and "minimum" in node:
            assert node["minimum"] <= node["default"] <= node["maximum"], path


@model
class Marked:
    """A model of which a part is not served."""

    whole: Annotated[str, Unserved()] = ""
    """A field."""
    choice: Annotated[str, Unserved(values=("a", "b"))] = ""
    """A choice."""
    served: str = ""
    """Another one."""


def test_descriptions_say_what_is_not_served_yet() -> None:
    fields = schema.structural(Marked)["properties"]
    assert {name: it["description"] for name, it in fields.items()} == {
        "whole": "A field. It is not served yet.",
        "choice": "A choice. Not served yet: a, b.",
        "served": "Another one.",
    }


_OF_ENVOY_GATEWAY = [it for it in OURS if it.group == kinds.ENVOY_GATEWAY and it.has_status]


@pytest.mark.parametrize("kind", _OF_ENVOY_GATEWAY, ids=lambda it: str(it.kind))
def test_the_api_server_keeps_the_statuses_that_are_written(kind: kinds.Kind) -> None:
    """Those of Envoy Gateway's kinds are told by ancestor, but for that of a Backend."""
    told = "conditions" if kind.kind == "Backend" else "ancestors"
    (version,) = schema.crd(kind)["spec"]["versions"]
    found = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert found.keys() == {told}


_STRICTER = {
    ".spec.requestBuffer": {"limit"},  # upstream buffers nothing without it
}


@pytest.mark.parametrize(
    "kind", [it for it in _OF_ENVOY_GATEWAY if it not in WITH_UPSTREAM], ids=lambda it: str(it.kind)
)
def test_a_field_of_envoy_gateway_has_its_type(kind: kinds.Kind) -> None:
    """Some are kept as they are, and have none here; others may have two, and say so."""
    file = f"envoy-gateway/v1.9/{kind.group}_{kind.plural}.yaml"
    (version,) = openapi.upstream(file)[kind.kind]["versions"]
    theirs = dict(openapi.parts(version["schema"]["openAPIV3Schema"]["properties"]["spec"]))
    ours = schema_of(kind)["properties"]["spec"]
    for path, node in openapi.parts(ours):
        if path in theirs:
            assert node.get("type") in {None, theirs[path].get("type")}, path
            required = set(node.get("required", ())) - _STRICTER.get(f".spec{path}", set())
            assert required <= set(theirs[path].get("required", ())), path


def _is_read(path: str, ours: Mapping[str, openapi.Schema]) -> bool:
    """Whether a field is known, or a part of one that is kept as it is."""
    steps = [it.start() for it in re.finditer(r"[.\[{]", path)]
    kept = (ours[path[:it]] for it in steps if path[:it] in ours)
    return path in ours or any("x-kubernetes-preserve-unknown-fields" in it for it in kept)


_LATER = [
    it
    for it in OURS
    if it.group == kinds.ENVOY_GATEWAY and it.kind != "EnvoyProxy" and it not in WITH_UPSTREAM
]


@pytest.mark.parametrize("kind", _LATER, ids=lambda it: str(it.kind))
def test_every_field_of_envoy_gateway_is_known(kind: kinds.Kind) -> None:
    """One that is not closes what its policy is for, also where a CRD has set its default."""
    file = f"envoy-gateway/v1.9/{kind.group}_{kind.plural}.yaml"
    (version,) = openapi.upstream(file)[kind.kind]["versions"]
    theirs = openapi.parts(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
    ours = dict(openapi.parts(schema_of(kind)["properties"]["spec"]))
    assert [path for path, _ in theirs if not _is_read(path, ours)] == []


def upstream(kind: kinds.Kind) -> openapi.Schema:
    if kind.group == kinds.ENVOY_GATEWAY:
        file = f"envoy-gateway/v0.5/{kind.group}_{kind.plural}.yaml"
        return openapi.upstream(file)[kind.kind]
    found = openapi.upstream("projectcontour/upstream-crds.yaml")[kind.kind]
    unreleased.change(kind.kind, found["versions"][0]["schema"]["openAPIV3Schema"])
    return found


def upstream_schema(kind: kinds.Kind) -> openapi.Schema:
    found: openapi.Schema = upstream(kind)["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize("kind", sorted(unreleased.ADDED.keys() | unreleased.CHANGED))
def test_what_is_not_released_is_in_the_branch(kind: str) -> None:
    found = openapi.upstream("projectcontour/upstream-crds.yaml")
    theirs = {
        it: dict(openapi.parts(found[it]["versions"][0]["schema"]["openAPIV3Schema"]))
        for it in found
    }
    if theirs["HTTPProxy"].keys().isdisjoint(unreleased.ADDED["HTTPProxy"]):
        pytest.skip("the branch has no Go module, and this is the release: set UPSTREAM_DATA")
    assert theirs[kind].keys() >= set(unreleased.ADDED.get(kind, ()))
    for path, changes in unreleased.CHANGED[kind].items():
        for key, value in changes.items():
            assert _rules_alone(theirs[kind][path][key]) == value, f"{path} {key}"


def _rules_alone(value: Any) -> Any:
    """Without the messages of rules, which are ours."""
    is_rules = isinstance(value, list) and "rule" in value[0]
    return [{"rule": it["rule"]} for it in value] if is_rules else value


WIDER = {
    # Required by upstream; the controller's name tells what is served here.
    (".spec.gateway", "gatewayRef"),
    # The design documents call it remoteJwks.
    (".spec.jwtProviders[]", "remoteJWKS"),
}
# Beside them the bounds of numbers are narrower: upstream cuts off what Envoy does not take.
SAME = ("enum", "default", "minLength", "maxLength", "minItems", "maxItems")


@pytest.mark.parametrize("kind", WITH_UPSTREAM, ids=lambda it: str(it.kind))
def test_every_field_of_upstream_is_here_with_its_type_and_limits(kind: kinds.Kind) -> None:
    theirs = upstream_schema(kind)
    ours = dict(openapi.parts(schema_of(kind)))
    for path, node in openapi.parts(theirs):
        assert path in ours, path
        assert ours[path]["type"] == node["type"], path
        for key in SAME:
            assert ours[path].get(key) == node.get(key), f"{path} {key}"
        for name in node.get("required", []):
            assert name in ours[path].get("required", []) or (path, name) in WIDER, (path, name)
        rules = [it["rule"] for it in node.get("x-kubernetes-validations", [])]
        assert [it["rule"] for it in ours[path].get("x-kubernetes-validations", [])] == rules


SAMPLES = [
    "", "a", "A", "0", "a.b",
    "*.a.b", "*", "a.*.b", "-a", "a-", "a..b", "a b", "a_b", "é", "/", "/a",
    "a/b", "30", "30s", "1m30s", ".5h", "1.5h", "5us", "5µs", "5ns", "s", "-1s", "1d", "infinity",
    "infinite", "Infinity", "1.0", ".5", "1.", "1e3", "a;b", "a=b", "a(b", "a[b",
    "a]b", 'a"b', "a\\b",
    "a\tb", "a\nb", "a\x7fb", "a\x1fb", "X-A", "GET", "!#$%&'*+.^_`|~-", "True", "ErrorPresent",
]  # fmt: skip


OURS_ALONE = {(".spec.virtualhost.fqdn", "*")}


@pytest.mark.parametrize("kind", WITH_UPSTREAM, ids=lambda it: str(it.kind))
def test_patterns_take_what_upstreams_take(kind: kinds.Kind) -> None:
    ours = dict(openapi.parts(schema_of(kind)))
    for path, node in openapi.parts(upstream_schema(kind)):
        for sample in SAMPLES if "pattern" in node else ():
            is_taken = re.search(ours[path]["pattern"], sample) is not None
            if (path, sample) in OURS_ALONE:
                continue
            assert is_taken == (re.search(node["pattern"], sample) is not None), (path, sample)


@pytest.mark.parametrize("kind", WITH_UPSTREAM, ids=lambda it: str(it.kind))
def test_nothing_that_upstream_requires_less_is_required_here(kind: kinds.Kind) -> None:
    theirs = dict(openapi.parts(upstream_schema(kind)))
    for path, node in openapi.parts(schema_of(kind)):
        if path in theirs:
            added = set(node.get("required", [])) - set(theirs[path].get("required", []))
            assert added <= {"metadata", "spec"}, path


@pytest.mark.parametrize("kind", WITH_UPSTREAM, ids=lambda it: str(it.kind))
def test_names_columns_and_versions_are_those_of_upstream(kind: kinds.Kind) -> None:
    theirs, ours = upstream(kind), schema.crd(kind)["spec"]
    assert ours["names"] == theirs["names"]
    assert (ours["group"], ours["scope"]) == (theirs["group"], theirs["scope"])
    for mine, their in zip(ours["versions"], theirs["versions"], strict=True):
        assert mine["name"] == their["name"]
        if kind.kind != "RateLimitFilter":  # it has none upstream, whose design promised one
            assert mine["subresources"] == their["subresources"]
        columns = [
            [(it["name"], it["jsonPath"]) for it in version.get("additionalPrinterColumns", [])]
            for version in (mine, their)
        ]
        assert columns[0][: len(columns[1])] == columns[1]
        assert columns[0][-1] == ("Age", ".metadata.creationTimestamp")
