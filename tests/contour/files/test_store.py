"""Which document owns an object, what breaks without harm, and what is said once."""

from time import process_time

import pytest

from contour.complaints import Complaint, ManifestSource
from contour.events import Batch
from contour.files import documents, store
from crds.meta import ObjectRef
from tests.contour.files.written import BROKEN, Follower, broken, proxy, stream

A, B = ManifestSource("a.yaml"), ManifestSource("b.yaml")


class Desk:
    """A store and a consumer of it; `write` is a file that goes quiet, `save` one that does not."""

    def __init__(self) -> None:
        self.store = store.Store()
        self.told = Follower()

    def save(self, file: ManifestSource, *documents_: str) -> Batch:
        self.store.write(file, documents.texts(stream(*documents_).encode()))
        return self._batch()

    def release(self, file: ManifestSource) -> Batch:
        self.store.release(file)
        return self._batch()

    def write(self, file: ManifestSource, *documents_: str) -> Batch:
        self.store.write(file, documents.texts(stream(*documents_).encode()))
        self.store.release(file)
        return self._batch()

    def _batch(self) -> Batch:
        batch = self.store.batch()
        if not batch.is_empty:
            self.told.take(batch)
        return batch


def test_what_leaves_a_file_is_gone_when_the_file_is_released() -> None:
    desk = Desk()
    desk.write(A, proxy("x"), proxy("v"))
    assert desk.save(A, proxy("v")).is_empty
    assert desk.release(A).events[0].key.name == "x"
    assert desk.told.fqdns == {"v": "example.com"}


def test_what_is_wrong_with_an_object_is_told_until_it_is_gone() -> None:
    desk = Desk()
    desk.write(A, proxy("x"))
    desk.write(A, proxy("x") + "  unknown: 1\n")
    told = dict(desk.told.complaints)
    assert told
    desk.save(A)
    assert desk.told.complaints == told
    assert [it.object for it in desk.release(A).events] == [None]
    assert not desk.told.complaints


def test_only_documents_that_changed_are_events() -> None:
    desk = Desk()
    desk.write(A, proxy("x"), proxy("v"), proxy("z"))
    batch = desk.write(A, "# new\n", proxy("x"), proxy("v", "new.example.com"), proxy("z"))
    assert [event.key.name for event in batch.events] == ["v"]


def test_an_equal_object_in_other_words_is_no_event() -> None:
    desk = Desk()
    desk.write(A, proxy("x"))
    assert desk.write(A, proxy("x").replace("port: 80", "port:  80  # HTTP")).is_empty


def test_the_first_of_two_documents_owns_the_object_and_the_other_is_told_where_it_is() -> None:
    desk = Desk()
    desk.write(B, proxy("x", "b.example.com"))
    desk.write(A, proxy("w"), proxy("x", "a.example.com"))
    assert desk.told.fqdns["x"] == "a.example.com"
    (complaint,) = desk.told.complaints[ObjectRef("HTTPProxy", "default", "x")]
    assert str(complaint) == (
        "b.yaml:1: HTTPProxy default/x: already defined at a.yaml:14; this one is ignored"
    )


def test_when_the_owner_goes_the_next_takes_over_without_a_gap() -> None:
    desk = Desk()
    desk.write(A, proxy("x", "a.example.com"))
    desk.write(B, proxy("x", "b.example.com"))
    batch = desk.write(A)
    assert [event.object.spec.virtualhost.fqdn for event in batch.events if event.object] == [
        "b.example.com"
    ]
    assert not desk.told.gone
    assert not desk.told.complaints


def test_of_two_documents_in_one_file_the_upper_one_owns_the_object() -> None:
    desk = Desk()
    upper, lower = proxy("x", "one.example.com"), proxy("x", "two.example.com")
    desk.write(A, upper, lower)
    assert desk.told.fqdns == {"x": "one.example.com"}
    desk.write(A, lower, upper)
    assert desk.told.fqdns == {"x": "two.example.com"}
    assert [it.line for them in desk.told.complaints.values() for it in them] == [14]


def test_an_object_that_moves_to_another_file_is_never_gone() -> None:
    desk = Desk()
    desk.write(A, proxy("x"))
    desk.save(A)
    assert desk.save(B, proxy("x")).is_empty
    assert desk.release(A).is_empty
    assert desk.told.fqdns == {"x": "example.com"}


def test_an_object_that_two_files_had_is_gone_when_both_are_released() -> None:
    desk = Desk()
    desk.write(A, proxy("x"))
    desk.save(B, proxy("x"))
    desk.save(A)
    desk.save(A, proxy("x"))
    desk.save(A)
    desk.save(B)
    assert desk.release(A).is_empty
    assert [it.object for it in desk.release(B).events] == [None]


def test_thousands_of_files_can_go_at_once() -> None:
    desk, files = Desk(), [ManifestSource(f"{number}.yaml") for number in range(12_000)]
    for number, file in enumerate(files):
        desk.store.write(file, documents.texts(_config_map(number)))
    desk.store.batch()
    begun = process_time()
    for file in files:
        desk.store.write(file, ())
    assert desk.store.batch().is_empty
    for file in files:
        desk.store.release(file)
    assert len(desk.store.batch().events) == len(files)
    assert process_time() - begun < 2


def _config_map(number: int) -> bytes:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}}}}}".encode()


def test_a_broken_document_keeps_the_last_good_version_of_its_object() -> None:
    desk = Desk()
    desk.write(A, proxy("x", "good.example.com"), proxy("v"))
    for bad in (proxy("x", "3").replace("fqdn: 3", "fqdn: 3\n  routes: 5"), broken("x")):
        assert not desk.write(A, bad, proxy("v")).events
        assert ObjectRef("HTTPProxy", "default", "x") in desk.told.complaints
    desk.write(A, proxy("x", "better.example.com"), proxy("v"))
    assert desk.told.fqdns["x"] == "better.example.com"
    assert not desk.told.complaints


def test_a_broken_document_does_not_hide_the_others_of_its_file() -> None:
    desk = Desk()
    desk.write(A, proxy("x"), BROKEN, proxy("v"), "kind: [\n", proxy("z"))
    assert sorted(desk.told.fqdns) == ["v", "x", "z"]
    assert [it.line for it in desk.told.complaints[A]] == [15, 31]


def test_nothing_disappears_from_a_file_with_a_document_that_may_mean_anything() -> None:
    desk = Desk()
    desk.write(A, proxy("x"), proxy("v"))
    assert not desk.write(A, BROKEN, proxy("v")).events
    assert not desk.write(A, BROKEN.replace("metadata", "spec"), "").events
    assert not desk.write(A, "spec: {}\n", proxy("v")).events
    desk.write(A, proxy("v"))
    assert desk.told.gone == ["x"]


def test_a_recognised_broken_document_stands_for_its_object_alone() -> None:
    desk = Desk()
    desk.write(A, proxy("x"), proxy("v"), proxy("z"))
    desk.write(A, broken("x"), proxy("z"))
    assert desk.told.gone == ["v"]


def test_a_broken_document_with_a_new_name_may_mean_any_object() -> None:
    desk = Desk()
    desk.write(A, proxy("x"))
    desk.write(A, broken("renamed"))
    desk.write(A, broken("renamed") + "\n")
    assert not desk.told.gone
    desk.write(A, proxy("renamed"))
    assert desk.told.gone == ["x"]


def test_while_its_owner_was_never_good_another_document_serves_the_object() -> None:
    desk = Desk()
    desk.write(A, broken("x"))
    desk.write(B, proxy("x", "one.example.com"))
    desk.write(B, proxy("x", "two.example.com"))
    assert desk.told.fqdns == {"x": "two.example.com"}
    desk.write(A, proxy("x", "three.example.com"))
    assert desk.told.fqdns == {"x": "three.example.com"}


def test_a_duplicate_does_not_take_over_from_a_broken_owner() -> None:
    desk = Desk()
    desk.write(A, proxy("x", "a.example.com"))
    desk.write(B, proxy("x", "b.example.com"))
    desk.write(A, broken("x"))
    desk.write(B, proxy("x", "c.example.com"))
    assert desk.told.fqdns == {"x": "a.example.com"}


def test_an_unknown_kind_is_said_once_as_long_as_it_is_there() -> None:
    desk = Desk()
    deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\n"
    desk.write(A, deployment % "one", deployment % "two")
    assert desk.write(B, deployment % "three").is_empty
    (said,) = desk.told.complaints[ManifestSource("kind Deployment of apps/v1")]
    assert (said.file, said.line, said.field, said.severity) == (A, 2, "kind", "warning")
    desk.write(A)
    (said,) = desk.told.complaints[ManifestSource("kind Deployment of apps/v1")]
    assert said.file == B
    desk.write(B)
    assert not desk.told.complaints


def test_a_misspelt_kind_is_an_error_and_takes_nothing_away() -> None:
    desk = Desk()
    desk.write(A, proxy("x"), proxy("v"))
    batch = desk.write(A, proxy("x").replace("HTTPProxy", "HTTPProxi"), proxy("v"))
    assert not batch.events
    assert [str(it) for it in batch.fresh] == [
        "a.yaml:2: HTTPProxy default/x: kind: there is no kind HTTPProxi; did you mean HTTPProxy?"
    ]


def test_a_kind_that_only_resembles_one_that_is_read_is_no_mistake() -> None:
    desk = Desk()
    route = "apiVersion: gateway.networking.k8s.io/v1\nkind: %s\nmetadata: {name: a}\n"
    batch = desk.write(A, *(route % kind for kind in ("XMesh", "MeshRoute", "GatewayPolicy")))
    assert [it.severity for it in batch.fresh] == ["warning"] * 3


def test_a_list_holds_objects_each_with_its_own_complaints() -> None:
    desk = Desk()
    item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: %s}\n  data: {a: %s}\n"
    head = "apiVersion: v1\nkind: List\nitems:\n"
    batch = desk.save(A, head + item % ("one", "b") + item % ("two", "3") + "- 5\n")
    assert [event.key.name for event in batch.events] == ["one"]
    assert [(it.line, it.field) for it in batch.fresh] == [
        (11, "items[1].data.a"),
        (12, "items[2]"),
    ]


def test_a_complaint_names_file_line_object_and_field() -> None:
    desk = Desk()
    batch = desk.write(A, proxy("w"), proxy("x", "x").replace("port: 80", "port: http"))
    (complaint,) = batch.fresh
    assert str(complaint).startswith(
        "a.yaml:25: HTTPProxy default/x: spec.routes[0].services[0].port: must be a whole number"
    )


def test_a_complaint_that_only_moves_is_told_with_its_new_line_but_is_not_fresh() -> None:
    desk = Desk()
    bad = proxy("x").replace("port: 80", "port: http")
    desk.write(A, bad)
    batch = desk.write(A, proxy("above"), bad)
    assert not batch.fresh
    ((complaint,),) = batch.complaints.values()
    assert complaint.line == 25


def test_a_file_that_cannot_be_read_keeps_what_it_gave() -> None:
    desk = Desk()
    desk.write(A, proxy("x"))
    desk.store.fault(A, "cannot be read: Permission denied")
    batch = desk.store.batch()
    assert not batch.events
    assert [str(it) for it in batch.fresh] == ["a.yaml: cannot be read: Permission denied"]
    desk.store.mend(A)
    assert desk.store.batch().complaints == {A: ()}


def test_many_equal_documents_are_duplicates_of_the_first() -> None:
    desk = Desk()
    desk.write(A, *[proxy("x")] * 50)
    desk.write(A, *[proxy("x")] * 40)
    said = desk.told.complaints[ObjectRef("HTTPProxy", "default", "x")]
    assert [it.line for it in said] == [1 + 13 * n for n in range(1, 40)]
    assert all(isinstance(it, Complaint) for it in said)


def test_a_misspelt_field_is_an_error_that_keeps_the_last_good_version() -> None:
    desk, typo = Desk(), proxy("v", "new.example.com").replace("virtualhost", "virtulhost")
    desk.write(A, proxy("v"))
    (said,) = desk.write(A, typo).fresh
    assert (said.field, said.severity) == ("spec.virtulhost", "error")
    assert "did you mean virtualhost?" in said.message
    assert desk.told.fqdns == {"v": "example.com"}
    desk.write(A, proxy("v", "new.example.com"))
    assert desk.told.fqdns == {"v": "new.example.com"}
    assert not desk.told.complaints


def test_a_misspelt_field_of_a_new_object_keeps_it_from_being_served() -> None:
    desk = Desk()
    desk.write(A, proxy("v").replace("virtualhost", "virtulhost"))
    assert desk.told.fqdns == {}


_ROUTE = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: it}
spec: {hostnames: [a.example.com], FIELD: []}
"""


@pytest.mark.parametrize(
    ("document", "is_lenient", "severity"),
    [
        # A later Gateway API may have it.
        (_ROUTE.replace("FIELD", "tracing"), False, "warning"),
        (_ROUTE.replace("FIELD", "parentRef"), False, "error"),
        (_ROUTE.replace("FIELD", "parentRef"), True, "warning"),
        (proxy("v").replace("virtualhost", "tracing: 1\n  virtualhost"), False, "error"),
        (proxy("v").replace("virtualhost", "tracing: 1\n  virtualhost"), True, "warning"),
    ],
)
def test_which_unknown_fields_are_errors(document: str, is_lenient: bool, severity: str) -> None:
    found = store.Store(lenient=is_lenient)
    found.write(A, documents.texts(document.encode()))
    batch = found.batch()
    assert [it.severity for it in batch.fresh] == [severity]
    assert len(batch.events) == (severity == "warning")


@pytest.mark.parametrize("name", ["ownerReferences", "managedFields", "creationTimestamp"])
def test_what_kubectl_prints_has_no_unknown_field(name: str) -> None:
    """`kubectl get -o yaml` prints these; they are no typing errors."""
    values = {"ownerReferences": "[]", "managedFields": "[]", "creationTimestamp": "null"}
    text = proxy("v").replace("name: v", f"name: v\n  {name}: {values[name]}")
    found = store.Store()
    found.write(A, documents.texts(text.encode()))
    assert not found.batch().fresh
