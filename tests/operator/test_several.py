"""Several operators, several configurations, none, and those of which nothing can be made."""

import signal

import pytest

from tests.operator.operators import Rig
from tests.operator.proxy import Proxy
from tests.testbed.apiserver import MEDIA, RefusedError

pytestmark = pytest.mark.cluster


def test_of_two_operators_one_acts_and_the_other_takes_over(rig: Rig) -> None:
    one, two = Proxy(rig.cluster), Proxy(rig.cluster)
    with one.running(), two.running():
        first = rig.start(proxy=one)
        rig.configure()
        rig.until_provisioned()
        rig.start(proxy=two)
        deployment = rig.children()["Deployment", rig.namespace, "contour"]
        rig.cluster.delete(deployment)
        rig.until(lambda: ("Deployment", rig.namespace, "contour") in rig.children())
        assert not any(it.is_write for it in two.requests)
        seconds = first.stop(signal.SIGTERM)
        assert first.code == 0
        assert seconds < 5
        rig.operators.remove(first)
        rig.cluster.delete(rig.configuration())
        # The Lease was freed: nobody waits until it runs out.
        rig.until(lambda: rig.is_gone(rig.configuration()))
        assert any(it.is_write for it in two.requests)


def test_a_configuration_that_was_deleted_while_no_operator_ran_goes_when_one_runs(
    rig: Rig,
) -> None:
    proxy = Proxy(rig.cluster)
    with proxy.running():
        operator = rig.start(proxy=proxy)
        rig.configure()
        rig.until_provisioned()
        operator.stop()
        rig.operators.clear()
        rig.cluster.delete(rig.configuration())
        assert rig.cluster.get(rig.configuration())["metadata"]["deletionTimestamp"]
        rig.cluster.delete(rig.children()["Service", rig.namespace, "contour"])
        failures = iter(range(3))
        proxy.refuse = lambda it: it.method == "DELETE" and next(failures, None) is not None
        rig.start(proxy=proxy)
        rig.until(lambda: rig.is_gone(rig.configuration()))
        assert next(failures, None) is None
    assert rig.children() == {}


def test_a_namespace_has_one_instance_and_the_next_configuration_takes_its_place(
    operated: Rig,
) -> None:
    operated.configure("one")
    operated.until_provisioned("one")
    operated.configure("two")
    operated.until(lambda: operated.reason("two") == "NamespaceInUse")
    assert "one is the configuration" in operated.condition("Provisioned", "two")["message"]
    operated.cluster.delete(operated.configuration("one"))
    operated.until_provisioned("two")
    assert operated.is_gone(operated.configuration("one"))


def test_only_configurations_that_ask_for_an_instance_are_touched(operated: Rig) -> None:
    by_hand = operated.configuration("by-hand") | {"spec": {}}
    before = operated.cluster.create(by_hand)
    operated.configure()
    operated.until_provisioned()
    after = operated.cluster.get(by_hand)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_an_instance_is_handed_over_and_taken_back(operated: Rig) -> None:
    operated.configure()
    operated.until_provisioned()
    made = operated.children().keys()
    path = operated.cluster.path(operated.configuration())
    operated.cluster.ask("PATCH", path, {"spec": {"contour": None}}, MEDIA["merge"])
    operated.until(
        lambda: not operated.cluster.get(operated.configuration())["metadata"].get("finalizers")
    )
    assert operated.condition("Provisioned") == {}
    assert operated.children().keys() == made
    operated.configure()
    operated.until_provisioned()


def test_what_is_not_valid_is_told_with_its_path_makes_nothing_and_can_be_deleted(
    operated: Rig,
) -> None:
    wrong = {"resources": {"limits": {"memory": "plenty"}}, "watchNamespaces": ["a", "a"]}
    operated.configure(contour=wrong)
    operated.until(lambda: operated.reason() == "Invalid")
    message = operated.condition("Provisioned")["message"]
    assert "spec.contour.resources.limits.memory: must be an amount" in message
    assert "spec.contour.watchNamespaces[1]: a is there more than once" in message
    assert operated.children() == {}
    operated.configure()
    operated.until_provisioned()
    operated.configure(contour=wrong)
    operated.until(lambda: operated.reason() == "Invalid")
    assert len(operated.children()) == 12
    operated.cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
    assert operated.children() == {}


def test_the_api_server_refuses_what_the_schema_does(rig: Rig) -> None:
    for wrong in ({"replicas": -1}, {"logLevel": "loud"}, {"replicas": "two"}):
        with pytest.raises(RefusedError):
            rig.configure(contour=wrong)


def test_the_instances_own_condition_stays_and_a_huge_configuration_is_no_obstacle(
    operated: Rig,
) -> None:
    operated.configure(contour={"podAnnotations": {"example.com/big": "x" * 200_000}})
    valid = {
        "type": "Valid",
        "status": "True",
        "reason": "Valid",
        "message": "Valid ContourConfiguration",
        "lastTransitionTime": "2024-01-31T12:00:00Z",
    }
    told = operated.configuration() | {"status": {"conditions": [valid]}}
    del told["spec"]
    operated.cluster.apply(told, manager="contour", subresource="status")
    operated.until_provisioned()
    assert operated.condition("Valid") == valid
    assert operated.condition("Progressing")["status"] == "True"
    assert operated.condition("Available")["status"] in {"False", "Unknown"}
    stored = operated.cluster.get(operated.configuration())
    assert not stored["metadata"].get("annotations")
    assert stored["status"]["availableContours"] == 0
    operated.cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
