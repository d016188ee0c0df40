"""What clients must not be able to do."""

import pytest

from tests.e2e.standalone import Standalone

pytestmark = pytest.mark.envoy


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
def test_a_path_is_judged_in_its_plain_form(instance: Standalone, path: str, status: int) -> None:
    assert instance.ask(f"http://hardened.example.com{path}").status == status


def test_a_header_with_an_underscore_is_refused(instance: Standalone) -> None:
    url = "http://hardened.example.com/"
    assert instance.ask(url, headers={"X_User": "root"}).status == 400
    assert instance.ask(url, headers={"X-User": "root"}).status == 200


@pytest.mark.parametrize("value", ["ingress_http/1", "ingress_http/default", "", "nonsense"])
def test_a_client_cannot_choose_the_routes(instance: Standalone, value: str) -> None:
    headers = {"X-Contour-Routes": value}
    answer = instance.ask("http://hardened.example.com/", headers=headers)
    assert answer.backend == "one"
    assert instance.ask("http://hardened.example.com/admin", headers=headers).status == 403


def test_a_client_cannot_hide_its_address(instance: Standalone) -> None:
    answer = instance.ask("http://hardened.example.com/", headers={"X-Forwarded-For": "1.2.3.4"})
    told, added = answer.seen["headers"]["x-forwarded-for"].split(",")
    assert told == "1.2.3.4"
    assert added
    assert answer.seen["headers"]["x-forwarded-proto"] == "http"


@pytest.mark.parametrize("name", ["X-Forwarded-For", "x-forwarded-proto", "Host"])
def test_a_client_cannot_have_what_is_told_of_it_taken_off(instance: Standalone, name: str) -> None:
    """RFC 9110, section 7.6.1: what `Connection` names goes no further."""
    headers = {"Connection": f"close, {name}"}
    assert instance.ask("http://hardened.example.com/", headers=headers).status == 400


def test_a_client_cannot_have_headers_of_the_proxy_taken_off(instance: Standalone) -> None:
    written = ("X-Ours", "x-request-id", "X-Envoy-External-Address")
    headers = {"Connection": f"close, {', '.join(written)}", "X-Own": "kept"}
    seen = instance.ask("http://hardened.example.com/", headers=headers).seen["headers"]
    assert {it.lower() for it in written} < seen.keys()
    assert (seen["x-ours"], seen["x-own"]) == ("ours", "kept")
