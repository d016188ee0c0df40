"""Whatever a document holds, decoding answers: an object, complaints with paths, or what it is."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crds.complaints import Complaint, dotted
from crds.decode import Decoded, NotAnObject, UnknownKind, decode, items
from crds.httpproxy import HTTPProxy
from crds.kinds import KINDS
from crds.meta import NamespacedName
from tests.crds import documents

Breakage = Callable[[documents.Document], Any]


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


BAD: list[tuple[str, Breakage, tuple[str, str]]] = [
    (
        "a number written as text",
        lambda it: it["spec"]["routes"][0]["services"][0].update(port="80"),
        ("spec.routes[0].services[0].port", "must be a whole number, not '80'"),
    ),
    (
        "a truth for a number",
        lambda it: it["spec"]["routes"][0]["services"][0].update(weight=True),
        ("spec.routes[0].services[0].weight", "must be a whole number, not true"),
    ),
    (
        "a fraction",
        lambda it: it["spec"]["routes"][0]["services"][0].update(port=80.5),
        ("spec.routes[0].services[0].port", "must be a whole number, not 80.5"),
    ),
    (
        "a port that does not exist",
        lambda it: it["spec"]["routes"][0]["services"][0].update(port=65536),
        ("spec.routes[0].services[0].port", "must be at most 65535, not 65536"),
    ),
    (
        "a negative weight",
        lambda it: it["spec"]["routes"][0]["services"][0].update(weight=-1),
        ("spec.routes[0].services[0].weight", "must be at least 0, not -1"),
    ),
    (
        "a number of thousands of digits",
        lambda it: it["spec"]["routes"][0]["services"][0].update(port=1 << 99_999),
        (
            "spec.routes[0].services[0].port",
            "must be at most 65535, not a very large number",
        ),
    ),
    (
        "text for a truth",
        lambda it: it["spec"]["routes"][0].update(permitInsecure="yes"),
        ("spec.routes[0].permitInsecure", "must be true or false, not 'yes'"),
    ),
    (
        "an object for a list",
        lambda it: it["spec"].update(routes={"services": []}),
        ("spec.routes", "must be a list, not {'services': []}"),
    ),
    (
        "text for an object",
        lambda it: it["spec"].update(virtualhost="example.com"),
        ("spec.virtualhost", "must be an object, not 'example.com'"),
    ),
    (
        "a null in a list",
        lambda it: it["spec"].update(routes=[None]),
        ("spec.routes[0]", "must be an object, not null"),
    ),
    (
        "a number for text",
        lambda it: it["metadata"]["labels"].update(a=1),
        ("metadata.labels.a", "must be text, not 1"),
    ),
    (
        "a required field that is missing",
        lambda it: it["spec"]["routes"][0]["services"][0].pop("name"),
        ("spec.routes[0].services[0].name", "is required"),
    ),
    (
        "a required field that is null",
        lambda it: it.update(spec=None),
        ("spec", "is required"),
    ),
    (
        "no metadata",
        lambda it: it.pop("metadata"),
        ("metadata", "is required"),
    ),
    (
        "metadata that are no object",
        lambda it: it.update(metadata=[]),
        ("metadata", "must be an object, not []"),
    ),
    (
        "no name",
        lambda it: it["metadata"].pop("name"),
        ("metadata.name", "is required"),
    ),
    (
        "a name that is no DNS name",
        lambda it: it["metadata"].update(name="My_Proxy"),
        (
            "metadata.name",
            "must be a DNS name: lower-case letters, digits, - and ., at most 253 characters",
        ),
    ),
    (
        "a namespace that is no label",
        lambda it: it["metadata"].update(namespace="a.b"),
        (
            "metadata.namespace",
            "must be lower-case letters, digits and -, at most 63 characters",
        ),
    ),
    (
        "NUL in a text",
        lambda it: it["spec"]["virtualhost"]["tls"].update(secretName="a\0b"),
        ("spec.virtualhost.tls.secretName", "must be valid Unicode text without NUL"),
    ),
    (
        "half of a surrogate pair",
        lambda it: it["spec"]["routes"][0]["conditions"][0].update(prefix="/\ud83d"),
        ("spec.routes[0].conditions[0].prefix", "must be valid Unicode text without NUL"),
    ),
    (
        "NUL where no model looks",
        lambda it: it["metadata"].update(finalizers=["a\0"]),
        ("metadata.finalizers[0]", "must be valid Unicode text without NUL"),
    ),
    (
        "NUL in the name of a field",
        lambda it: it["metadata"]["labels"].update({"a\0": "b"}),
        ("metadata.labels", "must be valid Unicode text without NUL"),
    ),
    (
        "the name of a field that is no text",
        lambda it: it["spec"].update({1: 2}),
        ("spec[1]", "the names of fields must be text"),
    ),
    (
        "a duration without unit",
        lambda it: it["spec"]["routes"][0]["timeoutPolicy"].update(response="30"),
        (
            "spec.routes[0].timeoutPolicy.response",
            "must be a duration, such as 30s, or infinity, not '30'",
        ),
    ),
    (
        "a host with capitals",
        lambda it: it["spec"]["virtualhost"].update(fqdn="Example.com"),
        (
            "spec.virtualhost.fqdn",
            "must be a DNS name in lower case, perhaps with a wildcard, such as *.example.com,"
            " not 'Example.com'",
        ),
    ),
    (
        "a value that is not among the allowed ones",
        lambda it: it["spec"]["routes"][1]["requestRedirectPolicy"].update(statusCode=200),
        (
            "spec.routes[1].requestRedirectPolicy.statusCode",
            "must be 301, 302, 303, 307 or 308, not 200",
        ),
    ),
    (
        "a time without zone",
        lambda it: it["metadata"].update(creationTimestamp="2024-01-01T00:00:00"),
        (
            "metadata.creationTimestamp",
            "must be a time with a zone, such as 2024-01-31T12:00:00Z",
        ),
    ),
    (
        "no time at all",
        lambda it: it["metadata"].update(creationTimestamp="yesterday"),
        ("metadata.creationTimestamp", "must be a time, such as 2024-01-31T12:00:00Z"),
    ),
    (
        "a version that we do not read",
        lambda it: it.update(apiVersion="projectcontour.io/v2"),
        ("apiVersion", "HTTPProxy is read in version v1, not projectcontour.io/v2"),
    ),
]


@pytest.mark.parametrize(("_", "broken", "expected"), BAD, ids=[it[0] for it in BAD])
def test_bad_input_is_told_with_its_path_and_makes_no_object(
    _: str, broken: Breakage, expected: tuple[str, str]
) -> None:
    document = documents.httpproxy()
    document["spec"] = copy.deepcopy(document["spec"])
    broken(document)
    assert told(document) == [expected]
    assert decoded(document).object is None
    assert decoded(document).errors == decoded(document).complaints


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
        ("data.password", "must be text"),
        ("stringData.pin", "must be text"),
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


JUNK: list[Any] = [
    None, True, 0, -1, 1 << 70, 1e400, 0.5, "", "\0", "\ud800", "ä", "a" * 5000, b"bytes", [],
    [[]], {}, {"a": None}, {1: 2}, {None: 1}, {"\udfff": "x"}, ["x", 1], object(),
]  # fmt: skip


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    parts = list(node.items() if isinstance(node, dict) else enumerate(node))
    for key, value in parts:
        yield node, key
        if isinstance(value, dict | list):
            yield from places(value)


def mutate(document: documents.Document, chance: random.Random) -> None:
    if not document:
        return
    node, key = chance.choice(list(places(document)))
    match chance.randrange(5):
        case 0:
            del node[key]
        case 1:
            node[key] = [node[key]]
        case 2 if isinstance(node, dict):
            node[chance.choice(["spec", "x", "\0", 7, str(key) + "s"])] = node[key]
        case 3:
            node[key] = copy.deepcopy(chance.choice([it for it, _ in places(document)]))
        case _:
            node[key] = copy.deepcopy(chance.choice(JUNK))


@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_decoding_never_raises(chance: random.Random, times: int) -> None:
    document = copy.deepcopy(chance.choice(documents.of_every_kind()))
    for _ in range(times):
        mutate(document, chance)
        found = decode(document)
        if isinstance(found, Decoded):
            assert (found.object is None) == bool(found.errors)
            for it in found.complaints:
                str(it).encode()
                assert str(it).isprintable()
                assert len(str(it)) < 2000


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda it: st.lists(it, max_size=3) | st.dictionaries(st.text(max_size=5), it, max_size=3),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(documents.of_every_kind()), json_like)
def test_whatever_the_spec_is_decoding_never_raises(
    document: documents.Document, spec: object
) -> None:
    assert isinstance(decode({**document, "spec": spec}), Decoded)
    assert decode(spec) is not None
