"""Objects of kinds that extensions bring, in files: read where a ContourConfiguration says so."""

import json

from contour.complaints import ManifestSource
from contour.events import Batch
from contour.files import documents
from contour.files.store import Store
from crds.meta import NamespacedName

KIND = "{group: example.com, version: v1, kind: Guard}"
OBJECTS, CONFIGURATION = ManifestSource("objects.yaml"), ManifestSource("configuration.yaml")
GUARD = """
apiVersion: example.com/v1
kind: Guard
metadata: {name: %s, resourceVersion: "7", managedFields: [{manager: x}], labels: {a: b}}
spec: {b: [1, null], a: true}
status: {seen: true}
"""
NOT_SUPPORTED = "example.com/v1 Guard is not supported; its objects are ignored"


def configuration(kinds: str = KIND) -> str:
    return f"""
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec:
  extensions:
  - {{name: a, hooks: {{post: [Route]}}, resources: [{kinds}], service: {{unix: /s}}}}
"""


def written(store: Store, file: ManifestSource, text: str) -> Batch:
    store.write(file, documents.texts(text.encode()))
    store.release(file)
    return store.batch()


def guards(batch: Batch) -> dict[NamespacedName, bytes | None]:
    return {it.key: it.object for it in batch.events if it.kind.kind == "Guard.example.com"}


def told(batch: Batch) -> list[str]:
    return [it.message for each in batch.complaints.values() for it in each]


def test_an_object_is_read_as_it_is_written() -> None:
    store = Store()
    written(store, CONFIGURATION, configuration())
    batch = written(store, OBJECTS, GUARD % "one")
    assert not told(batch)
    (content,) = guards(batch).values()
    assert content is not None
    assert json.loads(content) == {
        "apiVersion": "example.com/v1",
        "kind": "Guard",
        "metadata": {"name": "one", "namespace": "default", "labels": {"a": "b"}},
        "spec": {"b": [1, None], "a": True},
    }


def test_a_kind_is_read_from_when_it_is_registered_until_it_is_no_more() -> None:
    store = Store()
    batch = written(store, OBJECTS, GUARD % "one")
    assert (guards(batch), told(batch)) == ({}, [NOT_SUPPORTED])
    key = NamespacedName("default", "one")
    batch = written(store, CONFIGURATION, configuration())
    assert guards(batch)[key]
    assert [it for it in batch.complaints.values() if it] == []
    batch = written(store, CONFIGURATION, configuration(KIND.replace("v1", "v2")))
    assert (guards(batch), told(batch)) == ({key: None}, [NOT_SUPPORTED])
    written(store, CONFIGURATION, configuration())
    assert guards(written(store, CONFIGURATION, "")) == {key: None}


def test_it_is_known_what_is_read_whatever_comes_first() -> None:
    batch = written(Store(), OBJECTS, f"{GUARD % 'one'}\n---\n{configuration()}")
    assert guards(batch)
    assert not told(batch)


def test_an_object_that_cannot_be_read_keeps_its_last_version_and_is_told() -> None:
    store = Store()
    written(store, CONFIGURATION, configuration())
    written(store, OBJECTS, GUARD % "one")
    for broken, why in (
        (GUARD % "One", "must be a DNS name"),
        (GUARD % "[1]", "is required and must be text"),
        ((GUARD % "one").replace("true", "340282366920938463463374607431768211456"), "as JSON"),
        ((GUARD % "one").replace("true", '"\\uD800"'), "Unicode"),
    ):
        batch = written(store, OBJECTS, broken)
        assert guards(batch) == {}, broken
        assert any(why in it for it in told(batch)), (broken, told(batch))
    assert guards(written(store, OBJECTS, "")) == {NamespacedName("default", "one"): None}


def test_of_a_kind_that_nobody_registers_nothing_else_is_told() -> None:
    batch = written(Store(), OBJECTS, GUARD % "One")
    assert told(batch) == [NOT_SUPPORTED]


def test_a_list_of_what_is_not_read_may_go() -> None:
    store = Store()
    deployment = "{apiVersion: apps/v1, kind: Deployment}"
    written(store, OBJECTS, f"{{apiVersion: v1, kind: List, items: [{deployment}, {deployment}]}}")
    assert list(written(store, OBJECTS, "").complaints.values()) == [()]
