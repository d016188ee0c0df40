"""What filters of listeners do to requests before these are routed (v1.7, GEP-5224).

With both ways of cutting hosts into RouteConfigurations: a filter that routes enable would be open
where a script finds the table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from contour.cli import main
from tests.e2e import deciders, peers
from tests.e2e.cases import Case, check
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs

pytestmark = pytest.mark.envoy

_CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
  envoy: {listener: {routing: %s}}
"""
_CHANGED = ("x-order", "x-tenant")
_SEEN = ("x-order", "x-word", "host")


def _asking(path: str, server: str = "deciding") -> str:
    """A filter that asks the server with a path before the request's."""
    told = f"allowedHeaders: [{', '.join(_SEEN)}], allowedResponseHeaders: [{', '.join(_CHANGED)}]"
    reference = f"backendRef: {{name: {server}, port: 80}}"
    http = f"protocol: HTTP, {reference}, http: {{path: {path}, {told}}}"
    return f"{{type: ExternalAuth, externalAuth: {{{http}}}}}"


_WORD = _asking("/word")
_FILTERS = {
    "$word": _WORD,
    "$own": _asking("/allow/own"),
    "$many": ", ".join(_asking(f"/allow/{it}") for it in range(16)),
    "$denied": ", ".join(_asking("/deny" if it == 7 else f"/allow/{it}") for it in range(16)),
    "$away": ", ".join([_asking("/allow/0"), _asking("/allow/1", "asleep"), _asking("/allow/2")]),
    "$calls": "{type: ExternalAuth, externalAuth: {protocol: GRPC,"
    " grpc: {allowedHeaders: [X-Word]}, backendRef: {name: calls, port: 80}}}",
}
_ALL = ",".join(map(str, range(16)))


@dataclass
class Filtered:
    """An instance, and the server that decides."""

    running: Standalone
    deciding: deciders.Deciding


@pytest.fixture(scope="module", name="filtered", params=["Shards", "Single"])
def _filtered(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Filtered]:
    authority, deciding = certificates.authority(), deciders.Deciding()
    text = manifest("listener_filters.yaml")
    for name, written in _FILTERS.items():
        text = text.replace(name, written)
    files = {"services.yaml": manifest("services.yaml"), "filters.yaml": text}
    files["configuration.yaml"] = _CONFIGURATION % request.param
    shown = certificates.issued(authority, "*.secure.example.com")
    files["secret.yaml"] = pairs.of("certificate", shown)
    with deciding.serving() as port, deciders.calls() as calling:
        ports = {"deciding": port, "calls": calling}
        files["peers.yaml"] = "---\n".join(peers.service(*it) for it in ports.items())
        folder = tmp_path_factory.mktemp("filters")
        with standalone(folder, files, ports) as found:
            found.authority = authority
            yield Filtered(found, deciding)


KNOWN: Mapping[str, str] = {"x-word": "open"}
NOTED = {"x-order": _ALL}
CASES = [
    # All of them, in their order; those of a ListenerSet too. The routes' own come after.
    Case("http://many.example.com/x", backend="one", seen={"x-order": _ALL}),
    Case("http://set.example.com/x", backend="one", seen={"x-order": _ALL}),
    Case("http://many.example.com/guarded", seen={"x-order": f"{_ALL},own"}),
    # However a host is written, and on whichever way its table is found.
    Case("http://MANY.example.com/x", backend="one", seen={"x-order": _ALL}),
    Case("http://many.example.com:80/x", backend="one", seen={"x-order": _ALL}),
    # One that denies, one that is not there.
    Case("http://denied.example.com/x", 403),
    Case("http://DENIED.example.com:8080/x", 403),
    Case("http://away.example.com/x", 403),
    # A listener without filters within one that has some.
    Case("http://bare.example.com/x", backend="one", seen={"x-order": None}),
    Case("https://plain.secure.example.com/x", backend="one", seen={"x-tenant": None}),
    # On every request, whether or not a route takes it.
    Case("http://tenants.example.com/x", 403),
    Case("http://nobody.example.com/x", 403),
    Case("http://nobody.example.com/x", 404, headers={"x-word": "open"}),
    Case("http://y.wild.example.com/x", 403),
    Case("http://Y.wild.example.com:1/x", 403),
    Case("http://x.secure.example.com.:x/", 403),
    Case("https://x.secure.example.com/x", 403),
    Case("https://y.secure.example.com/x", 403),
    # Routes are matched on the changed request, and the host is what it was.
    Case(
        "http://tenants.example.com/x", backend="two", headers={"x-word": "open"},
        host="tenants.example.com",
    ),
    Case("http://tenants.example.com/other", backend="two", headers={"x-word": "open"}),
    Case("http://X.wild.example.com:80/other", backend="two", headers={"x-word": "open"}),
    Case("http://calls.example.com/x", 403),
    Case(
        "http://calls.example.com/x",
        headers={"x-word": "open", "x-secret": "s"},
        backend="two",
        host="calls.example.com",
    ),
    Case(
        "https://x.secure.example.com/x", backend="two", headers={"x-word": "open"},
        host="x.secure.example.com",
    ),
    # Hosts of other APIs are within the listener, too.
    Case("http://proxy.wild.example.com/x", 403),
    Case("http://proxy.wild.example.com/x", headers={"x-word": "open"}, seen={"x-by": "proxy"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_request_passes_the_filters_of_its_listener(filtered: Filtered, case: Case) -> None:
    check(filtered.running, case)


@pytest.mark.parametrize(("host", "count"), [("denied", 8), ("away", 1)])
def test_after_one_that_denies_nobody_is_asked(filtered: Filtered, host: str, count: int) -> None:
    before = len(filtered.deciding.asked)
    assert filtered.running.ask(f"http://{host}.example.com/y").status == 403
    numbers = [it.split("/")[2] for it in filtered.deciding.asked[before:]]
    wanted = [*map(str, range(7)), "y"] if host == "denied" else ["0"]
    assert numbers == wanted[:count]


def test_a_filter_that_comes_holds_at_once_and_one_that_goes_is_gone(filtered: Filtered) -> None:
    text = (filtered.running.manifests / "filters.yaml").read_text()
    host, url = "hostname: bare.example.com, port: 80, protocol: HTTP", "http://bare.example.com/x"
    filtered.running.write(
        "filters.yaml", text.replace(host, f"{host}, filters: {{requests: [{_WORD}]}}")
    )
    filtered.running.until_status(url, 403)
    filtered.running.write("filters.yaml", text)
    filtered.running.until_status(url, 200)


def test_explain_tells_of_the_filters(filtered: Filtered) -> None:
    asked = ("explain", "http://many.example.com/x", "--run", "--state-dir", filtered.running.state)
    told = CliRunner().invoke(main, [*map(str, asked)]).output
    assert [f"listener filter {it}:" in told for it in (0, 15, 16)] == [True, True, False], told
