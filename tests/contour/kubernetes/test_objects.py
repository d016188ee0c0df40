"""What becomes of what is seen: events, complaints, the last good version of a broken object."""

from typing import Any

import pytest

from contour.complaints import Complaint, ManifestSource
from contour.events import Batch
from contour.kubernetes.objects import Objects
from crds.kinds import KINDS, Kind
from crds.meta import ObjectRef
from kube.versioncache import Delta, Key
from tests.contour.kubernetes.written import Raw, broken, config_map, proxy, secret

PROXY = KINDS["projectcontour.io", "HTTPProxy"]
A = ObjectRef("HTTPProxy", "default", "a")


def see(objects: Objects, *found: Raw, kind: Kind = PROXY) -> Batch:
    objects.take(
        kind,
        [Delta(Key(it["metadata"]["namespace"], it["metadata"]["name"]), it) for it in found],
    )
    return objects.batch()


def lose(objects: Objects, name: str = "a", kind: Kind = PROXY) -> Batch:
    objects.take(kind, [Delta(Key("default", name), None)])
    return objects.batch()


def told(batch: Batch) -> list[tuple[str, Any]]:
    return [(it.key.name, it.object and it.object.metadata.uid) for it in batch.events]


def test_an_object_is_decoded_once_and_then_gone() -> None:
    objects = Objects()
    (event,) = see(objects, proxy()).events
    assert event.object is not None
    assert event.object.spec.routes[0].services[0].port == 80
    assert see(objects, proxy()).is_empty
    assert told(see(objects, proxy(port=81))) == [("a", "uid of a")]
    assert told(lose(objects)) == [("a", None)]
    assert lose(objects).is_empty


def test_what_came_before_a_batch_is_one_batch_with_the_newest() -> None:
    objects = Objects()
    objects.take(PROXY, [Delta(Key("default", "a"), proxy(port=it)) for it in range(1, 9)])
    assert objects.is_pending
    (event,) = objects.batch().events
    assert event.object is not None
    assert event.object.spec.routes[0].services[0].port == 8
    assert not objects.is_pending


@pytest.mark.parametrize(
    "change",
    [
        {"resourceVersion": "99"},
        {"managedFields": [{"manager": "x"}]},
        {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
    ],
)
def test_what_no_rule_reads_may_change(change: Raw) -> None:
    objects = Objects()
    plain = proxy(annotations={})
    see(objects, plain)
    assert see(objects, plain | {"metadata": plain["metadata"] | change}).is_empty


def test_a_status_may_change_and_is_known() -> None:
    objects, heard = Objects(), list[ObjectRef]()
    objects.statuses.hear = heard.append
    see(objects, proxy(resourceVersion="7"))
    assert see(objects, proxy(resourceVersion="8") | {"status": {"x": 1}}).is_empty
    known = objects.statuses.known(A)
    assert known is not None
    assert known[:4] == ("8", 1, "uid of a", {"x": 1})
    see(objects, proxy(resourceVersion="9", generation=2) | {"status": {"x": 1}})
    assert heard == [A, A]
    lose(objects)
    assert objects.statuses.known(A) is None
    assert objects.statuses.finalizers(A) == ()
    assert len(objects.statuses) == 0


def test_finalizers_and_a_deletion_are_known_and_no_news_for_the_rules() -> None:
    objects, heard = Objects(), list[ObjectRef]()
    objects.statuses.hear = heard.append
    see(objects, proxy())
    assert see(objects, proxy(finalizers=["a.example/b", 7])).is_empty
    known = objects.statuses.known(A)
    assert known is not None
    assert (known.finalizers, known.is_deleted) == (("a.example/b",), False)
    assert objects.statuses.finalizers(A) == known.finalizers
    leaving = proxy(finalizers=["a.example/b"], deletionTimestamp="2026-01-01T00:00:00Z")
    assert told(see(objects, leaving)) == [("a", "uid of a")]
    known = objects.statuses.known(A)
    assert known is not None
    assert known.is_deleted
    assert heard == [A, A, A]
    assert objects.statuses.of(frozenset({"HTTPProxy"})) == [A]
    assert objects.statuses.of(frozenset({"Gateway"})) == []


def test_what_is_deleted_and_cannot_be_read_serves_no_longer() -> None:
    objects = Objects()
    see(objects, proxy())
    assert told(see(objects, broken())) == []
    assert told(see(objects, broken(deletionTimestamp="2026-01-01T00:00:00Z"))) == [("a", None)]
    assert lose(objects).events == ()


def test_only_services_with_an_address_are_known() -> None:
    objects, kind = Objects(), KINDS["", "Service"]
    ref = ObjectRef("Service", "default", "s")
    plain = {"metadata": {"name": "s", "namespace": "default"}, "spec": {}}
    see(objects, plain, kind=kind)
    assert objects.statuses.known(ref) is None
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    assert see(objects, plain | {"status": status}, kind=kind).is_empty
    known = objects.statuses.known(ref)
    assert known is not None
    assert known.status == status
    see(objects, plain, kind=kind)
    assert objects.statuses.known(ref) is None


def test_a_broken_object_keeps_serving_in_its_last_good_version_and_tells() -> None:
    objects = Objects()
    see(objects, proxy())
    batch = see(objects, broken())
    assert batch.events == ()
    fields = [it.field for it in batch.complaints[A]]
    assert "spec.routes[0].services[0].port" in fields
    assert batch.fresh == batch.complaints[A]
    assert see(objects, broken(resourceVersion="9")).is_empty
    mended = see(objects, proxy(port=81))
    assert told(mended) == [("a", "uid of a")]
    assert mended.complaints == {A: ()}
    see(objects, broken())
    gone = lose(objects)
    assert told(gone) == [("a", None)]
    assert gone.complaints == {A: ()}


def test_the_last_good_version_of_another_object_of_that_name_is_not_kept() -> None:
    objects = Objects()
    see(objects, proxy())
    assert told(see(objects, broken(uid="another"))) == [("a", None)]
    assert told(lose(objects)) == []


def test_an_object_that_was_never_good_is_never_there() -> None:
    objects = Objects()
    batch = see(objects, broken())
    assert batch.events == ()
    assert batch.complaints[A]
    assert told(lose(objects)) == []


@pytest.mark.parametrize("text", ["\ud800", "a\0b"])
def test_broken_text_is_a_complaint_about_its_object(text: str) -> None:
    objects = Objects()
    found = proxy()
    found["spec"]["virtualhost"]["fqdn"] = text
    objects.take(PROXY, [Delta(Key("default", "a"), found), Delta(Key("default", "b"), proxy("b"))])
    batch = objects.batch()
    assert told(batch) == [("b", "uid of b")]
    assert batch.complaints[A]


@pytest.mark.parametrize(
    "odd",
    [
        {"metadata": {"name": "a", "namespace": "default", "labels": 7, "annotations": []}},
        {"metadata": {"name": "a", "namespace": "default"}, "spec": None, "status": []},
        {"metadata": {"name": "a", "namespace": "default", "uid": 7, "generation": "x"}},
        {"metadata": {"name": "A B", "namespace": "default"}},
        {"metadata": {"name": "a", "namespace": "default"}, "status": {"x": "\ud800"}},
    ],
)
@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda it: it.kind)
def test_objects_of_any_shape_are_taken(kind: Kind, odd: Raw) -> None:
    batch = see(Objects(), odd, kind=kind)
    assert len(batch.events) + len(batch.complaints) >= 1


def test_a_list_and_a_watch_tell_the_same_object() -> None:
    objects = Objects()
    see(objects, proxy())
    in_a_list = {name: it for name, it in proxy().items() if name not in {"apiVersion", "kind"}}
    assert see(objects, in_a_list).is_empty


def test_of_the_labels_of_a_secret_only_that_of_our_own_is_kept() -> None:
    ours = {"app.kubernetes.io/part-of": "contour"}
    found = secret(tls_crt="YQ==")
    found["metadata"]["labels"] = {**ours, "changed-at": "12:00"}
    (event,) = see(Objects(), found, kind=KINDS["", "Secret"]).events
    assert event.object is not None
    assert event.object.metadata.labels == ours


def test_secrets_and_config_maps_may_change_where_nobody_reads() -> None:
    objects, kind = Objects(), KINDS["", "Secret"]
    (event,) = see(objects, secret(tls_crt="YQ==", other="Yg=="), kind=kind).events
    assert event.object is not None
    assert event.object.data == {"tls.crt": b"a", "other": b""}
    assert see(objects, secret(tls_crt="YQ==", other="Yw=="), kind=kind).is_empty
    assert not see(objects, secret(tls_crt="Yg=="), kind=kind).is_empty
    kind = KINDS["", "ConfigMap"]
    (event,) = see(objects, config_map(ca_crt="a", other="b"), kind=kind).events
    assert event.object is not None
    assert event.object.data == {"ca.crt": "a"}
    assert see(objects, config_map(ca_crt="a", other="c"), kind=kind).is_empty


def test_an_object_of_very_many_levels_is_refused_alone() -> None:
    deep: Raw = {}
    for _ in range(5000):
        deep = {"a": deep}
    objects = Objects()
    batch = see(objects, proxy() | {"spec": deep}, proxy("b"))
    assert told(batch) == [("b", "uid of b")]
    assert "nested too deeply" in str(batch.complaints[A])


def test_trouble_with_a_kind_is_told_and_taken_back() -> None:
    objects, place = Objects(), ManifestSource("kind HTTPProxy of projectcontour.io/v1")
    objects.trouble(place, "is forbidden")
    expected = Complaint(place, 0, place, "", "is forbidden", "error")
    assert objects.batch() == Batch((), {place: (expected,)})
    objects.trouble(place, "")
    assert objects.batch().complaints == {place: ()}


def test_the_uid_of_an_object_is_known_whatever_its_kind() -> None:
    objects, found = Objects(), config_map()
    kind = KINDS["", "ConfigMap"]
    ref = ObjectRef("ConfigMap", found["metadata"]["namespace"], found["metadata"]["name"])
    assert not objects.uid(ref)
    see(objects, found | {"metadata": found["metadata"] | {"uid": "u-1"}}, kind=kind)
    assert objects.uid(ref) == "u-1"
    objects.take(kind, [Delta(Key(ref.namespace, ref.name), None)])
    assert not objects.uid(ref)
