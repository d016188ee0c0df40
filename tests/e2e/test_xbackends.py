"""XBackends: a name of another machine as the backend of routes (Gateway API 1.7, experimental)."""

import contextlib
import socket
from collections.abc import Iterator

import grpc
import pytest

from tests.e2e import peers
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports
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
        with standalone(folder, files, {"proving": port, "stream": free_ports(1)[0]}) as running:
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


def test_bytes_reach_it(leading: Standalone) -> None:
    def greeting() -> bytes:
        address = ("127.0.0.1", leading.ports["stream"])
        with contextlib.suppress(OSError), socket.create_connection(address, PATIENCE) as it:
            return it.recv(1024)
        return b""

    wait(lambda: greeting() == b"", "a connection that is closed")
    with peers.streams("bytes") as port:
        far = _xbackend(f"protocol: TCP, port: {{number: {port}}}")
        leading.write("bytes.yaml", far.replace("name: far", "name: bytes"))
        wait(lambda: greeting() == b"bytes", "what it says")
    assert leading.reasons("TCPRoute default/main") == ""


_CALLED = """
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: called}
spec:
  parentRefs: [{name: main}]
  hostnames: [called.example.com]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: calls}]}]
"""


def test_calls_reach_it_over_http_2(leading: Standalone) -> None:
    options = [("grpc.default_authority", "called.example.com")]
    target = f"127.0.0.1:{leading.ports['http']}"
    with peers.calls("calls") as port, grpc.insecure_channel(target, options=options) as channel:

        def call() -> grpc.StatusCode:
            try:
                channel.unary_unary("/a.Echo/Say")(b"", timeout=PATIENCE)
            except grpc.RpcError as error:
                return error.code()
            return grpc.StatusCode.OK

        leading.write("called.yaml", _CALLED)
        wait(lambda: call() is grpc.StatusCode.UNAVAILABLE, "calls that fail")
        far = _xbackend(f"port: {{number: {port}}}").replace("name: far", "name: calls")
        leading.write("calls.yaml", far)
        wait(lambda: call() is grpc.StatusCode.OK, "an answer")
        leading.write("calls.yaml", far.replace("spec: {", "spec: {protocol: HTTP11, "))
        leading.until_told("GRPCRoute default/called", "speaks HTTP/1.1")
        wait(lambda: call() is grpc.StatusCode.UNAVAILABLE, "calls that fail")


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
