"""XBackends: a name of another machine as the backend of routes (Gateway API 1.7, experimental)."""

import socket
from collections.abc import Iterator

import pytest

from tests.e2e import peers
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_AUTHORITY, _OTHER = certificates.authority("good"), certificates.authority("other")
_FAR = socket.gethostname().lower()
"""A name that DNS resolves to the interface on which the backends are."""
_HOST = "www.example.com"
_INNER = "inner.example.com"
_XBACKEND = "XBackend default/far"
_CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec:
  gateway: {{controllerName: projectcontour.io/gateway-controller}}
  enableExternalNameService: {allowed}
"""


def _xbackend(fields: str, host: str = _FAR) -> str:
    return f"""
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {{name: far}}
spec: {{type: ExternalHostname, externalHostname: {{hostname: {host}}}, {fields}}}
"""


def _tls(mode: str, bundle: str, rest: str = "") -> str:
    ref = f"{{group: certificates.k8s.io, kind: ClusterTrustBundle, name: {bundle}}}"
    validation = f"validation: {{hostname: {_INNER}, caCertificateRefs: [{ref}]}}"
    return f"port: {{number: $proving}}, tls: {{mode: {mode}, {validation}{rest}}}"


_ONE, _TWO = "port: {number: $one}", "port: {number: $two}"


@pytest.fixture(scope="module", name="leading")
def _leading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    try:
        if socket.gethostbyname(_FAR) not in {"127.0.0.1", "127.0.1.1"}:
            pytest.skip(f"{_FAR} does not lead to the loopback interface, where the backends are")
    except OSError:
        pytest.skip(f"the name of this machine, {_FAR}, has no address")
    folder = tmp_path_factory.mktemp("xbackends")
    (folder / "backend").mkdir()
    shown = certificates.issued(_AUTHORITY, _INNER)
    with peers.over_tls(shown, _AUTHORITY, folder / "backend") as port:
        files = {
            "configuration.yaml": _CONFIGURATION.format(allowed="true"),
            "services.yaml": manifest("services.yaml"),
            "gateway.yaml": manifest("xbackends.yaml"),
            "xbackend.yaml": _xbackend(_ONE),
            "good.yaml": pairs.trust_bundle("good", _AUTHORITY.pem),
            "other.yaml": pairs.trust_bundle("other", _OTHER.pem),
            "envoy.yaml": pairs.of("envoy", certificates.issued(_AUTHORITY, "envoy")),
        }
        with standalone(folder, files, {"proving": port}) as running:
            yield running


def _lead(running: Standalone, fields: str, host: str = _FAR) -> None:
    running.write("xbackend.yaml", _xbackend(fields, host))


def test_requests_go_to_the_port_of_the_name_and_keep_their_host(leading: Standalone) -> None:
    _lead(leading, _ONE)
    leading.until(f"http://{_HOST}/", "one")
    assert leading.ask(f"http://{_HOST}/").seen["headers"]["host"] == _HOST
    assert leading.reasons(_XBACKEND) == leading.reasons("HTTPRoute default/main") == ""
    _lead(leading, f"{_TWO}, protocol: HTTP11")
    leading.until(f"http://{_HOST}/", "two")


def test_tls_is_spoken_to_it_and_its_certificate_checked(leading: Standalone) -> None:
    _lead(leading, _tls("ServerOnly", "good"))
    leading.until(f"http://{_HOST}/", "tls")
    seen = leading.ask(f"http://{_HOST}/").seen
    assert (seen["sni"], seen["client"]) == (_INNER, "")
    _lead(leading, _tls("ServerOnly", "other"))
    leading.until_status(f"http://{_HOST}/", 503)
    _lead(leading, _tls("ServerOnly", "missing"))
    leading.until_status(f"http://{_HOST}/", 500)
    leading.until_told(_XBACKEND, "ClusterTrustBundle missing")


def test_a_certificate_is_shown_to_it(leading: Standalone) -> None:
    _lead(leading, _tls("ClientAndServer", "good", ", clientCertificateRef: {name: envoy}"))
    url = f"http://{_HOST}/"
    wait(lambda: leading.ask(url).seen.get("client") == "envoy", "a certificate that is shown")
    _lead(leading, _tls("ClientAndServer", "good", ", clientCertificateRef: {name: gone}"))
    leading.until_status(url, 500)


@pytest.mark.parametrize(
    ("fields", "host", "word"),
    [
        (f"{_ONE}, protocol: MCP", _FAR, "MCP is not served"),
        (_ONE, "localhost", "leads to the proxy itself"),
        (_ONE, "127.0.0.1", "is an IP address"),
    ],
)
def test_what_cannot_be_served_gets_no_request(
    leading: Standalone, fields: str, host: str, word: str
) -> None:
    _lead(leading, _ONE)
    leading.until(f"http://{_HOST}/", "one")
    _lead(leading, fields, host)
    leading.until_status(f"http://{_HOST}/", 500)
    leading.until_told(_XBACKEND, word)
    leading.until_told("HTTPRoute default/main", "cannot be served")


def test_it_is_closed_without_the_word_of_the_configuration(leading: Standalone) -> None:
    _lead(leading, _ONE)
    leading.until(f"http://{_HOST}/", "one")
    leading.write("configuration.yaml", _CONFIGURATION.format(allowed="false"))
    leading.until_status(f"http://{_HOST}/", 500)
    leading.until_told(_XBACKEND, "enableExternalNameService")
    leading.write("configuration.yaml", _CONFIGURATION.format(allowed="true"))
    leading.until(f"http://{_HOST}/", "one")


def test_only_its_own_share_is_closed(leading: Standalone) -> None:
    leading.remove("xbackend.yaml")
    leading.until_status(f"http://{_HOST}/", 500)
    leading.until_told("HTTPRoute default/main", "XBackend default/far not found")
    found = {leading.ask(f"http://{_HOST}/shared").status for _ in range(40)}
    assert found == {200, 500}
    _lead(leading, _TWO)
    leading.until(f"http://{_HOST}/", "two")
