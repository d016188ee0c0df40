"""Rights, tokens and resources that come and go (reliability: F12, F13, F54, F55)."""

from collections.abc import AsyncIterator

import pytest

from kube.client import Raw
from kube.discovery import Wanted
from tests.cluster.double import resources
from tests.cluster.double.faults import Rule
from tests.cluster.double.server import Double
from tests.kube.followed import FAST, following, service
from tests.testbed.patience import PATIENCE

PROXIES = Wanted("projectcontour.io", ("v1",), "httpproxies")
PROXIES_RESOURCE = resources.Resource(
    "projectcontour.io", ("v1",), "httpproxies", "HTTPProxy", True, True, True
)


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with Double() as started:
        for name in ("a", "b"):
            started.put(service(name))
        yield started


# F12, F13


async def test_a_token_that_is_replaced_is_used(double: Double) -> None:
    double.tokens = {"old"}
    async with following(double, tokens=("old", "new")) as followed:
        (watch,) = await double.watching("services")
        double.tokens = {"new"}
        watch.end()
        double.put(service("c"))
        await followed.until(lambda: "c" in followed.names)
        assert followed.troubles == []


async def test_a_right_that_is_taken_away_leaves_what_is_known_and_tells(double: Double) -> None:
    async with following(double) as followed:
        (watch,) = await double.watching("services")
        denied = double.script.forbid("services")
        watch.end()  # in good order: the first trouble is the missing right
        await followed.until(lambda: bool(followed.troubles))
        assert followed.names == {"a", "b"}
        assert followed.state == "denied"
        assert "services is forbidden" in followed.troubles[0]
        double.remove(service("a"))
        double.script.remove(denied)
        await followed.until(lambda: followed.names == {"b"})
        await followed.until(lambda: followed.troubles[-1] == "")
        assert followed.state == "current"


async def test_a_right_that_is_missing_is_told_before_it_is_asked_for_again(double: Double) -> None:
    rare = FAST._replace(first_pause=3600.0, longest_pause=3600.0, denied=3600.0, calm=0.0)
    async with following(double, timings=rare) as followed:
        (watch,) = await double.watching("services")
        double.script.forbid("services")
        watch.end()
        await followed.until(lambda: bool(followed.troubles))
        assert "services is forbidden" in followed.troubles[0]
        assert followed.reflector.state.failures == 1


async def test_who_may_list_but_not_watch_is_told_and_sees_changes_late(double: Double) -> None:
    double.script.add(Rule("watch", "services", status=403))
    async with following(double) as followed:
        await followed.until(lambda: bool(followed.troubles))
        double.put(service("c"))
        await followed.until(lambda: "c" in followed.names)


async def test_a_refusal_of_a_starting_server_is_not_taken_at_its_word(double: Double) -> None:
    double.script.add(Rule("list", "services", status=403, times=2))
    async with following(double, timings=FAST._replace(grace=PATIENCE)) as followed:
        assert followed.names == {"a", "b"}
        assert followed.troubles == []


# F54, F55


async def test_a_resource_that_comes_later_is_found(double: Double) -> None:
    async with following(double, PROXIES) as followed:
        assert followed.state == "absent"
        double.define([PROXIES_RESOURCE])
        double.put(proxy("a"))
        await followed.until(lambda: followed.names == {"a"})


async def test_a_resource_that_goes_takes_its_objects_along(double: Double) -> None:
    double.define([PROXIES_RESOURCE])
    double.put(proxy("a"))
    async with following(double, PROXIES) as followed:
        (watch,) = await double.watching("httpproxies")
        crd = double.remove(resources.definition(PROXIES_RESOURCE))
        watch.abort()
        await followed.until(lambda: followed.names == set())
        double.put(crd)
        double.put(proxy("b"))
        await followed.until(lambda: "b" in followed.names)


async def test_a_resource_that_is_missing_for_a_moment_keeps_its_objects(double: Double) -> None:
    double.define([PROXIES_RESOURCE])
    double.put(proxy("a"))
    async with following(double, PROXIES) as followed:
        (watch,) = await double.watching("httpproxies")
        double.script.add(Rule("list", "httpproxies", status=404, times=1))
        double.script.add(Rule("discovery", status=404, times=1))
        watch.abort()
        double.put(proxy("b"))
        await followed.until(lambda: followed.names == {"a", "b"})
        assert [it.object for it in followed.news].count(None) == 0


async def test_a_version_that_goes_gives_way_to_one_that_is_served(double: Double) -> None:
    both = PROXIES_RESOURCE._replace(versions=("v1", "v1beta1"))
    double.define([both._replace(versions=("v1beta1",))])
    double.put(proxy("a"))
    async with following(double, PROXIES._replace(versions=("v1", "v1beta1"))) as followed:
        assert followed.reflector.resource is not None
        assert followed.reflector.resource.version == "v1beta1"
        (watch,) = await double.watching("httpproxies")
        double.define([both._replace(versions=("v1",))])
        watch.abort()
        double.put(proxy("b"))
        await followed.until(lambda: followed.names == {"a", "b"})
        assert followed.reflector.resource.version == "v1"
        assert [it.object for it in followed.news].count(None) == 0


async def test_without_discovery_the_first_version_is_tried(double: Double) -> None:
    double.script.add(Rule("discovery", status=403))
    async with following(double, PROXIES) as followed:
        assert followed.state == "absent"
        double.define([PROXIES_RESOURCE])
        double.put(proxy("a"))
        await followed.until(lambda: followed.names == {"a"})


def proxy(name: str) -> Raw:
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {},
    }
