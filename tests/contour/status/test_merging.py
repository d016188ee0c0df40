"""Our part of a status, merged into the one that stands there."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contour.status import merging
from dag import statuses

Raw = dict[str, Any]

AUTHOR = merging.Author("projectcontour.io/gateway-controller", "2026-05-01T12:00:00Z")
BEFORE = "2020-01-01T00:00:00Z"
NOW = AUTHOR.now


def condition(type_: str, status: str = "True", **others: Any) -> Raw:
    return {"type": type_, "status": status, "reason": "R", "message": "m", **others}


def stands(type_: str, status: str = "True", since: str = BEFORE, **others: Any) -> Raw:
    return condition(type_, status, lastTransitionTime=since, **others)


def entry(name: str, *conditions: Raw, by: str = AUTHOR.controller_name, **reference: Any) -> Raw:
    found = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": name, **reference}
    return {"parentRef": found, "controllerName": by, "conditions": list(conditions)}


FOREIGN = entry("edge", stands("Accepted", "Unknown"), by="example.com/other")


@pytest.mark.parametrize(
    ("stored", "ours", "wanted"),
    [
        pytest.param(
            {},
            {"conditions": [condition("Valid")]},
            {"conditions": [stands("Valid", since=NOW)]},
            id="a new condition begins now",
        ),
        pytest.param(
            {"conditions": [stands("Valid", reason="Old", message="old", observedGeneration=1)]},
            {"conditions": [condition("Valid", observedGeneration=2)]},
            {"conditions": [stands("Valid", observedGeneration=2)]},
            id="a condition that is as true as before keeps its time",
        ),
        pytest.param(
            {"conditions": [stands("Valid", "False")]},
            {"conditions": [condition("Valid", "True")]},
            {"conditions": [stands("Valid", "True", since=NOW)]},
            id="a condition that became true begins now",
        ),
        pytest.param(
            {"conditions": [stands("Valid"), stands("example.com/Seen", "False")]},
            {"conditions": [condition("Valid", "False")]},
            {"conditions": [stands("Valid", "False", NOW), stands("example.com/Seen", "False")]},
            id="conditions of others stay where they are",
        ),
        pytest.param(
            {"conditions": [stands("InsecureFrontendValidationMode"), stands("Accepted")]},
            {"conditions": [condition("Accepted"), condition("Programmed")]},
            {"conditions": [stands("Accepted"), stands("Programmed", since=NOW)]},
            id="what we do not say any more goes",
        ),
        pytest.param(
            {"conditions": [stands("Novel", "False")]},
            {"conditions": [condition("Novel")]},
            {"conditions": [stands("Novel", since=NOW)]},
            id="a type that nobody expected is ours if we say it",
        ),
        pytest.param(
            {"conditions": [stands("Accepted")], "example": {"a": 1}},
            {"conditions": [condition("Accepted")]},
            {"conditions": [stands("Accepted")], "example": {"a": 1}},
            id="fields that we do not state stay",
        ),
        pytest.param(
            {"parents": [FOREIGN]},
            {"parents": [entry("edge", condition("Accepted"))]},
            {"parents": [FOREIGN, entry("edge", stands("Accepted", since=NOW))]},
            id="entries of other controllers for the same parent stay",
        ),
        pytest.param(
            {"parents": [entry("a", stands("Accepted")), FOREIGN, entry("b")]},
            {"parents": [entry("b", condition("Accepted"))]},
            {"parents": [FOREIGN, entry("b", stands("Accepted", since=NOW))]},
            id="our entries for parents that are gone go",
        ),
        pytest.param(
            {"parents": [FOREIGN, entry("a", stands("Accepted"))]},
            {"parents": []},
            {"parents": [FOREIGN]},
            id="nothing is left of us on a route that is not ours",
        ),
        pytest.param(
            {"parents": [entry("a", stands("Accepted")), entry("a", stands("Accepted", "False"))]},
            {"parents": [entry("a", condition("Accepted"))]},
            {"parents": [entry("a", stands("Accepted"))]},
            id="a parent has one entry of ours",
        ),
        pytest.param(
            {"parents": [entry("a", stands("Accepted"), sectionName="http")]},
            {"parents": [entry("a", condition("Accepted"), sectionName="https")]},
            {"parents": [entry("a", stands("Accepted", since=NOW), sectionName="https")]},
            id="another section is another parent",
        ),
        pytest.param(
            {"parents": [{**entry("a", stands("Accepted")), "parentRef": {"name": "a"}}]},
            {"parents": [entry("a", condition("Accepted"))]},
            {"parents": [entry("a", stands("Accepted"))]},
            id="defaults do not make a parent another one",
        ),
        pytest.param(
            {"parents": [entry("a", stands("example.com/X"), stands("Accepted"))]},
            {"parents": [entry("a", condition("Accepted"), condition("ResolvedRefs"))]},
            {
                "parents": [
                    entry(
                        "a",
                        stands("example.com/X"),
                        stands("Accepted"),
                        stands("ResolvedRefs", since=NOW),
                    )
                ]
            },
            id="conditions of others in our entry stay",
        ),
        pytest.param(
            {"listeners": [{"name": "b", "conditions": [stands("Accepted")]}, {"name": "gone"}]},
            {
                "listeners": [
                    {"name": "a", "attachedRoutes": 0, "conditions": [condition("Accepted")]},
                    {"name": "b", "attachedRoutes": 1, "conditions": [condition("Accepted")]},
                ]
            },
            {
                "listeners": [
                    {
                        "name": "a",
                        "attachedRoutes": 0,
                        "conditions": [stands("Accepted", since=NOW)],
                    },
                    {"name": "b", "attachedRoutes": 1, "conditions": [stands("Accepted")]},
                ]
            },
            id="listeners are those of the Gateway, in its order",
        ),
        pytest.param(
            {},
            {"loadBalancer": {}, "parents": [], "addresses": []},
            {},
            id="what is absent says as little as what is empty",
        ),
        pytest.param({}, {"attachedListenerSets": 0}, {"attachedListenerSets": 0}, id="none is 0"),
        pytest.param(
            {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}},
            {"loadBalancer": {}},
            {"loadBalancer": {}},
            id="addresses that are lost go",
        ),
        pytest.param(
            {"conditions": "garbage", "parents": {"a": 1}},
            {"conditions": [condition("Valid")], "parents": []},
            {"conditions": [stands("Valid", since=NOW)], "parents": []},
            id="whatever somebody wrote there",
        ),
    ],
)
def test_what_is_ours_is_as_we_say_and_all_else_stays(stored: Raw, ours: Raw, wanted: Raw) -> None:
    untouched = deepcopy(stored)
    found = merging.merged(stored, ours, AUTHOR)
    assert found == wanted
    assert stored == untouched
    later = AUTHOR._replace(now="2030-01-01T00:00:00Z")
    assert merging.merged(found, ours, later) == found, "a second time nothing differs"


@pytest.mark.parametrize(("kind", "most"), [("XBackend", 32), ("BackendTLSPolicy", 16)])
def test_as_many_ancestors_are_told_as_the_kind_has_room_for(kind: str, most: int) -> None:
    author = AUTHOR._replace(most_ancestors=statuses.most_ancestors(kind))
    ours: Raw = {
        "ancestors": [
            {"ancestorRef": {"name": f"gw-{it}"}, "controllerName": AUTHOR.controller_name}
            for it in range(40)
        ]
    }
    told = merging.merged({}, ours, author)["ancestors"]
    assert isinstance(told, list)
    assert len(told) == most
    assert len(merging.left_out({}, ours, author)) == 40 - most


def test_a_list_stays_as_long_as_the_api_server_allows() -> None:
    others = [entry(f"g{it}", by="example.com/other") for it in range(31)]
    ours: Raw = {"parents": [entry("a"), entry("b")]}
    assert merging.merged({"parents": others}, ours, AUTHOR)["parents"] == [*others, entry("a")]
    foreign = [stands(f"example.com/T{it}") for it in range(7)]
    told: Raw = {"conditions": [condition("Accepted"), condition("Programmed")]}
    found = merging.merged({"conditions": foreign}, told, AUTHOR)["conditions"]
    assert found == [*foreign, stands("Accepted", since=NOW)]


@pytest.mark.parametrize(
    ("stored", "generation"),
    [
        ({}, 0),
        ({"conditions": [stands("Valid")]}, 0),
        ({"conditions": [stands("Valid", observedGeneration=3)]}, 3),
        ({"conditions": [stands("example.com/Foreign", observedGeneration=9)]}, 0),
        ({"parents": [entry("a", stands("Accepted", observedGeneration=4))]}, 4),
        ({"parents": [entry("a", stands("Accepted", observedGeneration=4), by="x/y")]}, 0),
        ({"listeners": [{"conditions": [stands("Accepted", observedGeneration=5)]}]}, 5),
    ],
)  # fmt: skip
def test_only_our_own_conditions_tell_how_new_an_answer_stands_there(
    stored: Raw, generation: int
) -> None:
    assert merging.newest_generation(stored, AUTHOR) == generation


Json = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


def patched(target: Any, patch: Any) -> Any:
    """RFC 7386, section 2, word for word."""
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = patched(found.get(name), value)
    return found


def without_null(found: Any) -> Any:
    """A merge patch cannot say null; no status has one."""
    if isinstance(found, dict):
        return {name: without_null(it) for name, it in found.items() if it is not None}
    return found


@given(st.dictionaries(st.sampled_from("abc"), Json), st.dictionaries(st.sampled_from("abc"), Json))
def test_the_patch_leads_from_what_stands_there_to_what_is_wanted(before: Raw, after: Raw) -> None:
    stored, wanted = without_null(before), without_null(after)
    patch = merging.difference(stored, wanted)
    assert patched(stored, patch) == wanted
    assert bool(patch) is (stored != wanted)


@pytest.mark.parametrize(
    ("change", "found", "is_kept"),
    [
        ({}, {}, True),
        ({"a": 1}, {"a": 1, "default": True}, True),
        ({"a": 1}, {}, False),
        ({"a": None}, {}, True),
        ({"a": None}, {"a": 1}, False),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "default": True}]}, True),
        ({"a": [{"b": 1, "new": ""}]}, {"a": [{"b": 1}]}, False),
        ({"a": [{"b": 1}]}, {"a": []}, False),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {}}}, False),
        ({"a": {"b": 1}}, {"a": "text"}, False),
    ],
)
def test_a_status_has_what_was_sent_and_may_have_more(
    change: Raw, found: Raw, is_kept: bool
) -> None:
    assert merging.is_kept(change, found) is is_kept
