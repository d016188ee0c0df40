"""The checks of the HTTPProxy's CRD that no schema can say, and what absent fields mean."""

import pytest

from tests.crds import documents
from tests.crds.objects import decoded, errors

LOCAL = {"secretName": "a", "key": "b"}
REMOTE = {"uri": "https://a.b"}


def host(**fields: object) -> documents.Document:
    return documents.httpproxy(virtualhost={"fqdn": "a.b", **fields})


@pytest.mark.parametrize(
    ("given", "where", "message"),
    [
        (
            host(jwtProviders=[{"name": "a"}]),
            "spec.virtualhost.jwtProviders[0]",
            "exactly one of remoteJWKS or localJWKS must be set",
        ),
        (
            host(jwtProviders=[{"name": "a", "localJWKS": LOCAL, "remoteJWKS": REMOTE}]),
            "spec.virtualhost.jwtProviders[0]",
            "exactly one of remoteJWKS or localJWKS must be set",
        ),
        (
            host(authorization={"httpSettings": {}}),
            "spec.virtualhost.authorization",
            "httpSettings can only be set when serviceType is 'http'",
        ),
        (
            host(
                authorization={
                    "serviceType": "http",
                    "httpSettings": {"allowedUpstreamHeaders": [{"exact": "a", "prefix": "b"}]},
                }
            ),
            "spec.virtualhost.authorization.httpSettings.allowedUpstreamHeaders[0]",
            "exactly one of exact, prefix, suffix and contains must be set",
        ),
        (
            documents.httpproxy(
                routes=[
                    {
                        "services": [
                            {
                                "name": "a",
                                "port": 1,
                                "validation": {
                                    "caSecret": "a",
                                    "subjectName": "b",
                                    "subjectNames": ["c"],
                                },
                            }
                        ]
                    }
                ]
            ),
            "spec.routes[0].services[0].validation",
            "subjectNames[0] must equal subjectName if set",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    given: documents.Document, where: str, message: str
) -> None:
    assert errors(given) == [(where, message)]


def test_absent_fields_have_the_defaults_of_the_crd() -> None:
    (route,) = decoded(
        documents.httpproxy(
            routes=[
                {
                    "services": [{"name": "a", "port": 1}],
                    "retryPolicy": {},
                    "requestRedirectPolicy": {},
                    "internalRedirectPolicy": {},
                }
            ]
        )
    ).spec.routes
    assert route.retry_policy.count == 1
    assert route.request_redirect_policy.status_code == 302
    assert route.internal_redirect_policy.allow_cross_scheme_redirect == "Never"
    assert route.services[0].weight == 0
    assert route.timeout_policy is None


@pytest.mark.parametrize("fqdn", ["a.b", "*.a.b", "localhost", "*"])
def test_hosts_and_wildcards_are_taken(fqdn: str) -> None:
    assert decoded(documents.httpproxy(virtualhost={"fqdn": fqdn})).spec.virtualhost.fqdn == fqdn


@pytest.mark.parametrize("fqdn", ["", "**", "*.*", "a.*.b", "A.b", "a_b", "a b", "a.b.", "a.b:80"])
def test_what_is_no_host_is_refused(fqdn: str) -> None:
    ((where, _),) = errors(documents.httpproxy(virtualhost={"fqdn": fqdn}))
    assert where == "spec.virtualhost.fqdn"


@pytest.mark.parametrize("timeout", ["30s", "1m30s", "1.5h", "0s", "infinity", "infinite", "5µs"])
def test_durations_are_gos(timeout: str) -> None:
    document = documents.httpproxy(routes=[{"timeoutPolicy": {"response": timeout}}])
    assert decoded(document).spec.routes[0].timeout_policy.response == timeout


@pytest.mark.parametrize("timeout", ["", "30", "s30", "-1s", "1d", "1s ", "1s\n", "Infinity"])
def test_other_durations_are_refused(timeout: str) -> None:
    document = documents.httpproxy(routes=[{"timeoutPolicy": {"response": timeout}}])
    assert [it for it, _ in errors(document)] == ["spec.routes[0].timeoutPolicy.response"]
