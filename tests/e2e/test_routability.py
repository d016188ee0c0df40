"""From where the addresses of a Gateway are reached (Gateway API 1.7, experimental, GEP-5093).

In a cluster with pods: Envoys that the instance makes, whose Service has a cluster IP and an
address of a balancer.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest

from tests import upstream
from tests.cluster import prepared
from tests.pods.fixtures import demand
from tests.workflows import expectations
from tests.workflows.instances import Instance, installed
from tests.workflows.site import Raw, opened

pytestmark = [pytest.mark.envoy, pytest.mark.cluster, pytest.mark.timeout(600)]

_NEW, _OLD = "crds/gateway-api-v1.7.0/experimental", "crds/gateway-api-v1.6.1/experimental"
_HOST, _PATH = "shop.example.com", "/pay"
_WITHIN = {"routability": "Cluster"}
_SENTINEL = {"routability": "testing.x-k8s.io/sentinel"}
_UNKNOWN = {"routability": "example.com/x"}
_FEATURES = {"GatewayAddressRoutability", "GatewayAddressRoutabilityCluster"}


@pytest.fixture(scope="module", name="instance")
def _instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    demand()
    crds, folder = upstream.folder(_NEW), tmp_path_factory.mktemp("routability")
    with (
        prepared.running(folder / "cluster", crds) as cluster,
        opened(cluster, nodes=1) as site,
    ):
        found = installed(site, "managed.yaml", gateway=True)
        expectations.serves_routes(site, found.address, gateway=True)
        yield found


class Case(NamedTuple):
    """What a Gateway asks for, what it gets, and what it is told."""

    asked: Sequence[Mapping[str, str]]
    has: Sequence[tuple[str, str]]
    """Each address, `balancer` or `within` the cluster, and its routability."""
    assigned: str = "AddressesAssigned"
    programmed: str = "Programmed"
    missing: str = ""


_NONE = {"assigned": "NotAssigned", "programmed": "AddressNotAssigned"}
CASES = {
    "without entries, what there is": Case([], [("balancer", "")]),
    "an entry without routability": Case([{}], [("balancer", "")]),
    "a cluster IP, and nothing else": Case([_WITHIN], [("within", "Cluster")]),
    "an address for each entry": Case([{}, _WITHIN], [("balancer", ""), ("within", "Cluster")]),
    "any address for the sentinel": Case([_SENTINEL], [("balancer", _SENTINEL["routability"])]),
    "an address is for one entry": Case(
        [_WITHIN, _WITHIN], [("within", "Cluster")], "PartiallyAssigned",
        missing="IPAddress with routability Cluster",
    ),
    "a part of them": Case(
        [_UNKNOWN, {}], [("balancer", "")], "PartiallyAssigned",
        missing="IPAddress with routability example.com/x",
    ),
    "what nobody knows": Case(
        [_UNKNOWN], [], **_NONE, missing="IPAddress with routability example.com/x"
    ),
    "an address of another scope": Case(
        [{"value": "$balancer"} | _WITHIN], [], **_NONE,
        missing="IPAddress $balancer with routability Cluster",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_address_is_reached_from_where_it_is_asked_to_be(instance: Instance, case: Case) -> None:
    """And Envoy serves meanwhile at all that it has."""
    places = {"balancer": instance.address, "within": _cluster_ip(instance)}
    asked = json.loads(json.dumps(case.asked).replace("$balancer", instance.address))
    conditions, addresses = _told(instance, asked)
    assert addresses == [
        {"type": "IPAddress", "value": places[place], "routability": scope}
        for place, scope in case.has
    ]
    assigned, programmed = conditions["AddressesAssigned"], conditions["Programmed"]
    assert (assigned["status"] == "True") == (not case.missing)
    assert assigned["reason"] == case.assigned
    if case.missing:
        missing = case.missing.replace("$balancer", instance.address)
        assert assigned["message"] == f"spec.addresses: not assigned: {missing}"
    assert programmed["reason"] == case.programmed
    for place in {"balancer", *(place for place, _ in case.has)}:
        _is_reached(instance, place, places[place])


def test_it_is_claimed_and_a_scope_of_kubernetes_is_refused(instance: Instance) -> None:
    claimed = instance.site.get("gatewayclass", "", "contour")["status"]["supportedFeatures"]
    assert {it["name"] for it in claimed} >= _FEATURES
    patch = {"spec": {"addresses": [{"routability": "k8s.io/x"}]}}
    what = ("patch", "gateway", "web", "--type=merge", "-p", json.dumps(patch))
    done = instance.site.cluster.kubectl(*what)
    assert done.returncode
    assert "routability" in done.stderr


def test_a_gateway_without_envoys_is_told_nothing_of_addresses(instance: Instance) -> None:
    """The condition is absent until its addresses have been looked at."""
    site = instance.site
    late = site.get("gateway", "default", "web")["spec"] | {"addresses": [_WITHIN]}
    head = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway"}
    raw: Raw = head | {"metadata": {"name": "late", "namespace": "default"}, "spec": late}
    site.kubectl("apply", "-f", "-", stdin=json.dumps(raw))
    site.until_condition("gateway", "default", "late", "Accepted", "False")
    found = site.get("gateway", "default", "late")["status"]
    assert "AddressesAssigned" not in {it["type"] for it in found["conditions"]}
    assert not found.get("addresses")
    site.kubectl("delete", "gateway", "late", "-n", "default")


def test_the_crds_of_v1_6_have_neither_the_field_nor_the_condition(instance: Instance) -> None:
    site = instance.site
    _told(instance, [_SENTINEL])
    try:
        site.cluster.install_crds(upstream.folder(_OLD))
        site.until(
            lambda: _status(instance),
            lambda it: (
                it["addresses"] == [{"type": "IPAddress", "value": instance.address}]
                and "AddressesAssigned" not in {each["type"] for each in it["conditions"]}
            ),
        )
        _is_reached(instance, "balancer", instance.address)
    finally:
        site.cluster.install_crds(upstream.folder(_NEW))
    # The class's CRD tells the version before the Gateways' has the field, which was dropped then.
    usual = [{"type": "IPAddress", "value": instance.address, "routability": ""}]
    site.until(lambda: _status(instance)["addresses"], lambda it: it == usual)


def _status(instance: Instance) -> Raw:
    found: Raw = instance.site.get("gateway", "default", "web")["status"]
    return found


def _told(
    instance: Instance, asked: Sequence[Mapping[str, str]]
) -> tuple[Mapping[str, Raw], list[Raw]]:
    """The conditions and addresses of the Gateway once it has these entries."""
    site, before = instance.site, _gateway(instance)["spec"].get("addresses", [])
    if before != [{"type": "IPAddress"} | dict(it) for it in asked]:  # as the CRD adds it
        site.patch("gateway", "default", "web", {"spec": {"addresses": list(asked) or None}})
    wanted = _gateway(instance)["metadata"]["generation"]

    def is_of_it(status: Raw) -> bool:
        # Those that the CRD begins with are of no generation.
        of_all = [it for it in status["conditions"] if it.get("observedGeneration") == wanted]
        return "AddressesAssigned" in {it["type"] for it in of_all}

    found = site.until(lambda: _status(instance), is_of_it)
    return {it["type"]: it for it in found["conditions"]}, found.get("addresses", [])


def _gateway(instance: Instance) -> Raw:
    return instance.site.get("gateway", "default", "web")


def _cluster_ip(instance: Instance) -> str:
    service = instance.site.get("service", instance.namespace, "envoy")
    return str(service["spec"]["clusterIP"])


def _is_reached(instance: Instance, place: str, address: str) -> None:
    """A request goes through Envoy: from here, or from a pod."""
    site = instance.site
    if place == "balancer":
        assert site.ask(address, _HOST, _PATH) == expectations.PAY
        return
    (shop,) = site.pods.until_ready("default", "app=shop", 1)
    code = (
        "import http.client, sys\n"
        f"c = http.client.HTTPConnection({address!r}, timeout=5)\n"
        f"c.request('GET', {_PATH!r}, headers={{'host': {_HOST!r}}})\n"
        "sys.exit(b'pay' not in c.getresponse().read())"
    )
    name = shop["metadata"]["name"]
    assert site.pods.execute("default", name, "shop", "python3", "-c", code) == 0
