"""Requests to hosts of HTTPRoutes."""

from contextlib import closing

import pytest

from tests.e2e.cases import Case, check
from tests.e2e.standalone import Standalone, exchange

pytestmark = pytest.mark.envoy

_CASES = [
    Case("http://routes.example.com/", backend="one"),
    Case("http://routes.example.com/method", backend="two", method="POST"),
    Case("http://routes.example.com/method", backend="one"),
    Case("http://routes.example.com/exact", backend="two"),
    Case("http://routes.example.com/exact/", backend="one"),
    Case("http://routes.example.com/segments/more", backend="two"),
    Case("http://routes.example.com/segmentsmore", backend="one"),
    Case("http://routes.example.com/42/items", backend="two"),
    Case("http://routes.example.com/x/items", backend="one"),
    Case("http://routes.example.com/header", backend="two", headers={"X-A": "yes", "X-B": "no"}),
    Case("http://routes.example.com/header", backend="one", headers={"X-A": "yes", "X-B": "nope"}),
    Case("http://routes.example.com/header", backend="one", headers={"X-A": "yes"}),
    Case("http://routes.example.com/query?a=yes&b=no", backend="two"),
    Case("http://routes.example.com/query?a=yes&b=nope", backend="one"),
    Case("http://routes.example.com/query?a=yes", backend="one"),
    Case("http://routes.example.com/or-this", backend="two"),
    Case("http://routes.example.com/or-that", backend="two"),
    Case(
        "http://filters.example.com/old/page?q=1",
        headers={"X-Secret": "s", "X-Set": "mine"},
        path="/new/page?q=1",
        seen={"x-set": "50% route", "x-added": "route", "x-secret": None},
        answered={"x-answered": "route"},
    ),
    Case("http://filters.example.com/whole/page", path="/all", host="inner.example.com"),
    Case(
        "http://filters.example.com/moved/away",
        301,
        answered={"location": "http://new.example.com/moved/away"},
    ),
    Case(
        "http://filters.example.com/prefix/away",
        302,
        answered={"location": "http://filters.example.com/start/away"},
    ),
    Case(
        "http://filters.example.com:8080/secure",
        302,
        answered={"location": "https://filters.example.com/secure"},
    ),
    Case(
        "http://filters.example.com/port",
        302,
        answered={"location": "http://filters.example.com:9000/port"},
    ),
    Case("http://filters.example.com/slow/wait?seconds=9", 504),
    Case("http://filters.example.com/unmatched", 404),
    Case("http://backends.example.com/missing", 500),
    Case("http://backends.example.com/asleep", 503),
    Case("http://backends.example.com/refused", 500),
    Case("http://backends.example.com/nothing", 500),
    Case("http://backends.example.com/weights", backend="two"),
    Case("http://a.many.example.com/", backend="two"),
    Case("http://a.b.many.example.com/", backend="two"),
    Case("http://many.example.com/", 404),
    Case("http://inside.example.com/", backend="one"),
    Case("http://a.isolated.example.com/", 404),
    Case("https://routes-tls.example.com/", backend="two"),
    Case("http://routes-tls.example.com/", 404),
    Case("https://inside.example.com/", 404),
    Case("http://guarded-rule.example.com/", backend="one"),
    Case("http://guarded-rule.example.com/private", 500),
]


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_an_httproute_is_served(instance: Standalone, case: Case) -> None:
    check(instance, case)


def test_the_share_of_a_missing_backend_is_answered_with_500(instance: Standalone) -> None:
    host = "backends.example.com"
    with closing(instance.connection("http", host)) as connection:
        found = [exchange(connection, host, "/half").status for _ in range(400)]
    assert set(found) == {200, 500}
    assert 150 <= found.count(500) <= 250  # five standard deviations


_GRANT = """
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: two, namespace: elsewhere}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}]
  to: [{group: "", kind: Service, name: two}]
"""
_FAR = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: far}
spec:
  parentRefs: [{name: web}]
  hostnames: [far.example.com]
  rules:
  - backendRefs: [{name: two, namespace: elsewhere, port: 80}]
"""


def test_a_backend_elsewhere_is_served_while_it_is_granted(instance: Standalone) -> None:
    url = "http://far.example.com/"
    instance.write("far.yaml", _FAR)
    instance.until_status(url, 500)
    assert "elsewhere/two" in instance.reasons("HTTPRoute default/far")
    instance.write("grant.yaml", _GRANT)
    instance.until(url, "two")
    instance.remove("grant.yaml")
    instance.until_status(url, 500)
    instance.remove("far.yaml")
    instance.until_status(url, 404)
