"""RateLimitFilters in `contour run`: requests through a real Envoy and the embedded service."""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import grpc
import pytest

from contour.cli import manifestinput
from crds.meta import NamespacedName
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.e2e import peers
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import processes, tokens
from tests.testbed.patience import PATIENCE
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_HOST = "limited.example.com"
NONE: Mapping[str, str] = {}


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    files = {name: manifest(name) for name in ("services.yaml", "limits.yaml")}
    with standalone(tmp_path_factory.mktemp("limited"), files) as running:
        subject = "RateLimitFilter default/two"
        wait(lambda: running.status()[subject]["state"] == "ok", f"{subject} programmed")
        yield running


def _ask(
    it: Standalone, path: str, times: int, host: str = _HOST, headers: Mapping[str, str] = NONE
) -> list[int]:
    return [it.ask(f"http://{host}{path}", headers=headers).status for _ in range(times)]


def test_matches_of_a_rule_share_a_count_and_nothing_else_does(limited: Standalone) -> None:
    assert _ask(limited, "/all", 1) + _ask(limited, "/every", 2) == [200, 200, 429]
    assert _ask(limited, "/same-filter", 3) == [200, 200, 429]
    assert _ask(limited, "/all", 3, host="other.example.com") == [200, 200, 429]
    assert _ask(limited, "/open", 5) == [200] * 5


def test_filters_of_a_rule_count_independently(limited: Standalone) -> None:
    assert _ask(limited, "/both", 2, headers={"x-user": "a"}) == [200, 429]
    assert _ask(limited, "/both", 1, headers={"x-user": "b"}) == [200]
    assert _ask(limited, "/both", 1) == [429]  # three have been counted, and 429s count too


def test_values_that_are_not_utf_8_are_counted(limited: Standalone) -> None:
    # `http.client` sends the bytes of Latin-1. The rule has another limit, of three for everybody.
    assert _ask(limited, "/bytes", 2, headers={"x-user": "\xff"}) == [200, 429]
    assert _ask(limited, "/bytes", 1, headers={"x-user": "\xfe"}) == [200]
    assert _ask(limited, "/bytes", 1, headers={"x-user": "\xfd"}) == [429]


def test_all_conditions_of_a_rule_have_to_hold(limited: Standalone) -> None:
    found = {"x-exact": "a", "x-regex": "bb"}
    assert _ask(limited, "/conditions", 1, headers=found) == [429]
    for changed in ({"x-exact": "b"}, {"x-regex": "bbc"}):
        assert _ask(limited, "/conditions", 1, headers=found | changed) == [200]
    assert _ask(limited, "/conditions", 1, headers={"x-elsewhere": "a"}) == [200]


def test_only_clients_within_a_range_are_counted_and_asked_about(limited: Standalone) -> None:
    assert _ask(limited, "/ranges", 3) == [200, 200, 429]
    asked = _asked(limited)
    assert _ask(limited, "/outside", 3) == [200] * 3
    assert _asked(limited) == asked
    _ask(limited, "/ranges", 1)
    assert _asked(limited) == asked + 1


def _asked(it: Standalone) -> int:
    """How often Envoy has asked the service."""
    return it.statistic(r"cluster\.local_ratelimit_sock\.upstream_rq_total")


GUARDED = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: AuthenticationFilter
metadata: {name: guarded}
spec: {type: JWT, jwtProviders: [{name: one, localJWKS: {inline: '$jwks'}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: guarded}
spec:
  parentRefs: [{name: web}]
  hostnames: [guarded.example.com]
  rules:
  - filters:
    - type: ExtensionRef
      extensionRef: {group: gateway.envoyproxy.io, kind: RateLimitFilter, name: two}
    - type: ExtensionRef
      extensionRef: {group: gateway.envoyproxy.io, kind: AuthenticationFilter, name: guarded}
    backendRefs: [{name: one, port: 80}]
"""


def test_a_request_without_a_token_spends_nothing(limited: Standalone) -> None:
    limited.write("guarded.yaml", GUARDED.replace("$jwks", tokens.jwks()))
    host, token = "guarded.example.com", {"authorization": f"Bearer {tokens.token()}"}
    limited.until_status(f"http://{host}/", 401)
    assert _ask(limited, "/", 3, host) == [401] * 3
    assert _ask(limited, "/", 3, host, token) == [200, 200, 429]


CALLED = """
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: called}
spec:
  parentRefs: [{name: web}]
  hostnames: [called.example.com]
  rules:
  - matches: [{method: {service: a.Echo}}]
    filters:
    - type: ExtensionRef
      extensionRef: {group: gateway.envoyproxy.io, kind: RateLimitFilter, name: two}
    - type: ExtensionRef
      extensionRef: {group: gateway.envoyproxy.io, kind: AuthenticationFilter, name: called}
    backendRefs: [{name: calls, port: 80}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: AuthenticationFilter
metadata: {name: called}
spec: {type: JWT, jwtProviders: [{name: one, localJWKS: {inline: '$jwks'}}]}
"""


def test_calls_of_a_grpc_route_need_a_token_and_are_counted(limited: Standalone) -> None:
    options = [("grpc.default_authority", "called.example.com")]
    target = f"127.0.0.1:{limited.ports['http']}"
    with peers.calls("calls") as port, grpc.insecure_channel(target, options=options) as channel:

        def call(*metadata: tuple[str, str]) -> grpc.StatusCode:
            try:
                channel.unary_unary("/a.Echo/Say")(b"", timeout=PATIENCE, metadata=metadata)
            except grpc.RpcError as error:
                return error.code()
            return grpc.StatusCode.OK

        limited.write("calls.yaml", peers.service("calls", port))
        limited.write("called.yaml", CALLED.replace("$jwks", tokens.jwks()))
        wait(lambda: call() is grpc.StatusCode.UNAUTHENTICATED, "the guard")
        found = [call(("authorization", f"Bearer {tokens.token()}")) for _ in range(3)]
    assert found == [grpc.StatusCode.OK, grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE]


@pytest.mark.parametrize("path", ["/missing", "/redirect"])
def test_what_cannot_be_counted_is_answered_with_an_error(limited: Standalone, path: str) -> None:
    assert _ask(limited, path, 1) == [500]
    assert "RateLimitFilter default/missing not found" in limited.reasons(
        "HTTPRoute default/limited"
    )


def test_no_request_failed_to_be_counted(limited: Standalone) -> None:
    assert _ask(limited, "/conditions", 1, headers={"x-exact": "a", "x-regex": "b"}) == [429]
    answered = limited.statistic(r"cluster\.local_ratelimit_sock\.upstream_rq_2xx")
    assert answered == _asked(limited) > 0
    assert _errors(limited) == 0


def _errors(it: Standalone) -> int:
    """How often Envoy could not have a request counted, of all clusters; a counter is there once
    it has counted."""
    return sum(it.statistics(r"^cluster\..*\.ratelimit\.error$").values())


def test_edits_of_others_begin_no_count_anew(limited: Standalone) -> None:
    text = manifest("limits.yaml")
    paths = ("/all", "/same-filter")
    for it in paths:
        _ask(limited, it, 3)
    limited.write("limits.yaml", text.replace("requests: 3, unit", "requests: 30, unit"))
    wait(lambda: _ask(limited, "/both", 1) == [200], "the edit")
    assert [_ask(limited, it, 1) for it in paths] == [[429], [429]]
    limited.write("limits.yaml", text.replace("requests: 2, unit", "requests: 50, unit"))
    wait(lambda: _ask(limited, "/all", 1) == [200], "a larger limit")


def _counter(it: Standalone) -> int:
    """The process of the rate limit service."""
    (found,) = (
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if f"-m contour.ratelimits unix:{it.state}" in _words(path)
    )
    return found


def _words(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_what_cannot_be_counted_passes_unless_it_is_to_be_closed(limited: Standalone) -> None:
    pid, before = _counter(limited), _errors(limited)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert _ask(limited, "/same-filter", 1) == [200]
        wait(lambda: _errors(limited) > before, "the error counted")
        limited.write(
            "configuration.yaml",
            "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
            "metadata: {name: contour}\nspec:\n"
            "  gateway: {controllerName: projectcontour.io/gateway-controller}\n"
            "  rateLimitFilters: {failClosed: true}\n",
        )
        wait(lambda: _ask(limited, "/same-filter", 1) == [500], "the settings")
        assert _ask(limited, "/open", 1) == [200]
    finally:
        os.kill(pid, signal.SIGCONT)
    wait(lambda: _ask(limited, "/same-filter", 1)[0] in (200, 429), "the service")


def test_the_example_is_programmed() -> None:
    example = str(processes.ROOT / "manifests" / "examples" / "rate-limit.yaml")
    found = manifestinput.read((example,), lenient=False, translates=False)
    assert found.complaints == ()
    key = NamespacedName("default", "shop")
    told = found.controller.engine.answer(STATUSES["RateLimitFilter"], key)
    assert isinstance(told, PolicyStatus)
    assert [it.status for it in told.ancestors[0].conditions] == ["True", "True"]
