"""Services without EndpointSlices: which are looked for by DNS, and where they are then."""

import pytest

from contour.complaints import ManifestSource
from contour.controller import Controller
from contour.files import documents, store
from contour.offline import rendering
from crds.meta import NamespacedName
from dag import hostdns, services
from dag.nodes import Endpoint
from tests.dag.test_localbackends import PROXY, TWO, led_to, told

CART = NamespacedName("default", "cart")


def service(port: str = "port: 80", spec: str = "") -> str:
    return (
        "apiVersion: v1\nkind: Service\nmetadata: {name: cart}\n"
        f"spec: {{{spec}ports: [{{{port}}}]}}\n---\n"
    )


SLICE = """
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
endpoints: []
ports: [{port: 9999, name: ""}]
---
"""


def taken(text: str, *found: str, fault: str = "", is_named: bool = False) -> Controller:
    controller, read = Controller(rendering.Fleets().publish), store.Store()
    controller.engine.write(hostdns.IN_USE, (), True)
    controller.engine.write(hostdns.ADDRESSES, CART, found or None)
    controller.engine.write(hostdns.FAULTS, CART, fault or None)
    if is_named:
        controller.use_local_backends({CART: (TWO,)})
    read.write(ManifestSource("it.yaml"), documents.texts(text.encode()))
    controller.take(read.batch())
    return controller


def wanted(controller: Controller) -> list[NamespacedName]:
    return [key for key, _ in controller.engine.answers(hostdns.wanted)]


@pytest.mark.parametrize(
    ("port", "number"),
    [
        ("port: 80", 80),
        ("port: 80, targetPort: 9103", 9103),
        ("port: 80, targetPort: http", 80),
        ("port: 80, targetPort: 99999", 80),
    ],
)
def test_endpoints_listen_on_the_target_port(port: str, number: int) -> None:
    controller = taken(service(port) + PROXY, "10.0.0.7", "10.0.0.8")
    assert led_to(controller) == [(Endpoint("10.0.0.7", number), Endpoint("10.0.0.8", number))]
    assert wanted(controller) == [CART]
    assert told(controller) == ""


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        (SLICE + service() + PROXY, False),  # Kubernetes says that there is no endpoint
        (service() + PROXY, True),
        (service(), False),  # nobody leads to it
        (PROXY, False),  # there is no Service
    ],
)
def test_no_other_service_is_looked_for(text: str, is_named: bool) -> None:
    controller = taken(text, "10.0.0.7", is_named=is_named)
    assert wanted(controller) == []
    assert (Endpoint("10.0.0.7", 80),) not in led_to(controller)


def test_nothing_is_looked_for_where_dns_is_not_in_use() -> None:
    controller = taken(service() + PROXY, "10.0.0.7")
    controller.engine.write(hostdns.IN_USE, (), None)
    controller.settle()
    assert led_to(controller) == [()]
    assert wanted(controller) == []


def test_a_name_that_does_not_resolve_is_told_and_its_last_addresses_stay() -> None:
    controller = taken(service() + PROXY, "10.0.0.7", fault="cart cannot be resolved here: no such")
    assert led_to(controller) == [(Endpoint("10.0.0.7", 80),)]
    assert "cart has no EndpointSlices, and cart cannot be resolved here: no such" in told(
        controller
    )


def test_an_address_that_may_not_be_led_to_is_left_out_and_told() -> None:
    controller = taken(service() + PROXY, "10.0.0.7", "169.254.169.254")
    assert led_to(controller) == [(Endpoint("10.0.0.7", 80),)]
    assert "'169.254.169.254' (link-local)" in told(controller)


def test_slices_that_appear_end_the_look_up() -> None:
    controller, read = taken(service() + PROXY, "10.0.0.7"), store.Store()
    read.write(ManifestSource("slice.yaml"), documents.texts(SLICE.encode()))
    controller.take(read.batch())
    assert wanted(controller) == []
    assert [found.endpoints for _, found in controller.engine.answers(services.endpoints)] == [()]


@pytest.mark.parametrize(
    ("namespace", "names"),
    [("default", ["cart.default.svc", "cart"]), ("dev", ["cart.dev.svc"])],
)
def test_names(namespace: str, names: list[str]) -> None:
    assert list(hostdns.names(NamespacedName(namespace, "cart"))) == names
