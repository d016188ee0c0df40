"""A ContourConfiguration that is edited while the instance runs: live, and never to the worse."""

import socket
import ssl
from collections.abc import Iterator

import pytest

from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_NAME = socket.gethostname().lower()


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    authority = certificates.authority()
    pair = certificates.issued(authority, "*.example.com")
    names = ("services.yaml", "live.yaml", "tls.yaml")
    files = {name: manifest(name) for name in names}
    files["secret.yaml"] = pairs.of("certificate", pair)
    files["external.yaml"] = _EXTERNAL
    with standalone(tmp_path_factory.mktemp("configured"), files) as running:
        running.authority = authority
        yield running


_EXTERNAL = f"""
apiVersion: v1
kind: Service
metadata: {{name: far}}
spec: {{type: ExternalName, externalName: {_NAME}, ports: [{{port: $two}}]}}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: far}}
spec:
  virtualhost: {{fqdn: far.example.com}}
  routes:
  - services: [{{name: far, port: $two}}]
"""


def _configure(instance: Standalone, spec: str) -> None:
    instance.write(
        "configuration.yaml",
        "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
        f"metadata: {{name: contour}}\nspec: {spec}\n",
    )


def test_a_trailing_dot_of_the_host_is_dropped_unless_the_configuration_says_otherwise(
    configured: Standalone,
) -> None:
    assert configured.ask("http://live.example.com./").backend == "one"
    with configured.load("http://live.example.com/").in_background() as answers:
        _configure(configured, "{envoy: {network: {stripTrailingHostDot: false}}}")
        configured.until_status("http://live.example.com./", 404)
        _configure(configured, "{}")
        configured.until("http://live.example.com./", "one")
    answers.require_all("one")


def test_external_names_are_served_where_the_configuration_allows_them(
    configured: Standalone,
) -> None:
    try:
        if socket.gethostbyname(_NAME) not in {"127.0.0.1", "127.0.1.1"}:
            pytest.skip(f"{_NAME} does not lead to the loopback interface, where the backends are")
    except OSError:
        pytest.skip(f"the name of this machine, {_NAME}, has no address")
    _configure(configured, "{}")
    configured.until_status("http://far.example.com/", 503)
    assert "ExternalName" in configured.reasons("HTTPProxy default/far")
    _configure(configured, "{enableExternalNameService: true}")
    configured.until("http://far.example.com/", "two")
    wait(lambda: not configured.reasons("HTTPProxy default/far"), "a status without complaint")
    _configure(configured, "{}")
    configured.until_status("http://far.example.com/", 503)


def test_plain_http_can_be_denied_to_all(configured: Standalone) -> None:
    _configure(configured, "{}")
    configured.until("http://secure.example.com/open", "two")
    _configure(configured, "{httpproxy: {disablePermitInsecure: true}}")
    configured.until_status("http://secure.example.com/open", 301)


def test_no_host_may_go_below_the_version_of_tls_that_the_configuration_names(
    configured: Standalone,
) -> None:
    _configure(configured, "{envoy: {listener: {tls: {minimumProtocolVersion: '1.3'}}}}")
    wait(lambda: not _speaks_1_2(configured), "no TLS 1.2")
    assert configured.ask("https://secure.example.com/").backend == "one"
    _configure(configured, "{}")
    wait(lambda: _speaks_1_2(configured), "TLS 1.2")


def test_every_host_is_closed_while_what_is_to_guard_it_is_not_served(
    configured: Standalone,
) -> None:
    _configure(configured, "{}")
    configured.until("http://live.example.com/", "one")
    _configure(configured, "{globalExtAuth: {extensionRef: {name: doorman}}}")
    configured.until_status("http://live.example.com/", 503)
    assert configured.ask("https://secure.example.com/").status == 503
    assert "spec.globalExtAuth" in configured.reasons("ContourConfiguration default/contour")
    _configure(configured, "{}")
    configured.until("http://live.example.com/", "one")


def _speaks_1_2(instance: Standalone) -> bool:
    client = instance.trusting()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(("127.0.0.1", instance.ports["https"]), 10) as connection:
        try:
            client.wrap_socket(connection, server_hostname="secure.example.com").close()
        except (ssl.SSLError, ConnectionError):
            return False
    return True


def test_a_configuration_with_an_error_leaves_the_last_good_one(configured: Standalone) -> None:
    subject = "ContourConfiguration default/contour"
    _configure(configured, "{envoy: {network: {stripTrailingHostDot: false}}}")
    configured.until_status("http://live.example.com./", 404)
    _configure(configured, "{envoy: {timeouts: {requestTimeout: soon}}}")
    configured.until_told(subject, "spec.envoy.timeouts.requestTimeout")
    assert configured.ask("http://live.example.com./").status == 404
    _configure(configured, "{}")
    configured.until("http://live.example.com./", "one")
    assert configured.reasons(subject) == ""
