"""Requests to hosts of Ingresses, and to hosts of all three APIs."""

import pytest

from tests.e2e.cases import Case, check
from tests.e2e.standalone import Standalone

pytestmark = pytest.mark.envoy

_INGRESS = [
    Case("http://ingress.example.com/", backend="one"),
    Case("http://ingress.example.com/exact", backend="two"),
    Case("http://ingress.example.com/exact/", backend="one"),
    Case("http://ingress.example.com/exact/more", backend="one"),
    Case("http://ingress.example.com/segments", backend="two"),
    Case("http://ingress.example.com/segments/more", backend="two"),
    Case("http://ingress.example.com/segmentsmore", backend="one"),
    Case("http://ingress.example.com/items/42", backend="two"),
    Case("http://ingress.example.com/items/x", backend="one"),
    Case("http://ingress.example.com/asleep", 503),
    Case("http://ingress.example.com/missing/more", 503),
    Case("http://some.ingress.example.com/", backend="two"),
    Case("http://two.labels.ingress.example.com/", 404),
    Case("http://INGRESS.example.com/", backend="one"),
    Case("http://ingress.example.com:8080/", backend="one"),
    Case("http://ingress.example.com./", backend="one"),
    Case("http://nobody.example.com/", 404),
    Case("http://another-class.example.com/", 404),
    Case("https://ingress-tls.example.com/", backend="one"),
    Case("http://ingress-tls.example.com/", backend="one"),
    Case(
        "http://ingress-forced.example.com/page?q=1",
        301,
        answered={"location": "https://ingress-forced.example.com/page?q=1"},
    ),
]
_LAYERS = [
    Case("http://layers.example.com/", backend="one"),
    Case("http://layers.example.com/proxy", backend="two"),
    Case("http://layers.example.com/proxy/more", backend="one"),
    Case("http://layers.example.com/route", backend="two"),
]


@pytest.mark.parametrize("case", _INGRESS, ids=str)
def test_an_ingress_is_served(instance: Standalone, case: Case) -> None:
    check(instance, case)


@pytest.mark.parametrize("case", _LAYERS, ids=str)
def test_a_gateway_route_beats_an_httpproxy_which_beats_an_ingress(
    instance: Standalone, case: Case
) -> None:
    check(instance, case)
