"""What clients must not be able to do."""

import pytest

from tests.e2e.standalone import Standalone

pytestmark = pytest.mark.envoy

_HOST = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: hardened}
spec:
  virtualhost: {fqdn: hardened.example.com}
  routes:
  - services: [{name: one, port: 80}]
    requestHeadersPolicy: {set: [{name: X-Ours, value: ours}]}
  - conditions: [{prefix: /admin}]
    directResponsePolicy: {statusCode: 403}
"""


@pytest.fixture(scope="module")
def hardened(instance: Standalone) -> Standalone:
    instance.write("hardened.yaml", _HOST)
    instance.until("http://hardened.example.com/", "one")
    return instance


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/admin", 403),
        ("//admin", 403),
        ("/./admin", 403),
        ("/x/../admin", 403),
        ("/%2e%2e/admin", 403),
        ("/%61dmin", 403),
        ("/x/%2e%2e/admin", 403),
        # Sent back to come again in plain writing, so that both sides read the same path.
        ("/x%2f..%2fadmin", 307),
        ("/x%5c..%5cadmin", 307),
        ("/ADMIN", 200),
    ],
)
def test_a_path_is_judged_in_its_plain_form(hardened: Standalone, path: str, status: int) -> None:
    assert hardened.ask(f"http://hardened.example.com{path}").status == status


def test_a_header_with_an_underscore_is_refused(hardened: Standalone) -> None:
    url = "http://hardened.example.com/"
    assert hardened.ask(url, headers={"X_User": "root"}).status == 400
    assert hardened.ask(url, headers={"X-User": "root"}).status == 200


@pytest.mark.parametrize("value", ["ingress_http/1", "ingress_http/default", "", "nonsense"])
def test_a_client_cannot_choose_the_routes(hardened: Standalone, value: str) -> None:
    headers = {"X-Contour-Routes": value}
    answer = hardened.ask("http://hardened.example.com/", headers=headers)
    assert answer.backend == "one"
    assert "x-contour-routes" not in answer.seen["headers"]
    assert hardened.ask("http://hardened.example.com/admin", headers=headers).status == 403


def test_a_client_cannot_hide_its_address(hardened: Standalone) -> None:
    answer = hardened.ask("http://hardened.example.com/", headers={"X-Forwarded-For": "1.2.3.4"})
    told, added = answer.seen["headers"]["x-forwarded-for"].split(",")
    assert told == "1.2.3.4"
    assert added
    assert answer.seen["headers"]["x-forwarded-proto"] == "http"


@pytest.mark.parametrize("name", ["X-Forwarded-For", "x-forwarded-proto", "Host"])
def test_a_client_cannot_have_what_is_told_of_it_taken_off(hardened: Standalone, name: str) -> None:
    """RFC 9110, section 7.6.1: what `Connection` names goes no further."""
    headers = {"Connection": f"close, {name}"}
    assert hardened.ask("http://hardened.example.com/", headers=headers).status == 400


def test_a_client_cannot_have_headers_of_the_proxy_taken_off(hardened: Standalone) -> None:
    written = ("X-Ours", "x-request-id", "X-Envoy-External-Address")
    headers = {"Connection": f"close, {', '.join(written)}", "X-Own": "kept"}
    seen = hardened.ask("http://hardened.example.com/", headers=headers).seen["headers"]
    assert {it.lower() for it in written} < seen.keys()
    assert (seen["x-ours"], seen["x-own"]) == ("ours", "kept")
