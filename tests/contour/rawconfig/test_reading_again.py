"""A value that was read before with another content: what stays is not read again, and the result
is that of somebody who has read nothing before."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message

from contour.envoy.parsing import Before, parsed
from contour.xds.resources import LISTENER
from tests.contour.rawconfig.documents import HCM

ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
OTHER_TYPE = "type.googleapis.com/envoy.extensions.filters.http.of_tomorrow.v3.Filter"
Value = dict[str, Any]


def route(number: int) -> Value:
    return {
        "match": {"prefix": f"/{number}"},
        "route": {"cluster": "a", "retry_policy": {"num_retries": 1}},
        "typed_per_filter_config": {"b": {"@type": ROUTER}, "a": {"@type": ROUTER}},
    }


def listener(routes: int = 12) -> Value:
    hosts = [
        {"name": name, "domains": [name], "routes": [route(it) for it in range(routes)]}
        for name in ("a", "b")
    ]
    manager = {
        "@type": HCM,
        "stat_prefix": "http",
        "route_config": {"name": "all", "virtual_hosts": hosts},
        "http_filters": [{"name": "router", "typed_config": {"@type": ROUTER}}],
    }
    chain = {"filters": [{"name": "http", "typed_config": manager}]}
    return {"name": "a", "filter_chains": [chain, {"name": "second", **chain}]}


def _hosts(value: Value) -> list[Value]:
    found: list[Value] = _manager(value)["route_config"]["virtual_hosts"]
    return found


def _manager(value: Value) -> Value:
    found: Value = value["filter_chains"][0]["filters"][0]["typed_config"]
    return found


def _edit(value: Value, chance: Random) -> None:
    routes = chance.choice(_hosts(value))["routes"]
    at = chance.randrange(len(routes))
    match chance.randrange(9):
        case 0:
            routes.insert(at, route(chance.randrange(99)))
        case 1:
            del routes[at]
        case 2:
            routes[at]["match"] = {"path": "/exact"}
        case 3:
            chance.shuffle(routes)
        case 4:
            routes[at]["route"]["retry_policy"]["num_retries"] = chance.choice([True, 1, 1.0, 2])
        case 5:
            routes[at]["unknown"] = 1
        case 6:
            _manager(value)["http_filters"].insert(0, {"name": "x", "typed_config": {"@type": ""}})
        case 7:
            own = {"@type": OTHER_TYPE, "a": 1}
            _manager(value)["http_filters"].insert(0, {"name": "x", "typed_config": own})
        case _:
            value["filter_chains"].append({"name": f"chain-{chance.random()}"})


@pytest.mark.parametrize("seed", range(15))
def test_whatever_was_read_before_the_result_is_the_same(seed: int) -> None:
    chance, value = Random(seed), listener()
    before: Before | None = None
    for _ in range(6):
        made, found = parsed(LISTENER, value, "x", before)
        anew, said = parsed(LISTENER, value, "x")
        assert found == said
        assert made == anew
        if made is not None and anew is not None:
            assert made.SerializeToString(deterministic=True) == anew.SerializeToString(
                deterministic=True
            )
            if not found.warnings:
                before = Before(copy.deepcopy(value), made)
        else:
            value = listener()
        _edit(value, chance)


def _first_route(value: Value) -> Value:
    found: Value = _hosts(value)[0]["routes"][0]
    return found


def _change(value: Value) -> None:
    _first_route(value)["match"] = {"path": "/exact"}


def _insert(value: Value) -> None:
    _hosts(value)[0]["routes"].insert(5, route(99))


def _remove(value: Value) -> None:
    del _hosts(value)[1]["routes"][3]


def _add_chain(value: Value) -> None:
    value["filter_chains"].insert(0, {"name": "new"})


@pytest.mark.parametrize("edit", [_change, _insert, _remove, _add_chain])
def test_an_edit_costs_what_it_changes(
    edit: Callable[[Value], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    real = json_format.ParseDict

    def counted(value: Value, message: Message) -> Message:
        given.append(len(str(value)))
        return real(value, message)

    monkeypatch.setattr(json_format, "ParseDict", counted)
    sizes: list[int] = []
    for routes in (10, 100):
        value = listener(routes)
        made, _ = parsed(LISTENER, value, "")
        assert made is not None
        before = Before(copy.deepcopy(value), made)
        edit(value)
        given.clear()
        assert parsed(LISTENER, value, "", before)[0] is not None
        sizes.append(sum(given))
    assert sizes[0] == sizes[1] < 1_000


def test_true_is_not_1() -> None:
    value = listener()
    made, _ = parsed(LISTENER, value, "")
    assert made is not None
    before = Before(copy.deepcopy(value), made)
    _first_route(value)["route"]["retry_policy"]["num_retries"] = True
    _, found = parsed(LISTENER, value, "", before)
    assert found.errors
    assert found == parsed(LISTENER, value, "")[1]
