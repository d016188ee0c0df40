"""The counts of HTTPProxies, under the names that upstream's dashboards know."""

import pytest

from contour.controller import Controller
from contour.metrics import httpproxies
from contour.metrics.httpproxies import HTTPProxies
from tests.contour.metrics import scraped
from tests.contour.test_controller import SERVICE, Published, events, proxy

CHILD = """
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: child}
spec: {routes: [{services: [{name: web, port: 80}]}]}
"""


def read(controller: Controller, *, leads: bool = True) -> dict[str, scraped.Values]:
    source = HTTPProxies(controller.engine, controller.board, lambda: leads)
    names = ("", "_root", "_orphaned", "_valid", "_invalid")
    return {name: scraped.values(source, f"contour_httpproxy{name}") for name in names}


def world() -> Controller:
    controller = Controller(Published())
    bad = proxy("bad", "b.test", service="missing")
    controller.take(events(SERVICE + proxy("good", "a.test") + bad + CHILD))
    return controller


def test_proxies_are_counted_by_namespace_and_host() -> None:
    assert read(world()) == {
        "": {("default",): 3},
        "_root": {("default",): 2},
        "_orphaned": {("default",): 1},
        "_valid": {("default", "a.test"): 1},
        "_invalid": {("default", "b.test"): 1},
    }


def test_only_the_leader_tells_them() -> None:
    assert not any(read(world(), leads=False).values())


def test_of_many_hosts_only_the_sums_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpproxies, "MOST_HOSTS", 1)
    found = read(world())
    assert found["_valid"] == {("default", ""): 1}
    assert found["_invalid"] == {("default", ""): 1}
