"""What was made, as the API server tells: by key, and without what does not matter to its maker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from contour_operator import children as of_operator
from kube.client import Client
from provisioning.keeping import children, objects, ownership
from provisioning.keeping.applying import Applier
from provisioning.keeping.children import Children, Collection
from provisioning.keeping.ownership import Owner, Ownership
from tests.cluster.double.faults import Rule
from tests.cluster.double.resources import Resource
from tests.cluster.double.server import Double
from tests.kube.followed import FAST
from tests.kube.unguarded import Unguarded

Raw = dict[str, Any]

KINDS = ("Deployment", "DaemonSet", "Service", "PodDisruptionBudget")
OURS = Ownership(Owner("default", "contour"), "tests")
SELECTOR = {"labelSelector": ownership.selector(OURS.labels)}
SECRETS = [{"fieldSelector": f"metadata.name={it}"} for it in ("a", "b")]


class Rig:
    """Objects of a double, and who follows them."""

    def __init__(self, double: Double, client: Client) -> None:
        self.double = double
        self.client = client
        self.changed: list[str] = []
        collections = [Collection(kind, SELECTOR) for kind in KINDS]
        collections += [Collection("Secret", SELECTOR | it) for it in SECRETS]
        self.children: Children[str] = Children(
            client, collections, _app, self._on_change, timings=FAST
        )
        self._news = asyncio.Event()

    def has(self, path: str, field: str, value: Raw) -> bool:
        """Whether it has been told that a field of an object is so."""
        found = self.children.of("a").get(path) or {}
        return bool(found.get(field) == value)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Waits for a change after which it is so."""
        async with asyncio.timeout(20):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    def _on_change(self, key: str) -> None:
        self.changed.append(key)
        self._news.set()


@asynccontextmanager
async def rig(*rules: Rule) -> AsyncIterator[Rig]:
    async with Double() as double, Client(Unguarded(double.url)) as client:
        for it in rules:
            double.script.add(it)
        double.define(
            Resource(it.group, (it.version,), it.plural, kind, it.namespaced, True, True)
            for kind, it in ((kind, objects.RESOURCES[kind]) for kind in (*KINDS, "Secret"))
        )
        found = Rig(double, client)
        running = asyncio.ensure_future(found.children.run())
        try:
            yield found
        finally:
            running.cancel()
            await asyncio.wait([running])


def document(kind: str, app: str = "a", **others: Any) -> Raw:
    labels = {**OURS.labels, "app": app}
    metadata = {"name": "it", "namespace": "default", "labels": labels}
    api_version = objects.RESOURCES[kind].api_version
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **others}


def _app(found: Raw) -> str:
    return str(found["metadata"]["labels"]["app"])


async def test_objects_are_known_by_their_key_until_they_have_another_or_are_gone() -> None:
    async with rig() as it:
        await it.children.synced()
        assert (len(it.children), it.children.unlisted, [*it.children]) == (0, 0, [])
        it.double.put(document("Service"))
        await it.until(lambda: it.changed == ["a"])
        (path,) = it.children.of("a")
        assert path == objects.path(document("Service"))
        it.double.put(document("Service", "b"))
        await it.until(lambda: sorted(it.changed) == ["a", "a", "b"])
        assert ([*it.children], it.children.of("a")) == (["b"], {})
        it.double.remove(document("Service"))
        await it.until(lambda: it.changed[3:] == ["b"])
        assert (len(it.children), it.children.digest(path)) == (0, "")


@pytest.mark.parametrize("plural", ["services", "secrets"])
async def test_a_kind_that_may_not_be_listed_holds_nothing_up_and_is_counted(plural: str) -> None:
    async with rig(Rule("list", plural, status=403)) as it:
        await it.children.synced()
        assert it.children.unlisted == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_status_update_costs_no_request_and_an_edit_costs_one_apply(kind: str) -> None:
    async with rig() as it:
        applier, wanted = Applier(it.client, "tests"), document(kind, spec={"x": 1})
        path = objects.path(wanted)
        assert (await applier.apply(wanted, OURS)).made is not None
        await it.until(lambda: bool(it.children.digest(path)))
        asked = it.double.count("get"), it.double.count("patch")
        stored = it.children.of("a")[path] | {"apiVersion": wanted["apiVersion"]}
        for count in range(3):
            status = {"availableReplicas": count}
            it.double.put(stored | {"status": status})
            await it.until(partial(it.has, path, "status", status))
            applied = await applier.apply(wanted, OURS, it.children.digest(path))
            assert applied == (None, None)
        assert (it.double.count("get"), it.double.count("patch")) == asked
        it.double.put(document(kind, spec={"x": 2}))
        await it.until(partial(it.has, path, "spec", {"x": 2}))
        assert (await applier.apply(wanted, OURS, it.children.digest(path))).made is not None


def test_the_operator_keeps_nothing_of_the_contents_of_an_object() -> None:
    found = document("Secret", data={"tls.key": "secret"}, spec={"replicas": 3, "x": 1})
    kept = of_operator.excerpt(found)
    expected = {"kind": "Secret", "metadata": found["metadata"], "spec": {"replicas": 3}}
    assert kept == expected


@pytest.mark.parametrize(
    ("edit", "is_equal"),
    [
        ({"status": {"x": 1}}, True),
        ({"kind": "Other"}, True),
        ({"spec": {"x": 2}}, False),
        ({"data": {}}, False),
    ],
)
def test_a_digest_is_of_what_people_write(edit: Raw, is_equal: bool) -> None:
    before = document("Service", spec={"x": 1})
    assert (children.digest(before) == children.digest(before | edit)) is is_equal


@pytest.mark.parametrize(
    ("field", "value", "is_equal"),
    [
        ("resourceVersion", "2", True),
        ("generation", 2, True),
        ("managedFields", [], True),
        ("annotations", {"deployment.kubernetes.io/revision": "2"}, True),
        ("annotations", {"example.com/x": "2"}, False),
        ("labels", {}, False),
        ("deletionTimestamp", "now", False),
        ("uid", "another", False),
    ],
)
def test_a_digest_leaves_out_what_the_api_server_counts(
    field: str, value: object, is_equal: bool
) -> None:
    before = document("Service")
    after = before | {"metadata": before["metadata"] | {field: value}}
    assert (children.digest(before) == children.digest(after)) is is_equal
