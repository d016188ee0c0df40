"""Bad input, one kind of mistake at a time: where it is, and in plain words what it should be."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from crds.decode import Decoded, decode
from tests.crds import documents
from tests.crds.objects import errors

Breakage = Callable[[documents.Document], Any]

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
        ("metadata.labels.a", "must be text, not 1; write it in quotes"),
    ),
    (
        "a name that YAML reads as true",
        lambda it: it["spec"]["routes"][0]["services"][0].update(name=True),
        ("spec.routes[0].services[0].name", "must be text, not true; write it in quotes"),
    ),
    (
        "a list for text",
        lambda it: it["spec"]["routes"][0]["services"][0].update(name=[]),
        ("spec.routes[0].services[0].name", "must be text, not []"),
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
            " or *, not 'Example.com'",
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
    found = decode(document)
    assert isinstance(found, Decoded)
    assert errors(document) == [expected]
    assert found.object is None
    assert found.errors == found.complaints
