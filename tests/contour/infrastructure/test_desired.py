"""What a fleet consists of, and by what it is known."""

from dataclasses import replace
from typing import Any

import pytest

from contour.infrastructure import desired
from contour.infrastructure.desired import Key, Release
from crds import workloads
from crds.meta import NamespacedName
from dag.fleets import Fleet, Port
from dag.statuses import Address
from provisioning.keeping import ownership
from provisioning.keeping.ownership import Owner
from provisioning.templating import Document

RELEASE = Release(Owner("home", "contour"))
SHARED = Fleet(
    gateway=None,
    ports=(Port("http", "TCP", 80, 8080),),
    publishing=workloads.NetworkPublishing(type="LoadBalancerService"),
)
OWN = replace(SHARED, gateway=NamespacedName("shop", "gw"), gateway_class="ours")


def documents(
    fleet: Fleet, release: Release = RELEASE, name: str = "contour"
) -> dict[str, Document]:
    return {it["kind"]: it for it in desired.documents(release, fleet, name)}


def arguments(fleet: Fleet, **given: Any) -> list[str]:
    """Of what writes the bootstrap."""
    (init,) = documents(fleet, **given)["DaemonSet"]["spec"]["template"]["spec"]["initContainers"]
    found: list[str] = init["args"]
    return found


@pytest.mark.parametrize("fleet", [SHARED, OWN])
def test_everything_of_a_fleet_is_known_again_by_its_labels(fleet: Fleet) -> None:
    for it in documents(fleet).values():
        assert RELEASE.ownership.owns(it)
        assert desired.key_of(it) == desired.key(RELEASE, fleet.gateway)
        assert "ownerReferences" not in it["metadata"]


def test_the_fleet_of_a_gateway_is_called_after_it_and_asks_at_home() -> None:
    found = documents(OWN, name="shop/gw")
    assert {(it["metadata"]["namespace"], it["metadata"]["name"]) for it in found.values()} == {
        ("shop", "gw-ours")
    }
    assert all(it["metadata"]["labels"][ownership.GATEWAY] == "gw" for it in found.values())
    told = arguments(OWN, name="shop/gw")
    assert {"--xds-address=contour.home", "--fleet=shop/gw"} <= set(told)
    volumes = found["DaemonSet"]["spec"]["template"]["spec"]["volumes"]
    assert volumes[0]["secret"]["secretName"] == desired.certificate(RELEASE, OWN) == "gw-ours"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(workloads.Workload(), 60), (workloads.Workload(drain_time_seconds=301), 452)],
)
def test_envoys_keep_what_was_replaced_for_the_time_that_was_chosen(
    said: workloads.Workload, seconds: int
) -> None:
    fleet = replace(SHARED, workload=said)
    pod = documents(fleet)["DaemonSet"]["spec"]["template"]["spec"]
    (envoy,) = (it for it in pod["containers"] if it["name"] == "envoy")
    place = envoy["args"].index("--drain-time-s")
    assert envoy["args"][place + 1] == str(seconds)


def test_an_instance_with_a_suffix_has_its_own_names() -> None:
    release = replace(RELEASE, suffix="-blue", service="envoy-blue")
    found = documents(SHARED, release)
    assert {it["metadata"]["name"] for it in found.values()} == {"envoy-blue"}
    assert "--xds-address=contour-blue" in arguments(SHARED, release=release)
    assert "--xds-address=contour-blue.home" in arguments(OWN, release=release)


@pytest.mark.parametrize(
    "name",
    ["9lives", "with.dots", "x" * 200, "a-" * 30, "x" * 60],
)
def test_a_name_that_no_service_can_have_becomes_one_that_nothing_else_has(name: str) -> None:
    other = replace(OWN, gateway=NamespacedName("shop", name))
    found = desired.called(RELEASE, other).name
    assert desired._SERVICE_NAME.fullmatch(found)
    near = replace(OWN, gateway=NamespacedName("shop", f"{name}x"))
    assert found != desired.called(RELEASE, near).name
    value = documents(other)["Service"]["metadata"]["labels"][ownership.GATEWAY]
    assert Key("shop", value) == desired.key(RELEASE, other.gateway)
    assert len(value) <= 63


def test_what_users_label_does_not_make_it_somebody_elses() -> None:
    labels = {
        ownership.GATEWAY: "other",
        "app": "other",
        "app.kubernetes.io/managed-by": "me",
        "a": "b",
    }
    found = documents(replace(SHARED, labels=labels, annotations={"c": "d"}))
    for it in found.values():
        assert desired.key_of(it) == Key("home")
        assert RELEASE.ownership.owns(it)
        assert it["metadata"]["labels"]["a"] == "b"
        assert it["metadata"]["annotations"]["c"] == "d"
    template = found["DaemonSet"]["spec"]["template"]["metadata"]
    assert (template["labels"]["app"], template["annotations"]["c"]) == ("envoy", "d")


def test_a_port_that_comes_replaces_no_pod() -> None:
    more = replace(SHARED, ports=(*SHARED.ports, Port("tcp-53", "TCP", 53, 8053)))
    before, after = documents(SHARED), documents(more)
    assert before["DaemonSet"] == after["DaemonSet"]
    assert before["Service"] != after["Service"]
    assert before["NetworkPolicy"] != after["NetworkPolicy"]


def test_who_may_read_metrics_reaches_them_wherever_they_are() -> None:
    policy = documents(replace(SHARED, monitors=(8002, 9100)))["NetworkPolicy"]
    every = policy["spec"]["ingress"]
    assert [it["port"] for it in every[0]["ports"]] == [8080]
    assert [it["port"] for it in every[1]["ports"]] == [8002, 9100]
    assert every[1]["from"]


def test_an_address_is_asked_for_where_a_load_balancer_can_have_it() -> None:
    for address, found in {
        Address("IPAddress", "192.0.2.1"): "192.0.2.1",
        Address("Hostname", "a.example.com"): None,
    }.items():
        given = documents(replace(SHARED, addresses=(address,)))
        assert given["Service"]["spec"].get("loadBalancerIP") == found


def test_the_page_for_probes_is_without_metrics_where_these_are_guarded() -> None:
    for hides in (True, False):
        fleet = replace(SHARED, hides_stats=hides)
        assert ("--no-stats" in arguments(fleet)) is hides
        annotations = documents(fleet)["DaemonSet"]["spec"]["template"]["metadata"]["annotations"]
        assert annotations["prometheus.io/scrape"] == ("false" if hides else "true")


def test_a_fleet_is_named_in_words() -> None:
    assert str(desired.Key("ingress")) == "fleet in ingress"
    assert str(desired.Key("team", "edge")) == "fleet of Gateway edge in team"
