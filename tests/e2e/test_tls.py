"""TLS: who may connect, with which certificate, and what is answered to the wrong name."""

import ssl
from contextlib import closing

import h2.connection
import h2.events
import pytest

from tests.e2e.cases import Case, check
from tests.e2e.standalone import Standalone
from tests.testbed import certificates, pairs
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_CASES = [
    Case("https://secure.example.com/", backend="one"),
    Case("https://secure.example.com/open", backend="two"),
    Case(
        "http://secure.example.com/page?q=1",
        301,
        answered={"location": "https://secure.example.com/page?q=1"},
    ),
    Case("http://secure.example.com/open", backend="two"),
]


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_a_secure_host_is_served(instance: Standalone, case: Case) -> None:
    check(instance, case)


@pytest.mark.parametrize(
    ("host", "newest", "agreed"),
    [
        ("secure", ssl.TLSVersion.TLSv1_3, "TLSv1.3"),
        ("secure", ssl.TLSVersion.TLSv1_2, "TLSv1.2"),
        ("old", ssl.TLSVersion.TLSv1_3, "TLSv1.2"),
        ("new", ssl.TLSVersion.TLSv1_3, "TLSv1.3"),
    ],
)
def test_the_newest_version_that_both_sides_allow_is_spoken(
    instance: Standalone, host: str, newest: ssl.TLSVersion, agreed: str
) -> None:
    client = instance.trusting()
    client.maximum_version = newest
    with _connected(instance, client, f"{host}.example.com") as connection:
        assert connection.version() == agreed


def test_versions_that_a_host_does_not_allow_are_refused(instance: Standalone) -> None:
    client = instance.trusting()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    assert _is_refused(instance, client, "new.example.com")
    client = instance.trusting()
    client.minimum_version = ssl.TLSVersion.TLSv1_3
    assert _is_refused(instance, client, "old.example.com")


@pytest.mark.parametrize("name", ["nobody.test", None])
def test_a_connection_for_no_host_of_ours_is_closed(instance: Standalone, name: str | None) -> None:
    client = instance.trusting()
    client.check_hostname = False
    assert _is_refused(instance, client, name)


def test_a_request_for_another_host_than_the_connection_is_misdirected(
    instance: Standalone,
) -> None:
    url = "https://secure.example.com/"
    assert instance.ask(url, sni="old.example.com").status == 421
    assert instance.ask(url, sni="secure.example.com").status == 200


def test_http2_is_spoken_with_clients_that_offer_it(instance: Standalone) -> None:
    client = instance.trusting()
    client.set_alpn_protocols(["h2", "http/1.1"])
    for host, expected in (("secure.example.com", "200"), ("old.example.com", "421")):
        with _connected(instance, client, "secure.example.com") as connection:
            assert connection.selected_alpn_protocol() == "h2"
            assert _status_over_http2(connection, host) == expected


def _connected(instance: Standalone, client: ssl.SSLContext, name: str | None) -> ssl.SSLSocket:
    """A connection whose handshake is done; the first answer proves that the other side agrees."""
    connection = instance.connection("http", "")
    connection.close()
    connection.port = instance.ports["https"]
    connection.connect()
    return client.wrap_socket(connection.sock, server_hostname=name)


def _is_refused(instance: Standalone, client: ssl.SSLContext, name: str | None) -> bool:
    try:
        with _connected(instance, client, name):
            return False
    except (ssl.SSLError, ConnectionError):
        return True


def _status_over_http2(connection: ssl.SSLSocket, host: str) -> str:
    state = h2.connection.H2Connection()
    state.initiate_connection()
    headers = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", "/")]
    state.send_headers(1, headers, end_stream=True)
    while True:
        connection.sendall(state.data_to_send())
        for event in state.receive_data(connection.recv(65536)):
            if isinstance(event, h2.events.ResponseReceived):
                return dict(event.headers)[b":status"].decode()


_SHARED = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shared}
spec:
  virtualhost: {fqdn: shared.example.com, tls: {secretName: vault/shared}}
  routes:
  - services: [{name: one, port: 80}]
"""
_DELEGATION = """
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: shared, namespace: vault}
spec: {delegations: [{secretName: shared, targetNamespaces: [default]}]}
"""


def test_a_certificate_of_another_namespace_is_served_while_it_is_delegated(
    instance: Standalone,
) -> None:
    pair = certificates.issued(instance.authority, "shared.example.com")
    instance.write("shared-secret.yaml", pairs.of("shared", pair, "vault"))
    instance.write("shared.yaml", _SHARED)
    instance.until_told("HTTPProxy default/shared", "not delegated")
    assert _serial(instance, "shared.example.com") != pair.certificate.serial_number
    instance.write("delegation.yaml", _DELEGATION)
    _until_serial(instance, "shared.example.com", pair)
    assert instance.ask("https://shared.example.com/").backend == "one"
    instance.remove("delegation.yaml")
    instance.until_told("HTTPProxy default/shared", "not delegated")
    wait(
        lambda: _serial(instance, "shared.example.com") != pair.certificate.serial_number,
        "no certificate without delegation",
    )


_RENEWED = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: renewed}
spec:
  virtualhost: {fqdn: renewed.example.com, tls: {secretName: renewed}}
  routes:
  - services: [{name: one, port: 80}]
"""


def test_a_renewed_certificate_is_served_and_no_request_is_lost(instance: Standalone) -> None:
    host = "renewed.example.com"
    old, new = (certificates.issued(instance.authority, host) for _ in range(2))
    instance.write("renewed.yaml", _RENEWED + pairs.of("renewed", old))
    _until_serial(instance, host, old)
    with instance.load(f"https://{host}/", a_connection=2).in_background() as answers:
        wait(lambda: answers.answers["one"] > 10, "answers")
        instance.write("renewed.yaml", _RENEWED + pairs.of("renewed", new))
        _until_serial(instance, host, new)
        before = answers.answers["one"]
        wait(lambda: answers.answers["one"] > before + 10, "answers")
    answers.require_all("one")


_KEPT = _RENEWED.replace("renewed", "kept")


@pytest.mark.parametrize("fault", ["garbage", "a key of another certificate"])
def test_a_certificate_that_cannot_serve_replaces_none_that_can(
    instance: Standalone, fault: str
) -> None:
    host = "kept.example.com"
    good, other = (certificates.issued(instance.authority, host) for _ in range(2))
    bad = good.pem if fault == "garbage" else other.pem
    key = b"garbage" if fault == "garbage" else good.key_pem
    instance.write("kept.yaml", _KEPT + pairs.of("kept", good))
    _until_serial(instance, host, good)
    instance.write("kept.yaml", _KEPT + pairs.with_pair("kept", bad, key))
    instance.until_told("Secret default/kept", "key")
    assert _serial(instance, host) == good.certificate.serial_number
    instance.write("kept.yaml", _KEPT + pairs.of("kept", other))
    _until_serial(instance, host, other)
    assert instance.reasons("Secret default/kept") == ""


def _until_serial(instance: Standalone, host: str, pair: certificates.Pair) -> None:
    wait(
        lambda: _serial(instance, host) == pair.certificate.serial_number,
        f"the certificate of {host}",
    )


def _serial(instance: Standalone, host: str) -> int | None:
    """Of the certificate that is shown to a client; None if there is no handshake."""
    try:
        with closing(_connected(instance, instance.trusting(), host)) as connection:
            found = connection.getpeercert() or {}
            return int(str(found["serialNumber"]), 16)
    except (ssl.SSLError, ConnectionError):
        return None


_ADDED = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: added}
spec:
  virtualhost: {fqdn: added.example.com, tls: {secretName: certificate}}
  routes:
  - services: [{name: two, port: 80}]
"""


_DRAINING = ("total_filter_chains_draining", "total_listeners_draining")


def test_a_host_added_to_a_busy_listener_drains_nothing(instance: Standalone) -> None:
    before = [instance.statistic(f"listener_manager.{it}") for it in _DRAINING]
    with closing(instance.connection("https", "secure.example.com")) as busy:
        busy.request("GET", "/stream?seconds=2", headers={"Host": "secure.example.com"})
        response = busy.getresponse()
        assert response.readline()
        instance.write("added.yaml", _ADDED)
        instance.until("https://added.example.com/", "two")
        # Less than before, if what an earlier test removed is gone by now.
        after = [instance.statistic(f"listener_manager.{it}") for it in _DRAINING]
        assert all(new <= old for old, new in zip(before, after, strict=True))
        assert len(response.read().splitlines()) == 9
