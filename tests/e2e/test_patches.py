"""EnvoyPatchPolicies with `contour run`: a real Envoy answers what they change; what it refuses is
told and undone while requests go on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dag.gateway.manifests import gateway, gateway_class
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway:
    controllerName: projectcontour.io/gateway-controller
    envoyPatchPolicies: {namespaces: [default]}
"""
_GIVEN = gateway_class() + gateway("web")
_ROUTE = """---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME}
spec:
  parentRefs: [{name: web}]
  hostnames: [NAME.example.com]
  rules: [{backendRefs: [{name: BACKEND, port: 80}]}]
"""
_LISTENER = "type.googleapis.com/envoy.config.listener.v3.Listener"
_ROUTES = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
_CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
_HTTP = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
_MANAGER = "/default_filter_chain/filters/0/typed_config"


def operation(type_: str, name: str, **operation: object) -> dict[str, object]:
    return {"type": type_, "name": name, "operation": {"op": "add", **operation}}


def header(name: str, value: str) -> dict[str, object]:
    return {"header": {"key": name, "value": value}}


def policy(name: str, *patches: dict[str, object], priority: int = 0, namespace: str = "") -> str:
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "web"}
    if namespace:
        target = {"group": "gateway.networking.k8s.io", "kind": "GatewayClass", "name": "contour"}
    spec = {"type": "JSONPatch", "targetRef": target, "priority": priority, "jsonPatches": patches}
    written = {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyPatchPolicy",
        "metadata": {"name": name, "namespace": namespace or "default"},
        "spec": spec,
    }
    return json.dumps(written).replace("$", "$$")


@pytest.fixture(scope="module", name="instance")
def _instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    routes = "".join(
        _ROUTE.replace("NAME", name).replace("BACKEND", backend)
        for name, backend in (("one", "one"), ("other", "two"))
    )
    files = {
        "configuration.yaml": _CONFIGURATION,
        "services.yaml": manifest("services.yaml"),
        "given.yaml": _GIVEN + routes,
    }
    with standalone(tmp_path_factory.mktemp("patches"), files) as found:
        found.until("http://one.example.com/", "one")
        yield found


def _subject(name: str, namespace: str = "default") -> str:
    return f"EnvoyPatchPolicy {namespace}/{name}"


def _headers(instance: Standalone, host: str = "one") -> dict[str, str]:
    return dict(instance.ask(f"http://{host}.example.com/").headers)


def _until_header(instance: Standalone, name: str, value: str | None, host: str = "one") -> None:
    wait(lambda: _headers(instance, host).get(name) == value, f"{name}: {value} of {host}")


def _until_fine(instance: Standalone, name: str) -> None:
    found = _subject(name)
    wait(lambda: found in instance.status() and not instance.reasons(found), f"{found} is fine")


def _troubles(instance: Standalone) -> dict[str, object]:
    """Why objects are not fine, by object."""
    return {it: row["reasons"] for it, row in instance.status().items() if row.get("reasons")}


def test_a_listener_has_the_filters_of_a_patch(instance: Standalone) -> None:
    mutation = {
        "name": "told",
        "typed_config": {
            "@type": "type.googleapis.com/"
            "envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
            "mutations": {"response_mutations": [{"append": header("x-listener", "patched")}]},
        },
    }
    path = f"{_MANAGER}/http_filters/0"
    made = operation(_LISTENER, "default/web/http", path=path, value=mutation)
    instance.write("listener.yaml", policy("listener", made))
    for host in ("one", "other"):
        _until_header(instance, "x-listener", "patched", host)
    _until_fine(instance, "listener")
    instance.remove("listener.yaml")
    _until_header(instance, "x-listener", None)


def test_the_example_of_envoy_gateway_is_served_as_it_is_written(instance: Standalone) -> None:
    mappers = [
        {
            "filter": {
                "status_code_filter": {
                    "comparison": {
                        "op": "EQ",
                        "value": {"default_value": 404, "runtime_key": "key_b"},
                    }
                }
            },
            "status_code": 406,
            "body": {"inline_string": "could not find what you are looking for"},
        }
    ]
    value = {"mappers": mappers}
    path = f"{_MANAGER}/local_reply_config"
    made = operation(_LISTENER, "default/web/http", path=path, value=value)
    instance.write("reply.yaml", policy("reply", made))
    instance.until_status("http://nobody.example.com/", 406)
    instance.remove("reply.yaml")
    instance.until_status("http://nobody.example.com/", 404)


def test_a_virtual_host_is_patched_by_its_host(instance: Standalone) -> None:
    value = [header("x-host", "patched")]
    name = "default/web/http/one.example.com"
    made = operation(_ROUTES, name, path="/response_headers_to_add", value=value)
    instance.write("host.yaml", policy("host", made))
    _until_header(instance, "x-host", "patched")
    _until_fine(instance, "host")
    assert "x-host" not in _headers(instance, "other")
    instance.remove("host.yaml")
    _until_header(instance, "x-host", None)


def test_a_cluster_is_patched_by_the_name_of_its_rule(instance: Standalone) -> None:
    value = {
        "@type": f"type.googleapis.com/{_HTTP}",
        "explicit_http_config": {"http_protocol_options": {}},
        "upstream_http_protocol_options": {},
        "http_filters": [
            {
                "name": "told",
                "typed_config": {
                    "@type": "type.googleapis.com/"
                    "envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
                    "mutations": {
                        "response_mutations": [{"append": header("x-cluster", "patched")}]
                    },
                },
            },
            {
                "name": "envoy.filters.http.upstream_codec",
                "typed_config": {
                    "@type": "type.googleapis.com/"
                    "envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec"
                },
            },
        ],
    }
    del value["upstream_http_protocol_options"]
    path, name = "/typed_extension_protocol_options", "httproute/default/one/rule/0"
    made = operation(_CLUSTER, name, path=path, value={_HTTP: value})
    instance.write("cluster.yaml", policy("cluster", made))
    _until_header(instance, "x-cluster", "patched")
    _until_fine(instance, "cluster")
    assert "x-cluster" not in _headers(instance, "other")
    instance.remove("cluster.yaml")
    _until_header(instance, "x-cluster", None)


def test_a_patch_brings_a_cluster_of_its_own(instance: Standalone) -> None:
    port = instance.ports["two"]
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": address}}]}]
    value = {
        "name": "elsewhere",
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": "elsewhere", "endpoints": endpoints},
    }
    host = operation(
        _ROUTES,
        "ingress_http/one.example.com",
        op="replace",
        jsonPath="$.routes[*].route",
        path="/cluster",
        value="elsewhere",
    )
    cluster = operation(_CLUSTER, "elsewhere", path="", value=value)
    instance.write("own.yaml", policy("own", cluster, host))
    instance.until("http://one.example.com/", "two")
    instance.remove("own.yaml")
    instance.until("http://one.example.com/", "one")


_PLACES = {
    "listener": (_LISTENER, "default/web/http", f"{_MANAGER}/stream_idle_timeout", "-1s", "5s"),
    "host": (
        _ROUTES, "ingress_http/one.example.com", "/routes/0/match", {"safe_regex": {"regex": "("}},
        {"prefix": "/"},
    ),
    "cluster": (
        _CLUSTER, "default/one/80", "/lb_policy", "CLUSTER_PROVIDED", "LEAST_REQUEST",
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", _PLACES)
def test_what_envoy_refuses_is_told_and_undone_under_load(instance: Standalone, place: str) -> None:
    type_, name, path, bad, good = _PLACES[place]

    def written(value: object) -> str:
        return policy("bad", operation(type_, name, path=path, value=value))

    told = _subject("bad")
    with instance.load("http://one.example.com/").in_background() as answers:
        instance.write("bad.yaml", written(bad))
        instance.until_told(told, "Envoy refuses what the patch makes, so it is undone")
        # What others change is served, whatever is refused there.
        route = _ROUTE.replace("NAME", "one").replace("BACKEND", "two")
        instance.write("moved.yaml", route.replace("name: one}", "name: moved}"))
        instance.remove("moved.yaml")
        instance.write("bad.yaml", written(good))
        _until_fine(instance, "bad")
    assert answers.failures == {}
    assert set(answers.answers) <= {"one", "two"}
    wait(lambda: not _troubles(instance), "every object is fine")
    instance.remove("bad.yaml")


def test_a_route_is_edited_while_the_patch_of_its_host_is_refused(instance: Standalone) -> None:
    type_, name, path, bad, _ = _PLACES["host"]
    instance.write("bad.yaml", policy("bad", operation(type_, name, path=path, value=bad)))
    instance.until_told(_subject("bad"), "Envoy refuses")
    given = (instance.manifests / "given.yaml").read_text()
    instance.write("given.yaml", given.replace("{name: one, port: 80}", "{name: two, port: 80}"))
    instance.until("http://one.example.com/", "two")
    instance.write("given.yaml", given)
    instance.until("http://one.example.com/", "one")
    assert "Envoy refuses" in instance.reasons(_subject("bad"))
    instance.remove("bad.yaml")


def test_hosts_have_no_numbers_and_the_remedy_is_told(instance: Standalone) -> None:
    path = "/virtual_hosts/0/response_headers_to_add"
    made = operation(_ROUTES, "default/web/http", path=path, value=[header("x", "y")])
    instance.write("number.yaml", policy("number", made))
    remedy = "such as default/web/http/www.example.com, and begin the path inside it"
    instance.until_told(_subject("number"), remedy)
    instance.remove("number.yaml")


def test_a_namespace_that_is_not_allowed_changes_nothing(instance: Standalone) -> None:
    value = [header("x-guest", "patched")]
    name = "ingress_http/one.example.com"
    made = operation(_ROUTES, name, path="/response_headers_to_add", value=value)
    instance.write("guest.yaml", policy("guest", made, namespace="guest"))
    instance.until_told(
        _subject("guest", "guest"), "does not allow policies of the namespace guest"
    )
    assert "x-guest" not in _headers(instance)
    instance.remove("guest.yaml")


def test_policies_are_applied_by_priority(instance: Standalone) -> None:
    name, path = "ingress_http/one.example.com", "/response_headers_to_add"
    first = operation(_ROUTES, name, path=path, value=[header("x-order", "first")])
    second = operation(_ROUTES, name, path=f"{path}/0/header/value", op="replace", value="second")
    instance.write("a.yaml", policy("a", second, priority=1))
    instance.until_told(_subject("a"), "jsonPatches[0].operation: replace")
    instance.write("b.yaml", policy("b", first, priority=-1))
    _until_header(instance, "x-order", "second")
    _until_fine(instance, "a")
    instance.remove("a.yaml")
    _until_header(instance, "x-order", "first")
    instance.remove("b.yaml")
    _until_header(instance, "x-order", None)


def test_nothing_is_patched_unless_the_configuration_says_so(tmp_path: Path) -> None:
    silent = _CONFIGURATION.replace("    envoyPatchPolicies: {namespaces: [default]}\n", "")
    value = [header("x-host", "patched")]
    name = "ingress_http/one.example.com"
    made = operation(_ROUTES, name, path="/response_headers_to_add", value=value)
    files = {
        "configuration.yaml": silent,
        "services.yaml": manifest("services.yaml"),
        "given.yaml": _GIVEN + _ROUTE.replace("NAME", "one").replace("BACKEND", "one"),
        "policy.yaml": policy("host", made),
    }
    with standalone(tmp_path, files) as instance:
        instance.until("http://one.example.com/", "one")
        instance.until_told(_subject("host"), "does not allow EnvoyPatchPolicies")
        assert "x-host" not in _headers(instance)
