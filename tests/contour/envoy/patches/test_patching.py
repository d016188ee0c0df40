"""What patches make of parts: of which, at which cost, with what stands in for them."""

from collections.abc import Iterable

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2

from contour import jsonpatching
from contour.controller import Controller
from contour.inspection.explaining import Explainer
from contour.xds import resources
from crds.envoygateway import patchpolicy as crd
from crds.meta import ObjectRef
from crds.raw import Raw
from dag.evaluation.requests import Request
from dag.patches.policies import PATCHES
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.contour.test_controller import Published, events
from tests.dag.gateway.manifests import gateway, gateway_class, route, service, to
from tests.dag.patches.test_policies import configuration
from tests.dag.world import key

HOSTS = 12
GIVEN = (
    configuration()
    + gateway_class()
    + gateway("gw")
    + service("s0")
    + service("s1")
    + "".join(
        route(f"r{it}", to(f"s{it % 2}"), hosts=(f"h{it}.example.com",)) for it in range(HOSTS)
    )
)
PLACES = {
    "host": (crd.ROUTES, "ingress_http/h1.example.com", "/include_request_attempt_count", "true"),
    "cluster": (crd.CLUSTER, "default/s1/80", "/alt_stat_name", "other"),
    "listener": (
        crd.LISTENER,
        "default/gw/http",
        "/default_filter_chain/filters/0/typed_config/server_name",
        "other",
    ),
}
TYPES = {"host": resources.ROUTE, "cluster": resources.CLUSTER, "listener": resources.LISTENER}


def policy(name: str, *patches: str, priority: int = 0) -> str:
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: EnvoyPatchPolicy, "
        f"metadata: {{name: {name}}}, spec: {{type: JSONPatch, priority: {priority}, targetRef: "
        "{group: gateway.networking.k8s.io, kind: Gateway, name: gw}, "
        f"jsonPatches: [{', '.join(patches)}]}}}}\n"
    )


def patch(type_: str, name: str, operation: str) -> str:
    return f"{{type: {type_}, name: '{name}', operation: {{{operation}}}}}"


def adding(place: str, value: str = "") -> str:
    type_, name, path, usual = PLACES[place]
    return patch(type_, name, f"op: add, path: '{path}', value: {value or usual}")


UNSAID = "{x: {'@type': type.googleapis.com/google.protobuf.StringValue}}"


def metadata(depth: int, innermost: str) -> str:
    """Adds metadata to a host that are nested so deep."""
    value = f"{{filter_metadata: {{x: {'{a: ' * depth}{innermost}{'}' * depth}}}}}"
    return patch(*PLACES["host"][:2], f"op: add, path: /metadata, value: {value}")


def copying(count: int) -> str:
    """Copies metadata of 30 levels, which were doubled so often, into the innermost of them."""
    whole, below = "/metadata/filter_metadata/x", "/a" * 31 * 2**count
    return patch(*PLACES["host"][:2], f"op: copy, from: {whole}, path: {whole}{below}")


def writing(length: int) -> str:
    """Writes so many characters."""
    return patch(*PLACES["host"][:2], f"op: add, path: /a, value: {'x' * length}")


ADDING_NOTHING = patch(crd.CLUSTER, "new", "op: add, path: '', value: {}")
MISNAMED = [
    [ADDING_NOTHING.replace("{}", "{name: old, type: STATIC}")],
    [
        ADDING_NOTHING.replace("{}", "{name: new, type: STATIC}"),
        patch(crd.CLUSTER, "new", "op: remove, path: /name"),
    ],
]

RBAC = "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute"
PRINCIPAL = "/typed_per_filter_config/x/rbac/rules/policies/p/principals/0"


def principal(depth: int) -> str:
    """One inside so many lists. Each of them is three levels of JSON and two of Protobuf."""
    return "{and_ids: {ids: [" * depth + "{any: true}" + "]}}" * depth


def served(text: str = GIVEN) -> tuple[Controller, Published]:
    published = Published()
    controller = Controller(published)
    controller.take(events(text))
    return controller, published


def take(controller: Controller, text: str, *, gone: bool = False) -> None:
    controller.take(events(text, gone=gone))
    assert not controller.engine.failures, controller.engine.failures


def told(controller: Controller, name: str = "p") -> str:
    found = controller.engine.answer(STATUSES["EnvoyPatchPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    _, programmed = found.ancestors[0].conditions
    return f"{programmed.status}/{programmed.reason}: {programmed.message}"


def changed(published: Published) -> list[tuple[str, str]]:
    return [(it.name.type_url, it.part) for it in published.last]


def one(published: Published, type_url: str) -> resources.Part:
    (found,) = [it.value for it in published.last if it.name.type_url == type_url]
    assert found is not None
    return found


def without(published: Published) -> dict[tuple[resources.Name, str], bytes]:
    return {at: it.body for at, it in published.parts.items() if it is not None}


@pytest.mark.parametrize("place", PLACES)
def test_a_patch_changes_one_part_and_its_deletion_restores_the_bytes(place: str) -> None:
    controller, published = served()
    before = without(published)
    take(controller, policy("p", adding(place)))
    assert [type_url for type_url, _ in changed(published)] == [TYPES[place]]
    part = one(published, TYPES[place])
    assert part.origins == (ObjectRef("EnvoyPatchPolicy", "default", "p"),)
    ((name, _),) = [(it.name, it.part) for it in published.last]
    assert part.without is not None
    assert part.without.body == before[name, published.last[0].part]
    assert told(controller).startswith("True/Programmed")
    take(controller, policy("p", adding(place)), gone=True)
    assert without(published) == before


@pytest.mark.parametrize("place", PLACES)
def test_a_world_that_is_patched_from_the_start_has_the_same_bytes(place: str) -> None:
    controller, published = served()
    take(controller, policy("p", adding(place)))
    assert without(served(GIVEN + policy("p", adding(place)))[1]) == without(published)


def test_one_edit_of_a_patch_of_one_host_costs_that_host() -> None:
    controller, published = served()
    take(controller, policy("p", adding("host")))
    costs = []
    for value in ("false", "true"):
        ran = controller.engine.work.runs
        take(controller, policy("p", adding("host", value)))
        costs.append(controller.engine.work.runs - ran)
        assert changed(published) == [(resources.ROUTE, "h1.example.com")]
    assert max(costs) <= _FEW, costs


_FEW = 8
"""The policy, its host before and after, its outcome and its status: none of the others."""


def test_the_first_patch_of_a_fleet_wakes_no_other_host() -> None:
    controller, _ = served()
    ran = controller.engine.work.runs
    take(controller, policy("p", adding("host")))
    assert controller.engine.work.runs - ran <= _FEW + 2


@pytest.mark.parametrize("place", PLACES)
def test_patches_come_and_go_with_the_permission_of_the_configuration(place: str) -> None:
    controller, published = served(GIVEN.replace(configuration(), configuration("")))
    before = without(published)
    take(controller, policy("p", adding(place)))
    assert without(published) == before
    assert not controller.engine._buckets[PATCHES].seen  # nothing is remembered for each place
    take(controller, configuration())
    assert [type_url for type_url, _ in changed(published)] == [TYPES[place]]
    take(controller, configuration(""))
    assert without(published) == before


def test_policies_are_layers_of_which_each_stands_in_for_the_next() -> None:
    controller, published = served()
    plain = without(published)
    take(controller, policy("late", adding("host"), priority=5))
    append = "op: add, path: /request_headers_to_remove/-, value: x-gone"
    more = patch(crd.ROUTES, "ingress_http/h1.example.com", append)
    take(controller, policy("early", more, priority=-5))
    top = one(published, resources.ROUTE)
    middle = top.without
    assert middle is not None
    assert middle.without is not None
    assert middle.without.body in plain.values()
    assert [it[2] for it in (*top.origins, *middle.origins)] == ["late", "early"]
    host = route_pb2.RouteConfiguration.FromString(middle.body).virtual_hosts[0]
    assert "x-gone" in host.request_headers_to_remove


@pytest.mark.parametrize(
    ("made", "reason", "text"),
    [
        (
            [adding("host"), patch(*PLACES["host"][:2], "op: remove, path: /nothing")],
            "Invalid",
            "spec.jsonPatches[1].operation: remove /nothing: can't remove",
        ),
        (
            [patch(*PLACES["host"][:2], "op: add, path: /nothing, value: 1")],
            "Invalid",
            "spec.jsonPatches[0].operation: leaves no valid resource: nothing is no field",
        ),
        (
            [patch(*PLACES["host"][:2], "op: replace, path: /domains/0, value: other.com")],
            "Invalid",
            "changes the name or the domains of the virtual host",
        ),
        (
            [patch(*PLACES["host"][:2], "op: add, path: /retry_policy")],
            "Invalid",
            "value must be set for add, replace and test",
        ),
        (
            [patch(*PLACES["host"][:2], "op: test, path: /name, value: other")],
            "Invalid",
            "test /name:",
        ),
        (
            [patch(*PLACES["host"][:2], "op: remove, jsonPath: '$.routes[?@.name == 1]'")],
            "Invalid",
            "spec.jsonPatches[0].operation.jsonPath: $.routes[?@.name == 1] finds nothing",
        ),
        (
            [patch(*PLACES["host"][:2], "op: remove, jsonPath: '$..['")],
            "Invalid",
            "spec.jsonPatches[0].operation.jsonPath: ",
        ),
        (
            [patch(*PLACES["host"][:2], "op: remove, jsonPath: ''")],
            "Invalid",
            "spec.jsonPatches[0].operation.jsonPath: expected a shorthand selector",
        ),
        (
            [patch(*PLACES["host"][:2], "op: remove, jsonPath: '$.routes[?@.name == 1e400]'")],
            "Invalid",
            "spec.jsonPatches[0].operation.jsonPath: has a number that is too large",
        ),
        (
            [patch(*PLACES["host"][:2], "op: remove")],
            "Invalid",
            "needs a path or a jsonPath",
        ),
        (
            [
                patch(
                    *PLACES["host"][:2], f"op: add, path: /typed_per_filter_config, value: {UNSAID}"
                )
            ],
            "Invalid",
            "leaves no valid resource: typed_per_filter_config[x].value is required",
        ),
        (
            [metadata(33, "1")],
            "Invalid",
            "leaves no valid resource: metadata is nested deeper than the 100 levels",
        ),
        (
            [metadata(32, "[1]")],  # by itself it could be read, and not in its table
            "Invalid",
            "makes a virtual host that is nested deeper than the 100 levels",
        ),
        (
            [metadata(30, "{}"), copying(0), copying(1)],
            "Invalid",
            "leaves no valid resource: Message too deep",
        ),
        (
            [metadata(30, "{}"), *map(copying, range(5))],
            "Invalid",
            "makes it nested too deeply",
        ),
        (
            [
                patch(*PLACES["cluster"][:2], "op: add, path: /connectTimeout, value: 7s"),
            ],
            "Invalid",
            "connectTimeout is left out, because it is connect_timeout, which is there, too",
        ),
        (
            [writing(1 << 20), writing(1 << 20)],
            "Invalid",
            "operation: add /a: more than 2,097,152 characters are written in all",
        ),
        (
            [patch(crd.LISTENER, "ingress_http", "op: remove, path: /filter_chains/0")],
            "Invalid",
            "leaves 0 filter chains",
        ),
        (
            [patch(crd.LISTENER, "ingress_http", "op: replace, path: /name, value: x")],
            "Invalid",
            "changes name",
        ),
        (
            [patch(*PLACES["cluster"][:2], "op: replace, path: /name, value: x")],
            "Invalid",
            "changes the name of the cluster",
        ),
        (
            [
                patch(
                    *PLACES["cluster"][:2],
                    "op: replace, path: /eds_cluster_config/service_name, value: x",
                )
            ],
            "Invalid",
            "asks for endpoints by EDS that nobody has",
        ),
        (
            [patch(crd.CLUSTER, "new", "op: add, path: '', value: {name: old, type: STATIC}")],
            "Invalid",
            "leaves no cluster with the name 'new'",
        ),
        (
            [ADDING_NOTHING],
            "Invalid",
            "spec.jsonPatches[0].operation: leaves no cluster with the name 'new'",
        ),
        (
            [patch(crd.ROUTES, "ingress_http/nobody.example.com", "op: remove, path: /routes")],
            "ResourceNotFound",
            "spec.jsonPatches[0].name: the listener 'ingress_http' has no virtual host",
        ),
        (
            [patch(crd.CLUSTER, "default/nobody/80", "op: remove, path: /x")],
            "ResourceNotFound",
            "spec.jsonPatches[0].name: there is no cluster 'default/nobody/80'",
        ),
    ],
)
def test_a_patch_that_cannot_be_applied_is_told_and_changes_nothing(
    made: Iterable[str], reason: str, text: str
) -> None:
    controller, published = served()
    before = without(published)
    take(controller, policy("p", *made))
    assert told(controller).startswith(f"False/{reason}: ")
    assert text in told(controller)
    assert without(published) == before


def test_what_protobuf_reads_is_patched_however_deep_its_json_is() -> None:
    controller, _ = served()
    rules = f"{{policies: {{p: {{permissions: [{{any: true}}], principals: [{principal(23)}]}}}}}}"
    config = f"{{x: {{'@type': {RBAC}, rbac: {{rules: {rules}}}}}}}"
    innermost = PRINCIPAL + "/and_ids/ids/0" * 23
    made = [
        f"op: add, path: /typed_per_filter_config, value: {config}",
        f"op: replace, path: {innermost}, value: {principal(23)}",
        "op: test, jsonPath: '..ids[?@.any]', path: /any, value: true",
    ]
    take(controller, policy("deep", *(patch(*PLACES["host"][:2], it) for it in made)))
    take(controller, policy("p", adding("host")))
    assert told(controller, "deep").startswith("True/Programmed")
    assert told(controller).startswith("True/Programmed")


def test_whatever_a_policy_raises_is_told_and_the_others_stay_in_force(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = jsonpatching.applied

    def planted(document: object, operation: Raw, room: jsonpatching.Room) -> object:
        if operation["op"] == "test":
            raise ZeroDivisionError("planted")
        return real(document, operation, room)

    monkeypatch.setattr(jsonpatching, "applied", planted)
    bad = policy("bad", patch(*PLACES["host"][:2], "op: test, path: /name, value: x"))
    controller, published = served(GIVEN + bad + policy("p", adding("host")))
    assert not controller.engine.failures
    said = "spec.jsonPatches[0].operation: cannot be applied: ZeroDivisionError: planted"
    assert told(controller, "bad") == f"False/Invalid: {said}"
    assert told(controller).startswith("True/Programmed")
    take(controller, policy("p", adding("host")), gone=True)
    assert changed(published) == [(resources.ROUTE, "h1.example.com")]


def test_a_patch_follows_what_it_changes() -> None:
    controller, published = served()
    value = "op: add, path: /routes/0/route/timeout, value: 7s"
    take(controller, policy("p", patch(crd.ROUTES, "ingress_http/h1.example.com", value)))
    take(controller, route("r1", to("s0"), hosts=("h1.example.com",)))
    body = next(it.value for it in published.last if it.name.type_url == resources.ROUTE)
    assert body is not None
    found = route_pb2.RouteConfiguration.FromString(body.body).virtual_hosts[0].routes[0]
    assert found.route.timeout.seconds == 7
    assert found.route.cluster.startswith("default/s0/80/")
    take(controller, route("r1", to("s0"), hosts=("h1.example.com",)), gone=True)
    assert told(controller).startswith("False/ResourceNotFound")


def test_a_jsonpath_finds_several_places() -> None:
    controller, published = served()
    value = "op: add, jsonPath: '$.routes[*].route', path: /timeout, value: 7s"
    rules = [to("s0", f"matches: [{{path: {{value: /{it}}}}}]") for it in "abc"]
    take(controller, route("r1", *rules, hosts=("h1.example.com",)))
    take(controller, policy("p", patch(crd.ROUTES, "ingress_http/h1.example.com", value)))
    part = one(published, resources.ROUTE)
    host = route_pb2.RouteConfiguration.FromString(part.body).virtual_hosts[0]
    assert [it.route.timeout.seconds for it in host.routes if it.HasField("route")] == [7, 7, 7]


def test_a_cluster_is_added_and_goes_with_its_policy() -> None:
    controller, published = served()
    whole = "op: add, path: '', value: {name: new, type: STATIC, connect_timeout: 1s}"
    more = "op: add, path: /alt_stat_name, value: other"
    made = policy("p", patch(crd.CLUSTER, "new", whole), patch(crd.CLUSTER, "new", more))
    take(controller, made)
    part = one(published, resources.CLUSTER)
    assert cluster_pb2.Cluster.FromString(part.body).alt_stat_name == "other"
    assert told(controller).startswith("True/Programmed")
    take(controller, made, gone=True)
    assert [(it.name.name, it.value) for it in published.last] == [("new", None)]


@pytest.mark.parametrize("misnamed", MISNAMED)
def test_a_cluster_that_one_policy_misnames_can_be_added_by_another(misnamed: list[str]) -> None:
    good = ADDING_NOTHING.replace("{}", "{name: new, type: STATIC}")
    bad = policy("bad", *misnamed, priority=-1)
    controller, published = served(GIVEN + bad + policy("p", good))
    assert "leaves no cluster with the name 'new'" in told(controller, "bad")
    assert told(controller).startswith("True/Programmed")
    assert published.parts[resources.Name(resources.CLUSTER, "new"), ""] is not None


def test_a_listener_has_what_a_patch_says_in_its_only_chain() -> None:
    controller, published = served()
    take(controller, policy("p", adding("listener")))
    part = one(published, resources.LISTENER)
    assert b"other" in part.body
    assert len(listener_pb2.Listener.FromString(part.body).filter_chains) == 1


def explained(controller: Controller, path: str = "/") -> list[tuple[str, str]]:
    """The steps that tell of changes, each with who made it."""
    explainer = Explainer(controller.engine, controller.board, lambda *_: None)
    request = Request("h1.example.com", path)
    steps = explainer.explained("contour", request)["steps"]
    return [
        (it["object"]["name"] if "object" in it else "", it["text"])
        for it in steps
        if " changes the " in it["text"]
    ]


def test_explain_names_each_policy_that_changes_something_with_the_difference() -> None:
    controller, _ = served()
    assert explained(controller) == []
    made = [adding(it) for it in PLACES]
    take(controller, policy("p", *made) + policy("none", adding("host"), priority=3))
    where = "/filter_chains/0/filters/0/typed_config/server_name"
    assert explained(controller) == [
        ("p", f'EnvoyPatchPolicy default/p changes the listener ingress_http: {where}: nothing → '
         '"other"'),
        ("p", "EnvoyPatchPolicy default/p changes the host h1.example.com: "
         "/include_request_attempt_count: nothing → true"),
        ("p", "EnvoyPatchPolicy default/p changes the cluster default/s1/80: "
         '/alt_stat_name: "default_s1_80" → "other"'),
    ]  # fmt: skip
    take(controller, policy("p", *made), gone=True)
    assert [name for name, _ in explained(controller)] == ["none"]
