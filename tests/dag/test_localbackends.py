"""Addresses of this machine instead of EndpointSlices."""

import pytest

from contour.complaints import ManifestSource
from contour.controller import Controller
from contour.files import documents, store
from contour.offline import rendering
from crds.meta import NamespacedName
from dag import localbackends, services
from dag.nodes import Endpoint, ServicePort

CART = NamespacedName("default", "cart")
ONE, TWO = Endpoint("127.0.0.1", 9103), Endpoint("::1", 9104)
SERVICE = """
apiVersion: v1
kind: Service
metadata:
  name: cart
  annotations: {projectcontour.io/local-addresses: "127.0.0.1:9103, [::1]:9104"}
spec: {ports: [{port: 80, name: http}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.7]}]
ports: [{port: 9999, name: http}]
---
"""
PROXY = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: it}
spec:
  virtualhost: {fqdn: a.example.com}
  routes: [{services: [{name: cart, port: 80}]}]
"""
BY_NAME = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: it}
spec: {defaultBackend: {service: {name: cart, port: {name: http}}}}
"""


def taken(text: str, *, is_named: bool = False, in_cluster: bool = False) -> Controller:
    controller, found = Controller(rendering.Fleets().publish), store.Store()
    if in_cluster:
        name = NamespacedName("projectcontour", "contour")
        controller.follow(name)
        text += (
            "\n---\napiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
            "metadata: {name: contour, namespace: projectcontour}\nspec: {}\n"
        )
    if is_named:
        controller.use_local_backends({CART: (TWO,)})
    found.write(ManifestSource("it.yaml"), documents.texts(text.encode()))
    controller.take(found.batch())
    return controller


def led_to(controller: Controller) -> list[tuple[Endpoint, ...]]:
    return [found.endpoints for _, found in controller.engine.answers(services.endpoints)]


def told(controller: Controller) -> str:
    return "\n".join(it for row in controller.board.rows() for it in row.reasons)


@pytest.mark.parametrize(
    ("text", "is_named", "expected"),
    [
        (SERVICE + PROXY, False, (ONE, TWO)),
        (SERVICE + PROXY, True, (TWO,)),
        (PROXY, True, (TWO,)),
        (BY_NAME, True, (TWO,)),
        (SERVICE.replace("ports: [{port: 80, name: http}]", "type: ExternalName, externalName: a.b")
         + PROXY, True, (TWO,)),
    ],
)  # fmt: skip
def test_addresses_of_this_machine_win(
    text: str, is_named: bool, expected: tuple[Endpoint, ...]
) -> None:
    controller = taken(text, is_named=is_named)
    assert led_to(controller) == [expected]
    assert told(controller) == ""


def test_in_a_cluster_the_annotation_has_no_effect_and_that_is_told() -> None:
    controller = taken(SERVICE + PROXY, in_cluster=True)
    assert led_to(controller) == [(Endpoint("10.0.0.7", 9999),)]
    assert "LocalAddresses" in told(controller)
    assert "has no effect in a cluster" in told(controller)


def test_an_annotation_that_says_nothing_is_told() -> None:
    controller = taken(SERVICE.replace("[::1]:9104", "cart:80") + PROXY)
    assert led_to(controller) == [(Endpoint("10.0.0.7", 9999),)]
    assert "names are not resolved" in told(controller)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9103", (ONE,)),
        (":9103", (ONE,)),
        ("localhost:9103", (ONE,)),
        ("[::1]:9104,127.0.0.1:9103, 9103", (ONE, TWO)),
        ("", ()),
        ("127.0.0.1:", ()),
        ("127.0.0.1:65536", ()),
        ("127.0.0.1:9103,", ()),
        ("127.1:80", ()),
        ("169.254.169.254:80", ()),
    ],
)
def test_how_addresses_are_written(text: str, expected: tuple[Endpoint, ...]) -> None:
    parsed = localbackends.parsed(text)
    assert parsed.endpoints == expected
    assert bool(parsed.fault) is not bool(expected)


def test_a_service_that_is_named_again_goes_back_to_its_slices() -> None:
    controller = taken(SERVICE + PROXY, is_named=True)
    controller.engine.write(localbackends.NAMED, CART, None)
    controller.settle()
    assert controller.engine.answer(services.endpoints, ServicePort(CART, 80, "http")) is not None
    assert led_to(controller) == [(ONE, TWO)]
