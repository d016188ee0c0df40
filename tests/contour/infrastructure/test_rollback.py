"""A rollout whose first new pod fails is undone, and told with its words. On the real API server,
whose controllers make the pods; what a kubelet would write of them is written by the test."""

import base64
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contour.infrastructure import desired, rollback
from contour.infrastructure.newpods import CRASHES, MARK, PATIENCE
from crds.fleetdetails import Details, Pods
from dag.fleets import Fleet
from provisioning.keeping import annotations, rollouts
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure import rig as rigs
from tests.contour.infrastructure.rig import Rig, leading, of

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

_WORDS = "error `Invalid path: /nowhere` initializing config"
_LOG = f"[2030-01-01 11:59:59.680][7][critical][main] [source/server/server.cc:449] {_WORDS}\n"
_TOLD = f"was undone, for its first new Envoy failed: container envoy ended with status 1: {_WORDS}"


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> Rig:
    return rigs.rig(cluster, namespace)


async def test_it_is_undone_stays_so_and_is_tried_again_when_it_is_edited(rig: Rig) -> None:
    rig.want(_fleet("first"))
    async with leading(rig):
        await _until_undone(rig)
        assert _version(rig) == "first"
        await rig.until(lambda: _pods(rig, "bad") == [])
    async with leading(rig):  # somebody else, who knows nothing of it
        rig.told.clear()
        await rig.until_told(_TOLD)
        # What does not concern the pods is applied all the same, and is no reason to try again.
        rig.want(replace(_fleet("bad"), ports=rigs.PORTS[:1]))
        await rig.until(lambda: len(rig.made()["Service"]["spec"]["ports"]) == 1)
        await rig.until_told(_TOLD)
        assert _version(rig) == "first"
        # Another one is tried, and becomes what is kept.
        rig.want(_fleet("second"))
        await _write(rig, "second", ready=True)
        await rig.until_told("")
        assert _version(rig) == "second"
        notes = {rollback.GOOD, rollback.BEGUN, rollback.UNDONE, rollback.BECAUSE}
        await rig.until(lambda: not _notes(rig) & notes)


async def test_who_removes_the_annotation_has_it_tried_again(rig: Rig) -> None:
    rig.want(_fleet("first"))
    async with leading(rig):
        await _until_undone(rig)
        await rig.until(lambda: _pods(rig, "bad") == [])
        rig.edit("Deployment", {"metadata": {"annotations": {rollback.UNDONE: None}}})
        await rig.until(lambda: _version(rig) == "bad")
        await _write(rig, "bad", ready=True)
        await rig.until_told("")


async def test_a_look_from_before_the_undoing_tries_nothing_again(rig: Rig) -> None:
    """What a watch has told may be older than what was written last."""
    fleet = _fleet("bad")
    every = desired.documents(rig.release, fleet, "contour")
    (document,) = (it for it in every if it["kind"] == "Deployment")
    rig.want(_fleet("first"))
    async with leading(rig):
        await _until_mark_of(rig, "first")
        await _write(rig, "first", ready=True)
        rig.want(fleet)
        await rig.until(lambda: _pods(rig, "bad") != [])
        before = rig.made()["Deployment"]
        await _write(rig, "bad", ready=False)
        await rig.until_told(_TOLD)
    async with rigs.client(rig) as client:
        step = await rollback.Rollouts(client, lambda _: None).step(document, before)
    assert rollback.UNDONE not in annotations.of(before)
    assert rollback.UNDONE in annotations.of(step.document)


async def test_edits_in_a_row_go_back_to_the_last_that_was_available(rig: Rig) -> None:
    rig.want(_fleet("first"))
    async with leading(rig):
        await _until_mark_of(rig, "first")
        await _write(rig, "first", ready=True)
        rig.want(_fleet("slow"))
        await rig.until(lambda: _pods(rig, "slow") != [])
        rig.want(_fleet("bad"))
        await _write(rig, "bad", ready=False)
        await rig.until_told(_TOLD)
        assert _version(rig) == "first"


async def test_where_there_is_nothing_to_go_back_to_it_is_only_told(rig: Rig) -> None:
    rig.want(_fleet("bad"))
    async with leading(rig):
        await _until_mark_of(rig, "bad")
        await _write(rig, "bad", ready=False)
        await rig.until_told(f"runs: container envoy ended with status 1: {_WORDS}")
        assert _version(rig) == "bad"
        await _write(rig, "bad", ready=True)
        await rig.until_told("")


async def test_annotations_that_others_have_edited_are_no_obstacle(rig: Rig) -> None:
    rig.want(_fleet("bad"))
    async with leading(rig):
        await _until_mark_of(rig, "bad")
        await _write(rig, "bad", ready=False)
        (mark,) = {it["metadata"]["annotations"][MARK] for it in _pods(rig, "bad")}
        as_if_undone = {rollback.UNDONE: mark}
        for edit in (
            *({rollback.GOOD: it, **as_if_undone} for it in ("?", _packed(b"{"), _packed(b"[]"))),
            {rollback.GOOD: _packed(b'{"metadata": {}%s}' % (b" " * (2 << 20))), **as_if_undone},
            *({rollback.BEGUN: it} for it in ("long ago", "2030-01-01T12:00:00")),
        ):
            rig.edit("Deployment", {"metadata": {"annotations": edit}})
            rig.told.clear()
            await rig.until_told(f"runs: container envoy ended with status 1: {_WORDS}")
            assert _version(rig) == "bad"


def _packed(template: bytes) -> str:
    return base64.b64encode(zlib.compress(template)).decode()


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
async def test_pods_that_cannot_be_created_are_told_at_once_and_undone_later(
    rig: Rig, kind: str
) -> None:
    """Admission refuses every pod. A Deployment's controller has it in a condition of the
    Deployment, a DaemonSet's in Events only."""
    with _node(rig):
        rig.want(_fleet("first", kind))
        async with leading(rig):
            await _until_mark_of(rig, "first")
            await _write(rig, "first", ready=True, kind=kind)
            rig.want(_refused(kind))
            await rig.until_told(f"no new Envoy of {kind} {rig.namespace}/envoy: no pod can be")
            (told,) = rig.told["contour"]
            assert "no PriorityClass with name none-such was found" in told.message
            assert told.concerns == "workload"
            assert _version(rig, kind) == "bad"
            await _wait_as_if_begun_long_ago(rig, kind)
            await rig.until_told("was undone, for its first new Envoy failed: no pod could be")
            assert _version(rig, kind) == "first"
            assert rollback.UNDONE in _notes(rig, kind)


async def _wait_as_if_begun_long_ago(rig: Rig, kind: str) -> None:
    """Until it is undone. The leader may write what it has read of the beginning just before, so
    that is looked at again."""
    long_ago = datetime.now(UTC) - timedelta(seconds=PATIENCE)
    begun = {rollback.BEGUN: long_ago.isoformat(timespec="seconds")}

    def is_undone() -> bool:
        found = annotations.of(rig.made()[kind])
        if rollback.UNDONE not in found and found.get(rollback.BEGUN) != begun[rollback.BEGUN]:
            rig.edit(kind, {"metadata": {"annotations": begun}})
        return rollback.UNDONE in found

    await rig.until(is_undone)


async def test_where_the_first_pods_cannot_be_created_it_is_told(rig: Rig) -> None:
    rig.want(_refused("Deployment"))
    async with leading(rig):
        await rig.until_told("no PriorityClass with name none-such was found")
        rig.want(_fleet("good"))
        await _until_mark_of(rig, "good")
        await rig.until_told("")


def _fleet(version: str, kind: str = "Deployment") -> Fleet:
    anywhere = {"tolerations": [{"operator": "Exists"}]}  # no kubelet says that a node is ready
    return of(type=kind, replicas=1, pod_annotations={"version": version}, placement=anywhere)


def _refused(kind: str) -> Fleet:
    """A fleet whose pods admission does not let in."""
    pods = Pods(priority_class_name="none-such")
    return replace(_fleet("bad", kind), details=Details(pods=pods))


@contextmanager
def _node(rig: Rig) -> Iterator[None]:
    """For a DaemonSet, which has a pod for each of them."""
    identity: Raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": rig.namespace}}
    rig.cluster.ask("POST", "/api/v1/nodes", identity)
    try:
        yield
    finally:
        rig.cluster.ask("DELETE", f"/api/v1/nodes/{rig.namespace}")


def _version(rig: Rig, kind: str = "Deployment") -> str:
    found = annotations.of(annotations.template(rig.made()[kind]))
    return str(found["version"])


def _notes(rig: Rig, kind: str = "Deployment") -> set[str]:
    return {*annotations.of(rig.made()[kind])}


def _pods(rig: Rig, version: str) -> list[Raw]:
    found = rig.cluster.ask("GET", f"/api/v1/namespaces/{rig.namespace}/pods")["items"]
    annotated = (it for it in found if "deletionTimestamp" not in it["metadata"])
    return [it for it in annotated if it["metadata"]["annotations"].get("version") == version]


async def _until_undone(rig: Rig) -> None:
    """The first version gets ready, and the bad one after it does not."""
    await _until_mark_of(rig, "first")
    await _write(rig, "first", ready=True)
    rig.want(_fleet("bad"))
    await _write(rig, "bad", ready=False)
    await rig.until_told(_TOLD)


async def _until_mark_of(rig: Rig, version: str) -> None:
    await rig.until(lambda: _pods(rig, version) != [])
    assert all(it["metadata"]["annotations"][MARK] for it in _pods(rig, version))


async def _write(rig: Rig, version: str, *, ready: bool, kind: str = "Deployment") -> None:
    """What a kubelet writes of the pods of a version, as soon as there is one."""
    await rig.until(lambda: _pods(rig, version) != [])
    ended = {"exitCode": 1, "reason": "Error", "message": _LOG}
    container: Raw = {
        "name": "envoy", "image": "envoy", "imageID": "", "ready": ready,
        "restartCount": CRASHES,
        "state": {"running": {}} if ready else {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }  # fmt: skip
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": [container],
    }
    media = "application/strategic-merge-patch+json"
    for it in _pods(rig, version):
        path = f"/api/v1/namespaces/{rig.namespace}/pods/{it['metadata']['name']}/status"
        rig.cluster.ask("PATCH", path, {"status": status}, media)
    if ready:
        await rig.until(lambda: rollouts.is_proven(rig.made()[kind]))
