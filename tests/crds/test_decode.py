"""Whatever a document holds, decoding answers: an object, complaints with paths, or what it is."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from crds.complaints import Complaint, dotted
from crds.decode import Decoded, NotAnObject, UnknownKind, decode, items
from crds.httpproxy import HTTPProxy
from crds.kinds import KINDS
from crds.meta import NamespacedName
from tests.crds import documents


def decoded(document: object) -> Decoded:
    found = decode(document)
    assert isinstance(found, Decoded)
    return found


def told(document: object) -> list[tuple[str, str]]:
    return [(dotted(it.path), it.message) for it in decoded(document).complaints]


@pytest.mark.parametrize("document", documents.of_every_kind(), ids=lambda it: str(it["kind"]))
def test_a_valid_document_becomes_an_object_of_its_kind(document: documents.Document) -> None:
    found = decoded(document)
    assert found.complaints == ()
    is_of_its_kind = isinstance(found.object, found.kind.model)
    assert is_of_its_kind
    assert found.object is not None
    assert found.key == NamespacedName("web" if found.kind.namespaced else "", "it")
    assert found.object.metadata.key == found.key


def test_every_kind_has_a_document_in_these_tests() -> None:
    assert {it["kind"] for it in documents.of_every_kind()} == {kind for _, kind in KINDS}


def test_an_object_without_a_namespace_is_in_the_default_one() -> None:
    document = documents.service()
    del document["metadata"]["namespace"]
    assert decoded(document).key == NamespacedName("default", "it")
    assert decoded(document).object == decoded(_in_namespace("default")).object
    assert decoded(_in_namespace("")).key == NamespacedName("default", "it")


def _in_namespace(name: str) -> documents.Document:
    document = documents.service()
    document["metadata"]["namespace"] = name
    return document


def test_what_our_own_writes_change_is_not_part_of_the_object() -> None:
    document = documents.httpproxy()
    written = copy.deepcopy(document)
    written["status"] = {"currentStatus": "valid", "nonsense": [1]}
    written["metadata"] |= {"resourceVersion": "7", "managedFields": [{"manager": "us"}]}
    assert decoded(written) == decoded(document)


def test_the_document_itself_is_left_as_it_was() -> None:
    document = documents.httpproxy(virtualhost={"fqdn": "a.b", "tls": None}, nonsense=1)
    del document["metadata"]["namespace"]
    before = copy.deepcopy(document)
    assert decoded(document).object is not None
    assert document == before


def test_every_error_is_told_not_only_the_first() -> None:
    document = documents.httpproxy(
        virtualhost={"fqdn": ""}, routes=[{"services": [{"port": "a"}, {"name": 1, "port": 0}]}]
    )
    assert [path for path, _ in told(document)] == [
        "spec.virtualhost.fqdn",
        "spec.routes[0].services[0].name",
        "spec.routes[0].services[0].port",
        "spec.routes[0].services[1].name",
        "spec.routes[0].services[1].port",
    ]


def test_a_field_nobody_knows_is_a_warning_and_the_object_stays() -> None:
    document = documents.httpproxy(
        virtualhost={"fqdn": "a.b", "cors": {}},
        routes=[{"service": [], "services": [{"name": "a", "port": 1}], "ingress_class_name": 1}],
    )
    assert told(document) == [
        ("spec.virtualhost.cors", "unknown field"),
        ("spec.routes[0].service", "unknown field; did you mean services?"),
        ("spec.routes[0].ingress_class_name", "unknown field"),
    ]
    known = {"virtualhost": {"fqdn": "a.b"}, "routes": [{"services": [{"name": "a", "port": 1}]}]}
    assert decoded(document).object == decoded(documents.httpproxy(**known)).object


def test_the_names_of_the_python_fields_are_no_names_for_users() -> None:
    found = decoded(documents.httpproxy(ingress_class_name="x"))
    assert [str(it) for it in found.complaints] == [
        "spec.ingress_class_name: unknown field; did you mean ingressClassName?"
    ]
    assert found.object is not None
    assert found.object.spec.ingress_class_name is None


def test_errors_behind_an_unknown_field_are_told_with_it() -> None:
    document = documents.httproute(
        documents.backends("web", filters=[{"type": "CORS"}]), nonsense=1
    )
    assert [(it.path[-1], it.severity) for it in decoded(document).complaints] == [
        (0, "error"),
        ("nonsense", "warning"),
    ]


def test_fields_of_machine_written_kinds_that_no_rule_reads_are_passed_over() -> None:
    document = documents.service(clusterIP="10.0.0.1", ports=[{"port": 80, "targetPort": "http"}])
    assert decoded(document).complaints == ()


def test_a_null_counts_as_absent_as_it_does_for_the_api_server() -> None:
    given = documents.httpproxy(
        virtualhost={"fqdn": "a.b", "tls": None, "jwtProviders": None},
        routes=None,
    )
    given["metadata"] |= {"creationTimestamp": None, "labels": None}
    wanted = documents.httpproxy(virtualhost={"fqdn": "a.b"})
    del wanted["metadata"]["labels"]
    assert decoded(given) == decoded(wanted)


def test_a_broken_object_still_says_who_it_is() -> None:
    document = documents.httpproxy(routes=3)
    assert decoded(document).key == NamespacedName("web", "it")
    assert decoded(documents.httpproxy()).object != decoded(document).object


def test_a_long_list_of_complaints_is_cut() -> None:
    services = [{"name": "a", "port": "b"}] * 10_000
    found = decoded(documents.httpproxy(routes=[{"services": services}])).complaints
    assert len(found) == 101
    assert found[-1] == Complaint((), "and 9900 more like these")


def test_secrets_are_never_quoted_in_complaints() -> None:
    document = documents.secret(data={"password": 123456}, stringData={"pin": 987654})
    assert told(document) == [
        ("data.password", "must be text; write it in quotes"),
        ("stringData.pin", "must be text; write it in quotes"),
    ]


def _deep() -> documents.Document:
    value: Any = "x"
    for _ in range(100_000):
        value = [value]
    return documents.httpproxy(nonsense=value)


def _cyclic() -> documents.Document:
    document = documents.httpproxy(routes=[])
    document["spec"]["routes"].append(document["spec"])
    return document


def _bomb() -> documents.Document:
    value: list[Any] = ["lol"] * 10
    for _ in range(20):
        value = [value] * 10
    return documents.httpproxy(routes=value)


def _wide() -> documents.Document:
    return documents.httpproxy(routes=[{}] * 2_000_000)


@pytest.mark.parametrize("document", [_deep, _cyclic, _bomb, _wide])
def test_a_document_without_measure_is_refused(document: Callable[[], Any]) -> None:
    found = decoded(document())
    assert found.object is None
    assert found.key == NamespacedName("web", "it")
    message = "the object is too large, nested too deeply, or refers to itself"
    assert found.complaints == (Complaint((), message),)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "a document must be an object, not a list"),
        ("text", "a document must be an object, not text"),
        (3, "a document must be an object, not a number"),
        (None, "a document must be an object, not nothing"),
        ({}, "apiVersion and kind are required and must be text"),
        ({"kind": "HTTPProxy"}, "apiVersion and kind are required and must be text"),
        ({"apiVersion": 1, "kind": "A"}, "apiVersion and kind are required and must be text"),
        ({"apiVersion": "v1", "kind": ["A"]}, "apiVersion and kind are required and must be text"),
    ],
)
def test_a_document_that_is_no_object_says_so(raw: object, message: str) -> None:
    assert decode(raw) == NotAnObject(message)


def test_a_kind_we_do_not_read_is_named() -> None:
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": 3}
    assert decode(document) == UnknownKind("apps/v1", "Deployment")
    assert decode({"apiVersion": "x.io/v1", "kind": "Ingress"}) == UnknownKind("x.io/v1", "Ingress")


def test_a_list_is_its_items() -> None:
    proxies = [documents.httpproxy(), documents.httpproxy()]
    assert list(items({"apiVersion": "v1", "kind": "List", "items": proxies})) == proxies
    assert list(items(proxies[0])) == [proxies[0]]
    assert list(items("text")) == ["text"]
    assert list(items({"kind": "List", "items": 3})) == [{"kind": "List", "items": 3}]


def test_items_of_a_typed_list_may_leave_out_what_the_list_says() -> None:
    bare = documents.httpproxy()
    del bare["apiVersion"], bare["kind"]
    listed = {"apiVersion": "projectcontour.io/v1", "kind": "HTTPProxyList", "items": [bare, 3]}
    first, second = items(listed)
    assert isinstance(decoded(first).object, HTTPProxy)
    assert second == 3
