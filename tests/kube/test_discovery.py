"""Which version of a resource is served, and how seldom it is asked."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kube import errors
from kube.client import Client
from kube.discovery import Discovery, Wanted
from tests.cluster.double.faults import Rule
from tests.cluster.double.resources import Resource
from tests.cluster.double.server import Double
from tests.kube.followed import At

GROUP = "gateway.networking.k8s.io"
ROUTES = Wanted(GROUP, ("v1", "v1beta1"), "httproutes")


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with Double() as started:
        yield started


async def version(double: Double, wanted: Wanted) -> str | None:
    async with Client(At(double.url)) as client:
        found = await Discovery(client).resource(wanted)
    return found and found.version


@pytest.mark.parametrize(
    ("served", "expected"),
    [(("v1", "v1beta1"), "v1"), (("v1beta1",), "v1beta1"), (("v1alpha2",), None), ((), None)],
)
async def test_the_best_version_that_is_served_is_taken(
    double: Double, served: tuple[str, ...], expected: str | None
) -> None:
    if served:
        double.define([Resource(GROUP, served, "httproutes", "HTTPRoute", custom=True)])
    assert await version(double, ROUTES) == expected


async def test_a_built_in_resource_is_found(double: Double) -> None:
    assert await version(double, Wanted("", ("v1",), "services")) == "v1"


async def test_many_who_ask_at_once_make_one_request(double: Double) -> None:
    double.define([Resource(GROUP, ("v1",), "httproutes", "HTTPRoute", custom=True)])
    async with Client(At(double.url)) as client:
        discovery = Discovery(client, good_for=60.0)
        wanted = [ROUTES._replace(plural=it, versions=("v1",)) for it in ("httproutes", "others")]
        found = await asyncio.gather(*(discovery.resource(it) for it in wanted * 5))
    assert double.count("discovery") == 1
    assert [it is not None for it in found] == [True, False] * 5


async def test_what_was_refused_is_not_remembered(double: Double) -> None:
    double.script.add(Rule("discovery", status=503, times=1))
    async with Client(At(double.url)) as client:
        discovery = Discovery(client, good_for=60.0)
        with pytest.raises(errors.Refused):
            await discovery.resource(ROUTES)
        assert await discovery.resource(ROUTES) is None


async def test_nonsense_is_no_absence(double: Double) -> None:
    double.script.add(Rule("discovery", body=b'{"resources": 7}'))
    with pytest.raises(errors.Unreachable):
        await version(double, ROUTES)
