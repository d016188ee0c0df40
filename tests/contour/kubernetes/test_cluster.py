"""The provider on the double: F09, F13, F51-F56, and what of it all costs nothing."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from contour import readiness
from contour.complaints import Complaint, ManifestSource, Subject
from contour.events import Batch
from contour.kubernetes.cluster import Cluster
from contour.kubernetes.scope import Scope
from crds.kinds import KINDS, Kind
from crds.meta import ObjectRef
from kube.client import Client
from kube.reflector import Timings
from tests.cluster.double.faults import Rule
from tests.cluster.double.resources import Resource, definition
from tests.cluster.double.server import Double
from tests.contour.kubernetes.written import Raw, broken, config_map, proxy, secret
from tests.kube.followed import FAST, At, service
from tests.testbed.patience import PATIENCE

CUSTOM = [
    Resource(it.group, it.versions, it.plural, it.kind, it.namespaced, it.has_status, custom=True)
    for it in KINDS.values()
    if it.group in {"projectcontour.io", "gateway.networking.k8s.io", "gateway.envoyproxy.io"}
]

ABSENT = {"gateway.networking.x-k8s.io", "certificates.k8s.io"}
"""Groups that the double does not serve."""


class Graph:
    """Takes batches like the graph, and keeps what is there."""

    def __init__(self, cluster: Cluster, first: Batch) -> None:
        self.cluster = cluster
        self.first = first
        self.objects: dict[ObjectRef, object] = {}
        self.complaints: dict[Subject, tuple[Complaint, ...]] = {}
        self.batches = 0
        self._changes = cluster.changes()
        self._take(first)

    async def until(self, *names: str) -> None:
        """Takes what comes until exactly these HTTPProxies are there."""
        async with asyncio.timeout(PATIENCE):
            while self.names("HTTPProxy") != set(names):
                self._take(await anext(self._changes))

    async def next(self) -> Batch:
        async with asyncio.timeout(PATIENCE):
            batch = await anext(self._changes)
        self._take(batch)
        return batch

    def names(self, kind: str) -> set[str]:
        return {it.name for it in self.objects if it.kind == kind}

    def _take(self, batch: Batch) -> None:
        self.batches += 1
        for kind, key, found in batch.events:
            ref = ObjectRef(kind.kind, *key)
            if found is None:
                self.objects.pop(ref, None)
            else:
                self.objects[ref] = found
        self.complaints.update(batch.complaints)


@asynccontextmanager
async def graph(
    double: Double, scope: Scope | None = None, timings: Timings = FAST
) -> AsyncIterator[Graph]:
    async with Client(At(double.url)) as client, asyncio.TaskGroup() as tasks:
        cluster = Cluster(client, scope, timings=timings)
        running = tasks.create_task(cluster.run())
        async with asyncio.timeout(PATIENCE):
            first = await cluster.initial()
        yield Graph(cluster, first)
        running.cancel()


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with Double() as started:
        started.define(CUSTOM)
        started.put(proxy("a"))
        yield started


async def test_everything_there_is_comes_first_and_in_one(double: Double) -> None:
    double.put(service("s"))
    double.put(secret("t", "kubernetes.io/tls", tls_crt="YQ=="))
    async with graph(double, timings=FAST._replace(page=1)) as it:
        assert it.names("HTTPProxy") == {"a"}
        assert it.names("Service") == {"s"}
        assert it.names("Secret") == {"t"}
        assert it.names("Namespace") == {"default", "kube-system"}
        assert it.first.complaints == {}
        await double.watching("httpproxies")
        unlisted = {it.kind for it in it.cluster.state() if not it.state.is_listed}
        assert unlisted == {
            *("ClusterTrustBundle", "XBackend", "XBackendTrafficPolicy", "XTelemetryPolicy"),
        }


async def test_nothing_is_there_before_the_slowest_list(double: Double) -> None:
    slow = asyncio.Event()
    double.script.add(Rule("list", "secrets", hold=slow))
    async with Client(At(double.url)) as client, asyncio.TaskGroup() as tasks:
        cluster = Cluster(client, timings=FAST)
        running = tasks.create_task(cluster.run())
        initial = tasks.create_task(cluster.initial())
        await double.watching("httpproxies")
        assert not initial.done()
        slow.set()
        kinds = Counter(it.kind.kind for it in (await initial).events)
        assert kinds == {"Namespace": 2, "HTTPProxy": 1, "CustomResourceDefinition": 1}
        running.cancel()


@pytest.mark.parametrize("rule", [Rule("list", "secrets", status=500), Rule(status=401)])
async def test_a_list_that_fails_is_still_waited_for_and_not_ready(
    double: Double, rule: Rule
) -> None:
    double.script.add(rule)
    async with Client(At(double.url)) as client, asyncio.TaskGroup() as tasks:
        cluster = Cluster(client, timings=FAST)
        running = tasks.create_task(cluster.run())
        async with asyncio.timeout(PATIENCE):
            while not any(it.kind == "Secret" and it.state.trouble for it in cluster.state()):
                await asyncio.sleep(0.01)
        assert "Secret" in readiness.unlisted(cluster)
        double.script.heal()
        await cluster.initial()
        assert readiness.unlisted(cluster) == ""
        running.cancel()


async def test_what_arrives_while_a_batch_is_taken_is_the_next_one(double: Double) -> None:
    async with graph(double) as it:
        await double.watching("httpproxies")
        double.put(proxy("b"))
        await it.until("a", "b")
        before, names = it.batches, [f"p{number}" for number in range(200)]
        for name in names:
            double.put(proxy(name))
        await it.until("a", "b", *names)
        assert it.batches - before < 20


async def test_what_nobody_has_taken_yet_is_news_and_a_status_is_none(double: Double) -> None:
    async with graph(double) as it:
        await double.watching("httpproxies")
        double.put(proxy("b"))
        async with asyncio.timeout(PATIENCE):
            while not it.cluster.has_news:
                await asyncio.sleep(0)
        await it.until("a", "b")
        assert not it.cluster.has_news
        double.put({**proxy("b"), "status": {"currentStatus": "valid"}})
        ref = ObjectRef("HTTPProxy", "default", "b")
        async with asyncio.timeout(PATIENCE):
            while not (known := it.cluster.known(ref)) or not known.status:
                await asyncio.sleep(0)
                assert not it.cluster.has_news


async def test_a_right_that_is_missing_concerns_one_kind_and_is_told(
    double: Double, caplog: pytest.LogCaptureFixture
) -> None:
    double.put(service("s"))
    denied = double.script.forbid("services")
    async with graph(double) as it:
        assert it.names("HTTPProxy") == {"a"}
        assert it.names("Service") == set()
        place = ManifestSource("kind Service of v1")
        (complaint,) = it.first.complaints[place]
        assert "services is forbidden" in str(complaint)
        assert f"{place}: 403 Forbidden: services is forbidden" in caplog.text
        double.put(proxy("b"))
        await it.until("a", "b")
        double.script.remove(denied)
        while "s" not in it.names("Service") or it.complaints[place]:
            await it.next()


@pytest.mark.parametrize(
    "kind",
    [it for it in KINDS.values() if not it.opt_in and it.group not in ABSENT],
    ids=lambda it: it.kind,
)
async def test_each_right_to_read_that_is_missing_is_told_and_hurts_no_other_kind(
    double: Double, kind: Kind
) -> None:
    denied = double.script.forbid(kind.plural)
    async with graph(double) as it:
        (told,) = (found for found in it.complaints.values() if found)
        assert f"{kind.plural} is forbidden" in str(told[0])
        assert it.names("HTTPProxy") == (set() if kind.kind == "HTTPProxy" else {"a"})
        double.script.remove(denied)
        while any(it.complaints.values()):
            await it.next()
        await it.until("a")


async def test_namespaces_by_name_need_no_right_to_all(double: Double) -> None:
    def is_of_all(request: object) -> bool:
        return not getattr(request, "namespace", "") and bool(getattr(request, "resource", ""))

    double.script.add(Rule(when=is_of_all, status=403))
    for namespace in ("one", "two"):
        double.add_namespace(namespace)
        double.put(proxy(namespace, namespace=namespace))
    async with graph(double, Scope(("one", "two"))) as it:
        assert it.names("HTTPProxy") == {"one", "two"}
        told = {str(place) for place in it.complaints}
        assert "kind Namespace of v1" in told
        assert not any("in namespace" in place for place in told)
        double.put(proxy("b", namespace="two"))
        double.put(proxy("c"))
        double.put(proxy("d", namespace="one"))
        await it.until("one", "two", "b", "d")


async def test_a_namespace_that_goes_takes_all_its_objects_along(double: Double) -> None:
    double.add_namespace("crowded")
    crowd = [proxy(f"p{number}", namespace="crowded") for number in range(500)]
    for member in crowd:
        double.put(member)
    async with graph(double) as it:
        assert len(it.names("HTTPProxy")) == 501
        await double.watching("httpproxies")
        for member in crowd:
            double.remove(member)
        await it.until("a")


async def test_an_object_that_was_made_anew_is_another_one(double: Double) -> None:
    async with graph(double) as it:
        await double.watching("httpproxies")
        double.remove(proxy("a"))
        double.put(proxy("a", uid="another"))
        while _uid(it) != "another":
            await it.next()


def _uid(it: Graph) -> object:
    found = it.objects.get(ObjectRef("HTTPProxy", "default", "a"))
    return found and found.metadata.uid  # type: ignore[attr-defined]


async def test_kinds_come_and_go_with_their_crds() -> None:
    async with Double() as double, graph(double) as it:
        assert it.cluster.resource("HTTPProxy") is None
        double.define(CUSTOM)
        double.put(proxy("a"))
        await it.until("a")
        resource = it.cluster.resource("HTTPProxy")
        assert resource is not None
        assert resource.version == "v1"
        (watch,) = await double.watching("httpproxies")
        (gone,) = (it for it in CUSTOM if it.plural == "httpproxies")
        double.remove(definition(gone))
        watch.abort()
        await it.until()
        double.define([gone])
        double.put(proxy("b"))
        while "b" not in it.names("HTTPProxy"):
            await it.next()


async def test_fields_and_values_of_a_future_version_are_told_and_passed_over(
    double: Double,
) -> None:
    async with graph(double) as it:
        await double.watching("httpproxies")
        future = proxy("b")
        future["spec"]["fromTheFuture"] = True
        double.put(future)
        await it.until("a", "b")
        (complaint,) = it.complaints[ObjectRef("HTTPProxy", "default", "b")]
        assert "fromTheFuture" in str(complaint)


BAD_TEXT = {
    "not UTF-8": b"\xff\xfe",
    "a lone surrogate": b"\\ud800",
    "NUL": b"\\u0000",
}


@pytest.mark.parametrize("bad", BAD_TEXT.values(), ids=BAD_TEXT)
async def test_broken_text_in_one_object_stops_neither_list_nor_watch(
    double: Double, bad: bytes
) -> None:
    text = b'{"metadata":{"name":"bad","namespace":"default"},"spec":{"virtualhost":{"fqdn":"%s"}}}'
    item, good = text % bad, text.replace(b'"bad"', b'"good"') % b"good.example.com"
    version = str(double.store.version).encode()
    listed = b'{"metadata":{"resourceVersion":"%s"},"items":[%s,%s]}' % (version, item, good)
    double.script.add(Rule("list", "httpproxies", body=listed, times=1))
    async with graph(double) as it:
        assert it.names("HTTPProxy") == {"good"}
        bad_one = ObjectRef("HTTPProxy", "default", "bad")
        assert it.complaints[bad_one]
        (watch,) = await double.watching("httpproxies")
        await watch.send(b'{"type":"ADDED","object":%s}\n' % item.replace(b'"bad"', b'"worse"'))
        double.put(proxy("b"))
        await it.until("good", "b")
        assert it.complaints[ObjectRef("HTTPProxy", "default", "worse")]


async def test_an_object_that_breaks_serves_on_and_the_others_change(double: Double) -> None:
    async with graph(double) as it:
        await double.watching("httpproxies")
        double.put(broken("a"))
        double.put(proxy("b"))
        await it.until("a", "b")
        assert it.complaints[ObjectRef("HTTPProxy", "default", "a")]


async def test_statuses_are_known_and_are_no_changes(double: Double) -> None:
    ref, heard = ObjectRef("HTTPProxy", "default", "a"), list[ObjectRef]()
    async with graph(double) as it:
        it.cluster.hear(heard.append)
        await double.watching("httpproxies")
        stored = double.put(proxy("a") | {"status": {"currentStatus": "valid"}})
        double.put(proxy("b"))
        batch = await it.next()
        while not batch.events:
            batch = await it.next()
        assert [event.key.name for event in batch.events] == ["b"]
        known = it.cluster.known(ref)
        assert known is not None
        assert known.resource_version == stored["metadata"]["resourceVersion"]
        assert known.status == {"currentStatus": "valid"}
        assert heard[0] == ref


async def test_secrets_and_config_maps_that_nobody_reads_make_no_batch(double: Double) -> None:
    def churn(number: int) -> list[Raw]:
        return [
            secret("release", "helm.sh/release.v1", release="YQ==" * number),
            secret("password", password="YQ==" * number),
            config_map("lock", leader=str(number)),
        ]

    for it in churn(1):
        double.put(it)
    async with graph(double) as taken:
        assert taken.names("Secret") == {"password"}
        await double.watching("secrets")
        await double.watching("configmaps")
        for number in range(2, 50):
            for it in churn(number):
                double.put(it)
        double.put(secret("password", ca_crt="YQ=="))
        batch = await taken.next()
        assert [event.key.name for event in batch.events] == ["password"]
