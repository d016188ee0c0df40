"""The checks that the API server makes on an Ingress."""

from typing import Any

import pytest

from tests.crds import documents
from tests.crds.objects import decoded, errors

WEB = {"service": {"name": "web", "port": {"number": 80}}}


def rule(host: str = "", **path: Any) -> documents.Document:
    wanted = {"path": "/", "pathType": "Prefix", "backend": WEB} | path
    return documents.ingress(rules=[{"host": host, "http": {"paths": [wanted]}}])


PATH = "spec.rules[0].http.paths[0]"
ROOTED = "path must start with /, unless pathType is ImplementationSpecific"


@pytest.mark.parametrize(
    ("given", "where", "message"),
    [
        (rule(path="a"), PATH, ROOTED),
        (rule(path="", pathType="Exact"), PATH, ROOTED),
        (rule(path=None, pathType=None), f"{PATH}.pathType", "is required"),
        (rule(pathType="Regex"), f"{PATH}.pathType", "must be 'Exact', 'Prefix' or"),
        (rule(backend={}), f"{PATH}.backend", "exactly one of service and resource must be set"),
        (
            rule(backend={"service": {"name": "web", "port": {}}}),
            f"{PATH}.backend.service.port",
            "exactly one of name and number must be set",
        ),
        (
            rule(backend={"service": {"name": "web", "port": {"name": "a", "number": 1}}}),
            f"{PATH}.backend.service.port",
            "exactly one of name and number must be set",
        ),
        (rule("10.0.0.1"), "spec.rules[0]", "host must be a DNS name, not an IP address"),
        (rule("a.*.b"), "spec.rules[0].host", "must be a DNS name in lower case"),
        (rule("*"), "spec.rules[0].host", "must be a DNS name in lower case"),
        (
            documents.ingress(ingressClassName="a"),
            "spec",
            "either defaultBackend or rules must be given",
        ),
        (
            documents.ingress(rules=[{"http": {"paths": []}}]),
            "spec.rules[0].http.paths",
            "must have 1 or more entries",
        ),
    ],
)
def test_what_the_api_server_refuses_is_refused(
    given: documents.Document, where: str, message: str
) -> None:
    ((path, told),) = errors(given)
    assert path == where
    assert told.startswith(message)


@pytest.mark.parametrize("host", ["", "example.com", "*.example.com"])
def test_hosts_and_wildcards_are_taken(host: str) -> None:
    assert decoded(rule(host)).spec.rules[0].host == host


def test_a_path_of_its_own_meaning_may_be_anything() -> None:
    document = rule(path="a.*b", pathType="ImplementationSpecific")
    assert decoded(document).spec.rules[0].http.paths[0].path == "a.*b"


def test_a_default_backend_is_enough() -> None:
    assert decoded(documents.ingress(defaultBackend=WEB)).spec.rules == ()
