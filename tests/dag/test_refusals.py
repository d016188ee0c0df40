"""What Envoy refuses is told on the object that asked for it, and goes when it is mended."""

import pytest

from contour.status import rendering
from crds.meta import ObjectRef
from dag import filterchains, fleets, hosts, nodes, refusals, statuses
from dag.engine.incremental import Engine
from dag.engine.work import Work
from dag.fleets import FleetProblem
from dag.plan import STATUSES
from dag.refusals import Declined
from tests.dag import test_hosts, world
from tests.dag.gateway import manifests as gateways
from tests.dag.gateway.manifests import configuration
from tests.dag.httpproxy import manifests as proxies
from tests.dag.httpproxy import test_fallback as fallbacks
from tests.dag.ingress import manifests as ingresses
from tests.testbed import pairs


def test_a_refusal_stands_in_the_status_until_it_is_taken_back() -> None:
    engine = world.world(test_hosts.SERVICES + test_hosts.proxy("/"))
    key = world.key("app")
    engine.write(refusals.REFUSALS, ObjectRef("HTTPProxy", *key), ("bad regex",))
    engine.settle()
    found = engine.answer(STATUSES["HTTPProxy"], key)
    assert isinstance(found, statuses.ContourStatus)
    assert (found.current_status, found.valid.status) == ("invalid", "False")
    assert "bad regex" in found.errors[-1].message
    engine.write(refusals.REFUSALS, ObjectRef("HTTPProxy", *key), None)
    engine.settle()
    found = engine.answer(STATUSES["HTTPProxy"], key)
    assert isinstance(found, statuses.ContourStatus)
    assert found.current_status == "valid"


_BUNDLE = "caCertificateRefs: [{group: '', kind: ConfigMap, name: it}]"
_ON_GATEWAY = gateways.gateway_class() + gateways.gateway("gw", gateways.https(secret="it"))
_OF_PROXY = proxies.tls_root("app", f"routes: [{proxies.to('s1')}]", "it")
_RULE = ingresses.rule("a.com", ingresses.path("/", "s1"))
_USERS = {
    "HTTPProxy": (_OF_PROXY, "spec.virtualhost.tls.secretName: "),
    "Ingress": (
        ingresses.ingress("app", f"tls: [{{secretName: it}}], rules: [{_RULE}]"),
        "spec.tls[0].secretName: ",
    ),
    "Gateway": (
        _ON_GATEWAY.replace("name: gw", "name: app"),
        "spec.listeners[0].tls.certificateRefs[0]: ",
    ),
    "ListenerSet": (
        _ON_GATEWAY.replace(
            "gatewayClassName", "allowedListeners: {namespaces: {from: All}}, gatewayClassName"
        )
        + gateways.listener_set("app", gateways.https("more", "it", port=444)),
        "spec.listeners[0].tls.certificateRefs[0]: ",
    ),
    "BackendTLSPolicy": (
        gateways.gateway_class()
        + gateways.gateway("gw")
        + gateways.route("r", "{backendRefs: [{name: s1, port: 80}]}")
        + gateways.policy("app", f"hostname: a.com, {_BUNDLE}"),
        "spec.validation.caCertificateRefs[0]: ",
    ),
}


@pytest.mark.parametrize("kind", _USERS)
def test_who_uses_a_certificate_that_envoy_refuses_is_told(kind: str) -> None:
    text, path = _USERS[kind]
    engine = world.world(proxies.services("s1") + pairs.secret("it") + _authority() + text)
    before = engine.answer(STATUSES[kind], world.key("app"))
    refused = ObjectRef("ConfigMap" if kind == "BackendTLSPolicy" else "Secret", "default", "it")
    engine.write(refusals.REFUSALS, refused, ("only P-256",))
    engine.settle()
    found = engine.answer(STATUSES[kind], world.key("app"))
    assert found is not None
    said = f"{path}Envoy refuses TLS settings with {refused}; the last version that it accepted,"
    if isinstance(found, statuses.EventStatus):
        assert [it.message.startswith(said) for it in found.problems] == [True]
    else:
        assert said in str(rendering.status(found))
    if isinstance(found, statuses.GatewayStatus | statuses.ListenerSetStatus):
        (programmed,) = [it for it in found.listeners[0].conditions if it.type == "Programmed"]
        assert (programmed.status, programmed.reason) == ("False", "Invalid")
        assert programmed.message.startswith("spec.listeners[0].tls: Envoy refuses TLS settings")
    engine.write(refusals.REFUSALS, refused, None)
    engine.settle()
    assert engine.answer(STATUSES[kind], world.key("app")) == before


def test_hosts_that_show_the_fallback_certificate_are_told_that_envoy_refuses_it() -> None:
    plain = proxies.tls_root("app", f"routes: [{proxies.to('s1')}]", "cert", "b.com")
    given = fallbacks.GIVEN + fallbacks.DELEGATION + fallbacks.SETTINGS
    engine = world.world(given + fallbacks.host() + plain)
    assert world.messages(engine, "HTTPProxy", "root") == []
    engine.write(refusals.REFUSALS, ObjectRef("Secret", "certs", "fallback"), ("only P-256",))
    engine.settle()
    (told,) = world.messages(engine, "HTTPProxy", "root")
    at = "EnvoyError/Refused: spec.virtualhost.tls.enableFallbackCertificate: Envoy refuses TLS"
    assert told.startswith(f"{at} settings with Secret certs/fallback")
    assert world.messages(engine, "HTTPProxy", "app") == []


_BRINGING = (
    gateways.gateway_class()
    + gateways.gateway(
        "gw",
        "{name: https, port: 443, protocol: HTTPS, hostname: '*.com',"
        " tls: {options: {projectcontour.io/route-certificate: Allow}}}",
    )
    + gateways.route("app", hosts=("a.com",)).replace(
        "namespace: default",
        "namespace: default, annotations: {projectcontour.io/certificate: it}",
    )
)
_CHAINED = {
    "HTTPProxy": (_OF_PROXY, "spec.virtualhost.tls"),
    "Ingress": (
        _USERS["Ingress"][0].replace("secretName: it", "secretName: it, hosts: [a.com]"),
        "spec.tls[0]",
    ),
    "Gateway": (_USERS["Gateway"][0], "spec.listeners[0].tls"),
    "ListenerSet": (
        _USERS["ListenerSet"][0].replace("{name: it}", "{name: another}", 1),
        "spec.listeners[0].tls",
    ),
    "HTTPRoute": (_BRINGING, "metadata.annotations[projectcontour.io/certificate]"),
}


def _chains(engine: Engine) -> dict[nodes.HostKey, ObjectRef]:
    """The names of the filter chains with the Secret `it`, by host."""
    found = ((key, it.tls) for key, it in engine.answers(hosts.secure_host) if it is not None)
    return {
        key: filterchains.ref(key.fleet, key.listener, tls)
        for key, tls in found
        if tls is not None and tls.secret.name == "it"
    }


@pytest.mark.parametrize("kind", _CHAINED)
def test_whose_filter_chain_envoy_refuses_is_told(kind: str) -> None:
    text, path = _CHAINED[kind]
    engine = world.world(proxies.services("s1") + pairs.secret("it") + text)
    before = engine.answer(STATUSES[kind], world.key("app"))
    (chain,) = set(_chains(engine).values())
    for row, is_told in ((chain._replace(name=f"{chain.name}0"), False), (chain, True)):
        engine.write(refusals.REFUSALS, row, ("no such cipher",))
        engine.settle()
        said = f"{path}: Envoy refuses TLS settings with Secret default/it"
        assert (said in str(engine.answer(STATUSES[kind], world.key("app")))) == is_told
    engine.write(refusals.REFUSALS, chain, None)
    engine.settle()
    assert engine.answer(STATUSES[kind], world.key("app")) == before


def test_of_two_hosts_with_one_certificate_only_that_of_the_refused_chain_is_told() -> None:
    strict = _OF_PROXY.replace("a.com", "b.com").replace("name: app", "name: strict")
    strict = strict.replace("secretName: it", "secretName: it, minimumProtocolVersion: '1.3'")
    engine = world.world(proxies.services("s1") + pairs.secret("it") + _OF_PROXY + strict)
    (chain,) = (it for key, it in _chains(engine).items() if key.host == "b.com")
    engine.write(refusals.REFUSALS, chain, ("no such cipher",))
    engine.settle()
    assert world.problems(engine, "HTTPProxy", "strict") == ["EnvoyError/Refused"]
    assert world.problems(engine, "HTTPProxy", "app") == []


def _authority() -> str:
    lines = pairs.pair()[0].decode().replace("\n", "\\n")
    return f"""
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: it, namespace: default}}
data: {{ca.crt: "{lines}"}}
"""


def test_a_certificate_that_may_not_be_used_tells_nothing_of_its_refusal() -> None:
    engine = world.world(proxies.services("s1") + pairs.secret("it", "other"))
    root = proxies.tls_root("app", f"routes: [{proxies.to('s1')}]", "other/it")
    world.apply(engine, root)
    engine.write(refusals.REFUSALS, ObjectRef("Secret", "other", "it"), ("only P-256",))
    engine.settle()
    assert "P-256" not in str(world.messages(engine, "HTTPProxy", "app"))


def test_a_renewal_that_envoy_accepts_wakes_no_user_of_the_certificate() -> None:
    def runs(size: int) -> int:
        to = f"routes: [{proxies.to('s1')}]"
        roots = (proxies.tls_root(f"r{n}", to, "it", f"h{n}.com") for n in range(size))
        engine = world.world(proxies.services("s1") + pairs.secret("it") + "".join(roots))
        engine.work = Work()
        world.apply(engine, pairs.with_pair("it", *pairs.pair(1)))
        return engine.work.runs

    assert runs(3) == runs(100)


def test_a_refused_part_of_an_httproute_is_a_fall_back() -> None:
    engine = world.world(test_hosts.SERVICES + test_hosts.GATEWAY + test_hosts.route("/"))
    key = world.key("app")
    engine.write(refusals.REFUSALS, ObjectRef("HTTPRoute", *key), ("no",))
    engine.settle()
    found = engine.answer(STATUSES["HTTPRoute"], key)
    assert isinstance(found, statuses.RouteStatus)
    (partly,) = [it for it in found.parents[0].conditions if it.type == "PartiallyInvalid"]
    assert partly.status == "True"
    assert partly.message.startswith("Fall Back")


def test_what_is_wrong_with_a_fleet_is_told_beside_and_takes_nothing_from_what_is_served() -> None:
    engine = world.world(test_hosts.GATEWAY)
    engine.write(fleets.PROBLEMS, "contour", (FleetProblem("the Service is somebody else's"),))
    for envoys, status in {0: "False", 1: "True"}.items():
        engine.write(refusals.ENVOYS, "contour", envoys)
        engine.settle()
        found = engine.answer(STATUSES["Gateway"], world.key("edge"))
        assert isinstance(found, statuses.GatewayStatus)
        (it,) = [it for it in found.conditions if it.type == "Programmed"]
        assert it.status == status
        assert it.message.endswith("; the Service is somebody else's")


@pytest.mark.parametrize(
    ("envoy", "gateway_is_told", "warnings"),
    [
        ("", "spec.envoy.networkPublishing is not set", 1),
        ("networkPublishing: {type: ClusterIPService}", "no Envoy is connected", 0),
        ("networkPublishing: {type: ClusterIPService}, managed: false", "managed is false", 0),
    ],
)
def test_a_gateway_for_which_no_fleet_is_made_is_told_why(
    envoy: str, gateway_is_told: str, warnings: int
) -> None:
    spec = f"gateway: {{mode: PerGateway}}, envoy: {{{envoy}}}"
    engine = world.world(configuration(spec) + test_hosts.GATEWAY)
    engine.write(refusals.ENVOYS, "default/edge", 0)
    engine.settle()
    found = engine.answer(STATUSES["Gateway"], world.key("edge"))
    assert isinstance(found, statuses.GatewayStatus)
    (it,) = [it for it in found.conditions if it.type == "Programmed"]
    assert (it.status, it.reason) == ("False", "NoResources")
    assert gateway_is_told in it.message.split("; ")[-1]
    told = world.messages(engine, "ContourConfiguration", "projectcontour/contour")
    assert len(told) == warnings
    assert all("no fleet is made for Gateways" in it for it in told)


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (
            FleetProblem("a webhook sets it", is_error=False, is_settled=True),
            "?FleetError/ChangedByOthers: spec.envoy: a webhook sets it",
        ),
        (
            FleetProblem("the Service is refused", concerns="publishing"),
            "FleetError/NotProvisioned: spec.envoy.networkPublishing: the Service is refused",
        ),
        (
            FleetProblem("was undone", concerns="workload"),
            "FleetError/NotProvisioned: spec.envoy.workload: was undone",
        ),
        (
            FleetProblem("was undone", concerns="bootstrap"),
            "FleetError/NotProvisioned: spec.envoy.bootstrap: was undone",
        ),
        (
            FleetProblem("waits", is_error=False, concerns="workload"),
            "?FleetError/Progressing: spec.envoy.workload: waits",
        ),
    ],
)
def test_a_problem_of_the_shared_fleet_is_told_with_the_field_that_it_is_about(
    problem: FleetProblem, told: str
) -> None:
    engine = world.world(configuration("envoy: {networkPublishing: {type: ClusterIPService}}"))
    engine.write(fleets.PROBLEMS, "contour", (problem,))
    engine.settle()
    assert world.messages(engine, "ContourConfiguration", "projectcontour/contour") == [told]


def test_a_gateway_is_programmed_only_while_an_envoy_is_connected() -> None:
    engine = world.world(test_hosts.GATEWAY)
    key = world.key("edge")

    def programmed() -> tuple[str, str]:
        engine.settle()
        found = engine.answer(STATUSES["Gateway"], key)
        assert isinstance(found, statuses.GatewayStatus)
        (it,) = [it for it in found.conditions if it.type == "Programmed"]
        return it.status, it.reason

    assert programmed() == ("True", "Programmed")  # offline, acceptance is assumed
    engine.write(refusals.ENVOYS, "contour", 0)
    assert programmed() == ("False", "NoResources")
    engine.write(refusals.ENVOYS, "contour", 1)
    assert programmed() == ("True", "Programmed")
    engine.write(refusals.PENDING, "contour", ("ingress_http",))
    assert programmed() == ("False", "Pending")
    engine.write(refusals.PENDING, "contour", None)
    assert programmed() == ("True", "Programmed")


SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: default}
spec: {ports: [{port: 50051}]}
"""
EXPORTS = "xdsServer: {grpcClients: {exports: [{namespaces: [default]}]}}"


@pytest.mark.parametrize(("is_exported", "told"), [(True, 2), (False, 0)])
def test_what_grpc_applications_refuse_is_told_of_an_exported_service(
    is_exported: bool, told: int
) -> None:
    engine = world.world(SERVICE + configuration(EXPORTS if is_exported else ""))
    key, subject = world.key("echo"), ObjectRef("Service", "default", "echo")
    refused = (Declined("gRPC clients", "no TLS"), Declined("gRPC servers", "no TLS"))
    for row, count in ((refused, told), (None, 0)):
        engine.write(refusals.DECLINED, subject, row)
        engine.settle()
        found = dict(engine.answers(refusals.of_service)).get(key)
        assert found is None or isinstance(found, statuses.EventStatus)
        problems = found.problems if found is not None else ()
        assert len({it.message for it in problems}) == count
