"""Limits of BackendTrafficPolicies: requests through a real Envoy and the embedded service."""

import contextlib
import http.client
from collections.abc import Iterator, Mapping

import pytest

from tests.e2e.standalone import Answer, Standalone, exchange, manifest, standalone
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_USER = "headers: [{name: x-user, type: Distinct}]"
HOUR = "limit: {requests: %d, unit: Hour}"
GLOBAL = {
    "all": (HOUR % 2,),
    "one": ("clientSelectors: [{headers: [{name: x-user, value: one}]}], " + HOUR % 2,),
    "regex": (
        "clientSelectors: [{headers: [{name: x-user, type: RegularExpression, value: 'a+'}]}], "
        + HOUR % 1,
    ),
    "users": (
        f"clientSelectors: [{{{_USER[:-1]}, {{name: x-user, value: admin, invert: true}}]}}], "
        + HOUR % 2,
    ),
    "several": (f"clientSelectors: [{{{_USER}}}], " + HOUR % 2, HOUR % 3),
    "and": (
        "clientSelectors: [{headers: [{name: x-a, value: a}]}, "
        "{methods: [{value: POST}], path: {type: Exact, value: /x}}], " + HOUR % 1,
    ),
    "methods": ("clientSelectors: [{methods: [{value: POST}, {value: PUT}]}], " + HOUR % 1,),
    "prefix": ("clientSelectors: [{path: {value: /a}}], " + HOUR % 1,),
    "others": ("clientSelectors: [{path: {value: /a, invert: true}}], " + HOUR % 1,),
    "pattern": (
        "clientSelectors: [{path: {type: RegularExpression, value: '/[^?]*[.]\\\"?png'}}], "
        + HOUR % 1,
    ),
    "unlike": (
        "clientSelectors: [{path: {type: RegularExpression, value: '.*png', invert: true}}], "
        + HOUR % 1,
    ),
    "query": ("clientSelectors: [{queryParams: [{name: q, value: a}]}], " + HOUR % 1,),
    "queries": (
        "clientSelectors: [{queryParams: [{name: q, type: Distinct}, "
        "{name: q, type: RegularExpression, value: 'x.*', invert: true}]}], " + HOUR % 1,
    ),
    "clients": ("clientSelectors: [{sourceCIDR: {value: 127.0.0.0/8, type: Distinct}}], "
                + HOUR % 1,),
    "range": ("clientSelectors: [{sourceCIDR: {value: 127.0.0.2/31}}], " + HOUR % 1,),
    "outside": (
        "clientSelectors: [{sourceCIDR: {value: 127.0.0.2/31, invert: true}}], " + HOUR % 1,
    ),
    "cost": ("cost: {request: {from: Number, number: 2}}, " + HOUR % 4,),
    "free": ("cost: {request: {from: Number, number: 0}}, " + HOUR % 1, HOUR % 2),
    "week": ("limit: {requests: 1, unit: Week}",),
    "month": ("limit: {requests: 1, unit: Month}",),
    "year": ("limit: {requests: 1, unit: Year}",),
    "none": (HOUR % 0,),
    "shadow": ("shadowMode: true, " + HOUR % 1,),
    "quiet": ("xRateLimitHeaders: 'Off', " + HOUR % 5,),
}  # fmt: skip
"""Rules by the name of a route. Those that each Envoy can keep on its own are tried so, too."""
ONCE = {
    "late": (
        "cost: {request: {from: Number, number: 0}, response: {from: Number, number: 3}}, "
        + HOUR % 5,
    ),
    "together": ("shared: true, " + HOUR % 2,),
    "together-too": (),
}
_NO_LOCAL = {"none"}
"""Envoy has no bucket without room."""


def _route(name: str) -> str:
    return f"""
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {name}, labels: {{together: "{name.startswith("together")}"}}}}
spec:
  parentRefs: [{{name: web}}]
  hostnames: [{name}.example.com]
  rules: [{{backendRefs: [{{name: one, port: 80}}]}}]
"""


def _policy(name: str, where: str, rules: tuple[str, ...], target: str = "") -> str:
    alone = f"targetRefs: [{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: {name}}}]"
    return f"""
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {{name: {name}}}
spec:
  {target or alone}
  rateLimit: {{{where}: {{rules: [{", ".join(f"{{{it}}}" for it in rules)}]}}}}
"""


_TOGETHER = (
    "targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, "
    "matchLabels: {together: 'True'}}]"
)


def documents() -> str:
    made = [manifest("limits.yaml").split("\n---\n# routes")[0].split("kind: HTTPRoute")[0]]
    made[0] = made[0].rpartition("---")[0]
    for name, rules in GLOBAL.items():
        made += [_route(name), _policy(name, "global", rules)]
        if name not in _NO_LOCAL:
            made += [_route(f"{name}-local"), _policy(f"{name}-local", "local", rules)]
    made += map(_route, ONCE)
    made += [_policy("late", "global", ONCE["late"])]
    made += [_policy("together", "global", ONCE["together"], _TOGETHER)]
    return "".join(made)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    files = {"services.yaml": manifest("services.yaml"), "limits.yaml": documents()}
    with standalone(tmp_path_factory.mktemp("limited"), files) as running:
        counted = {f"BackendTrafficPolicy default/{it}" for it in (*GLOBAL, "late", "together")}

        def programmed() -> bool:
            told = running.status()
            return all(told[it]["state"] == "ok" for it in counted)

        wait(programmed, "all limits programmed")
        yield running


def _answer(
    it: Standalone, name: str, path: str = "/", method: str = "GET", source: str = "127.0.0.1",
    **headers: str,
) -> Answer:  # fmt: skip
    """One request; `_` in names of headers stands for `-`."""
    port = it.ports["http"]
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=10, source_address=(source, 0)
    )
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    with contextlib.closing(connection):
        return exchange(connection, f"{name}.example.com", path, method, sent)


def _ask(it: Standalone, name: str, times: int, path: str = "/", **more: str) -> list[int]:
    return [_answer(it, name, path, **more).status for _ in range(times)]


Asked = tuple[tuple[int, Mapping[str, str], list[int]], ...]
"""How often is asked, how, and the statuses of the answers."""

REQUESTS: dict[str, Asked] = {
    "all": ((3, {}, [200, 200, 429]),),
    "one": (
        (3, {"x_user": "one"}, [200, 200, 429]),
        (4, {"x_user": "two"}, [200] * 4),
        (1, {}, [200]),
    ),
    "regex": ((2, {"x_user": "aa"}, [200, 429]), (2, {"x_user": "ab"}, [200, 200])),
    "users": (
        (3, {"x_user": "one"}, [200, 200, 429]),
        (3, {"x_user": "two"}, [200, 200, 429]),
        (3, {"x_user": "admin"}, [200] * 3),
        (3, {}, [200] * 3),
    ),
    "several": (
        (2, {"x_user": "one"}, [200, 200]),
        (1, {"x_user": "two"}, [200]),
        (1, {"x_user": "three"}, [429]),
    ),
    "and": (
        (2, {"x_a": "a", "path": "/x"}, [200, 200]),
        (2, {"x_a": "a", "method": "POST"}, [200, 200]),
        (2, {"method": "POST", "path": "/x"}, [200, 200]),
        (2, {"x_a": "a", "method": "POST", "path": "/x?q"}, [200, 429]),
    ),
    "methods": (
        (2, {}, [200, 200]),
        (1, {"method": "POST"}, [200]),
        (1, {"method": "PUT"}, [429]),
    ),
    "prefix": (
        (2, {"path": "/ab"}, [200, 200]),
        (2, {"path": "/?/a"}, [200, 200]),
        (1, {"path": "/a?q"}, [200]),
        (1, {"path": "/a"}, [429]),
        (1, {"path": "/a/b"}, [429]),
    ),
    "others": (
        (2, {"path": "/a/b"}, [200, 200]),
        (1, {"path": "/ab"}, [200]),
        (1, {"path": "/?/a"}, [429]),
    ),
    "pattern": (
        (2, {"path": "/a?b.png"}, [200, 200]),
        (2, {"path": "/a.png/b"}, [200, 200]),
        (2, {"path": "/a.png?q"}, [200, 429]),
    ),
    "unlike": ((2, {"path": "/a.png?q"}, [200, 200]), (2, {"path": "/dear?png"}, [200, 429])),
    "query": (
        (2, {"path": "/?q=b"}, [200, 200]),
        (2, {"path": "/q=a"}, [200, 200]),
        (2, {"path": "/?p&q=a"}, [200, 429]),
    ),
    "queries": (
        (2, {"path": "/"}, [200, 200]),
        (2, {"path": "/?q=xa"}, [200, 200]),
        (2, {"path": "/?q=a"}, [200, 429]),
        (2, {"path": "/?q=b"}, [200, 429]),
    ),
    "clients": ((2, {}, [200, 429]), (2, {"source": "127.0.0.2"}, [200, 429])),
    "range": (
        (2, {}, [200, 200]),
        (1, {"source": "127.0.0.2"}, [200]),
        (1, {"source": "127.0.0.3"}, [429]),
    ),
    "outside": ((2, {"source": "127.0.0.3"}, [200, 200]), (2, {}, [200, 429])),
    "cost": ((3, {}, [200, 200, 429]),),
    "free": ((3, {}, [200, 200, 429]),),
    "week": ((2, {}, [200, 429]),),
    "month": ((2, {}, [200, 429]),),
    "year": ((2, {}, [200, 429]),),
    "none": ((1, {}, [429]),),
    "shadow": ((4, {}, [200] * 4),),
}


@pytest.mark.parametrize(
    ("name", "where"),
    [*((it, "") for it in REQUESTS), *((it, "-local") for it in REQUESTS if it not in _NO_LOCAL)],
)
def test_limits_count_what_they_select_and_nothing_else(
    limited: Standalone, name: str, where: str
) -> None:
    for times, how, statuses in REQUESTS[name]:
        assert _ask(limited, f"{name}{where}", times, **how) == statuses, how


def test_what_an_answer_costs_is_counted_for_later_requests(limited: Standalone) -> None:
    assert _ask(limited, "late", 1) == [200]
    wait(lambda: _ask(limited, "late", 1) == [429], "the cost of two answers, or three")


def test_shared_limits_count_all_routes_of_the_policy(limited: Standalone) -> None:
    assert _ask(limited, "together", 1) + _ask(limited, "together-too", 1) == [200, 200]
    assert _ask(limited, "together", 1) + _ask(limited, "together-too", 1) == [429, 429]


@pytest.mark.parametrize("where", ["", "-local"])
def test_answers_say_what_is_left_unless_they_are_not_to(limited: Standalone, where: str) -> None:
    told = _answer(limited, f"cost{where}").headers
    assert told["x-ratelimit-limit"].startswith("4"), told
    assert "x-ratelimit-remaining" in told
    assert "x-ratelimit-limit" not in _answer(limited, f"quiet{where}").headers
    assert "x-ratelimit-limit" not in _answer(limited, f"one{where}").headers
