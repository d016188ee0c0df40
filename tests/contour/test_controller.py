"""The page that wires the whole: events in, parts and statuses out, at the cost of what changed."""

import itertools
from collections.abc import Iterable

import pytest
import yaml

from contour.complaints import Complaint
from contour.controller import Controller
from contour.events import Batch, Event
from contour.kubernetes.objects import Objects
from contour.routingmode import FEW
from contour.xds import resources
from contour.xds.fleet import Fleet
from contour.xds.observer import RefusedPart
from crds.decode import Decoded, decode
from crds.kinds import KINDS
from crds.meta import NamespacedName, ObjectRef
from dag import refusals, tables
from dag.ports import HostPorts
from dag.statuses import Address, ContourStatus, GatewayStatus
from kube.versioncache import Delta, Key
from tests.contour.kubernetes import written
from tests.dag.gateway import manifests as gateways
from tests.dag.test_hosts import GATEWAY
from tests.testbed import pairs

SERVICE = """
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
"""


class Published:
    """What a fleet was told, publication by publication."""

    def __init__(self) -> None:
        self.parts: dict[tuple[resources.Name, str], resources.Part | None] = {}
        self.last: list[resources.Change] = []

    def __call__(self, fleet: str, changes: Iterable[resources.Change]) -> None:
        self.last = list(changes)
        self.parts.update({(name, part): value for name, part, value in self.last})

    def names(self, type_url: str) -> set[str]:
        return {name.name for (name, _), it in self.parts.items() if it and name[0] == type_url}


def events(text: str, gone: bool = False) -> Batch:
    found = [decode(it) for it in yaml.load_all(text, yaml.CSafeLoader) if it]
    assert all(isinstance(it, Decoded) for it in found)
    return Batch(
        tuple(
            Event(it.kind, it.key, None if gone else it.object)
            for it in found
            if isinstance(it, Decoded)
        ),
        {},
    )


def proxy(name: str, fqdn: str, service: str = "web", tls: str = "") -> str:
    return f"""
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: {name}}}
spec:
  virtualhost: {{fqdn: {fqdn}{tls}}}
  routes: [{{services: [{{name: {service}, port: 80}}]}}]
"""


@pytest.mark.parametrize("step", [0, 1, 5])
def test_of_a_batch_that_is_left_amid_it_nothing_is_published(step: int) -> None:
    published = Published()
    controller = Controller(published)
    controller.take(events(SERVICE + proxy("a", "a.com")))
    before, steps = dict(published.parts), itertools.count()

    def leave() -> None:
        if next(steps) == step:
            raise KeyboardInterrupt

    controller.check = leave
    with pytest.raises(KeyboardInterrupt):
        controller.take(events(proxy("b", "b.com") + proxy("a", "a.com", service="gone")))
    controller.settle()  # as what Envoys report would
    assert published.parts == before
    assert not controller.subjects(), "no status is told of what is half done"


def test_an_edit_publishes_the_parts_it_touches_and_nothing_else() -> None:
    published = Published()
    controller = Controller(published)
    controller.take(events(SERVICE + proxy("a", "a.com") + proxy("b", "b.com")))
    controller.take(events(proxy("a", "a.com", service="gone")))
    assert {(it.name.type_url, it.part) for it in published.last} == {(resources.ROUTE, "a.com")}


def test_a_flood_of_tls_edits_is_paced_delays_no_route_and_leaves_no_redirect_into_nothing() -> (
    None
):
    now = 0.0
    fleet = Fleet("contour", clock=lambda: now)
    controller = Controller(lambda _, changes: fleet.publish(changes))
    tls = ", tls: {secretName: cert}"
    controller.take(events(SERVICE + pairs.secret("cert") + proxy("t", "t.com", tls=tls)))
    controller.take(events(proxy("a", "a.com") + proxy("b", "b.com")))
    envoy = fleet.envoy("one", is_aggregated=True)
    changes, version, plain = 0, "", _served(fleet, resources.ROUTE, "a.com")
    for number in range(200):  # ten a second, for 20 seconds
        controller.take(events(proxy("a", "a.com", tls=tls if number % 3 else "")))
        before = _served(fleet, resources.ROUTE, "b.com")
        controller.take(events(proxy("b", "b.com", service="web" if number % 2 else "gone")))
        assert _served(fleet, resources.ROUTE, "b.com") != before
        is_redirected = _served(fleet, resources.ROUTE, "a.com") != plain
        assert is_redirected == bool(_served(fleet, resources.LISTENER, "name/a.com"))
        listener = fleet.store.types[resources.LISTENER]["ingress_https"].version()
        changes, version = changes + (listener != version), listener
        now += 0.1
        envoy.alarms.ring(now)
    assert changes > 10
    assert changes <= 20 / 0.75 + 6


def _served(fleet: Fleet, type_url: str, part: str) -> list[bytes]:
    """What is served of a part, in every resource of the type."""
    found = (it.parts.get(part) for _, it in sorted(fleet.store.types[type_url].items()))
    return [it.digest for it in found if it]


def test_what_nobody_uses_any_more_is_taken_out() -> None:
    published = Published()
    controller = Controller(published)
    controller.take(events(SERVICE + proxy("a", "a.com")))
    assert published.names(resources.CLUSTER)
    controller.take(events(proxy("a", "a.com"), gone=True))
    assert not published.names(resources.CLUSTER)
    assert not published.names(resources.ENDPOINTS)


def test_a_certificate_that_breaks_does_not_replace_the_one_that_serves() -> None:
    published = Published()
    controller = Controller(published)
    tls = ", tls: {secretName: cert}"
    controller.take(events(SERVICE + proxy("a", "a.com", tls=tls) + pairs.secret("cert")))
    (before,) = published.names(resources.SECRET)
    chain, _ = pairs.pair()
    _, other_key = pairs.pair(1)
    controller.take(events(pairs.with_pair("cert", chain, other_key)))
    assert published.names(resources.SECRET) == {before}
    (row,) = [it for it in controller.board.rows() if it.subject.kind == "Secret"]
    assert row.state == "error"
    assert "do not belong together" in row.reasons[0]
    controller.take(events(pairs.secret("cert")))
    assert not [it for it in controller.board.rows() if it.subject.kind == "Secret"]


def test_an_invalid_configuration_does_not_replace_the_one_that_holds() -> None:
    published = Published()
    controller = Controller(published)
    controller.take(events(SERVICE + proxy("a", "a.com")))
    controller.take(configuration("7s"))
    (seven,) = published.names(resources.CLUSTER)
    controller.take(configuration("48h"))
    assert published.names(resources.CLUSTER) == {seven}
    (row,) = [it for it in controller.board.rows() if it.subject.kind == "ContourConfiguration"]
    assert "spec.envoy.timeouts.connectTimeout" in row.reasons[0]


def test_what_envoy_refuses_is_told_on_the_object_until_it_recovers() -> None:
    controller = Controller(Published())
    settled: list[None] = []
    observer = controller.attach_observer("contour", lambda: settled.append(None))
    controller.take(events(SERVICE + proxy("a", "a.com")))
    subject = ObjectRef("HTTPProxy", "default", "a")
    name = resources.Name(resources.ROUTE, "ingress_http/1")
    observer.refused(RefusedPart(name, "a.com", (subject,), "no such thing"))
    observer.refused(RefusedPart(name, "a.com", (subject,), "still no such thing"))
    assert settled
    controller.settle()
    (row,) = controller.board.rows()
    assert (row.subject, row.state) == (subject, "error")
    assert row.reasons[-1].endswith(": still no such thing")
    observer.recovered(name, "a.com")
    controller.settle()
    assert [it.state for it in controller.board.rows()] == ["ok"]
    assert controller.engine.row(refusals.REFUSALS, subject) is None


def test_what_envoy_refuses_of_a_listener_is_told_by_its_gateway_and_the_configuration() -> None:
    published = Published()
    controller = Controller(published)
    secure = proxy("b", "b.com", tls=", tls: {secretName: cert}") + pairs.secret("cert")
    controller.take(events(SERVICE + GATEWAY + proxy("a", "a.com") + secure))
    controller.take(configuration("7s", more=", gateway: {}"))
    makers = {
        (name.name, part.partition("/")[0]): {it.kind for it in map(ObjectRef._make, value.origins)}
        for (name, part), value in published.parts.items()
        if value and name.type_url == resources.LISTENER
    }
    assert makers["ingress_http", ""] == {"Gateway", "ContourConfiguration"}
    assert makers["ingress_https", ""] == {"ContourConfiguration"}
    assert makers["ingress_https", "chain"] == {"FilterChain", "ContourConfiguration"}
    controller.take(configuration("8s", more=", gateway: {}"))
    assert not [it for it in published.last if it.name.type_url == resources.LISTENER]


def test_how_hosts_are_cut_into_resources_holds_until_the_next_start() -> None:
    def configuration(routing: str) -> Batch:
        return events(f"""
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec: {{envoy: {{listener: {{routing: {routing}}}}}}}
""")

    published = Published()
    controller = Controller(published)
    controller.take(events(SERVICE + proxy("a", "a.com")))
    sharded = published.names(resources.ROUTE)
    controller.take(configuration("Single"))
    assert published.names(resources.ROUTE) == sharded
    (row,) = [it for it in controller.board.rows() if it.subject.kind == "ContourConfiguration"]
    assert row.state == "warning"
    assert "takes effect at the next start" in row.reasons[0]
    fresh = Published()
    Controller(fresh).take(
        Batch((*configuration("Single").events, *events(SERVICE + proxy("a", "a.com")).events), {})
    )
    assert fresh.names(resources.ROUTE) < {"ingress_http", "ingress_https"} | sharded
    assert "ingress_http" in fresh.names(resources.ROUTE)


@pytest.mark.parametrize(
    ("machine", "hosts", "configuration", "is_single"),
    [
        (True, FEW, "", True),
        (True, FEW + 1, "", False),
        (False, 1, "", False),
        (True, 1, "Shards", False),
        (False, 1, "Single", True),
        (True, 1, "Auto", True),
    ],
)
def test_few_hosts_on_one_machine_are_one_routeconfiguration_until_the_next_start(
    *, machine: bool, hosts: int, configuration: str, is_single: bool
) -> None:
    said = f"""
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec: {{envoy: {{listener: {{routing: {configuration}}}}}}}
"""
    published = Published()
    controller = Controller(published)
    if machine:
        controller.use_host_ports(HostPorts("127.0.0.1"))
    proxies = "".join(proxy(f"p{it}", f"h{it}.com") for it in range(hosts))
    controller.take(events(SERVICE + proxies + (f"---{said}" if configuration else "")))
    before = published.names(resources.ROUTE)
    assert ("ingress_http" in before) is is_single
    controller.take(events("".join(proxy(f"q{it}", f"g{it}.com") for it in range(FEW))))
    assert published.names(resources.ROUTE) == before
    told = [row.reasons for row in controller.board.rows() if "Configuration" in row.subject.kind]
    assert not any("next start" in it for reasons in told for it in reasons)


def test_a_gateway_is_programmed_when_envoy_has_accepted_its_listener() -> None:
    controller = Controller(Published())
    accepted: set[resources.Name] = set()
    observer = controller.attach_observer("contour", lambda: None, accepted.__contains__)
    controller.take(events(GATEWAY))

    def programmed() -> tuple[str, str]:
        controller.settle()
        (found,) = [
            it for subject, it in controller.board.told.items() if subject.kind == "Gateway"
        ]
        assert isinstance(found, GatewayStatus)
        (it,) = [it for it in found.conditions if it.type == "Programmed"]
        return it.status, it.reason

    assert programmed() == ("False", "NoResources")
    listener = resources.Name(resources.LISTENER, "ingress_http")
    observer.connected(1)
    observer.changed(listener.type_url, (listener.name,))
    assert programmed() == ("False", "Pending")
    accepted.add(listener)
    observer.changed(listener.type_url, (listener.name,))
    assert programmed() == ("True", "Programmed")


def test_a_gateway_that_comes_back_begins_without_the_addresses_of_the_one_before() -> None:
    controller = Controller(Published())
    controller.take(events(gateways.configuration("gateway: {mode: PerGateway}")))
    one = gateways.gateway("gw", gateways.http())

    def addresses() -> object:
        found = controller.board.told[ObjectRef("Gateway", "default", "gw")]
        assert isinstance(found, GatewayStatus)
        return found.addresses

    controller.take(events(gateways.gateway_class() + one))
    assert addresses() is None
    controller.set_addresses("default/gw", (Address("IPAddress", "192.0.2.1"),))
    assert addresses() == (Address("IPAddress", "192.0.2.1", ""),)
    controller.take(events(one, gone=True))
    controller.take(events(one))
    assert addresses() is None


def test_the_status_tells_that_the_newest_version_is_refused_and_once() -> None:
    controller = Controller(Published())
    controller.take(configuration("7s"))
    controller.take(configuration("48h"))
    subject = ObjectRef("ContourConfiguration", "projectcontour", "contour")
    told = controller.board.told[subject]
    assert isinstance(told, ContourStatus)
    assert (told.valid.status, len(told.errors)) == ("False", 1)
    assert "spec.envoy.timeouts.connectTimeout" in told.errors[0].message
    (row,) = controller.board.rows()
    assert len(row.reasons) == 1
    controller.take(configuration("8s"))
    assert [it.state for it in controller.board.rows()] == ["ok"]


def test_a_policy_of_which_no_version_could_be_read_is_not_said_to_be_kept() -> None:
    def policy(cors: str) -> Batch:
        target = "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}"
        read = decode(
            yaml.safe_load(f"""
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {{name: p}}
spec: {{targetRefs: [{target}], cors: {cors}}}
""")
        )
        assert isinstance(read, Decoded)
        own = ObjectRef(read.kind.kind, *read.key)
        said = tuple(Complaint("a.yaml", 1, own, "", str(it), "error") for it in read.complaints)
        return Batch((Event(read.kind, read.key, read.object),), {own: said})

    controller = Controller(Published())
    gateway = gateways.gateway_class() + gateways.gateway("gw") + gateways.route("r")
    controller.take(events(gateway + SERVICE))
    for cors, summary in (("7", "invalid"), ("{}", "Accepted"), ("7", "newest version refused")):
        controller.take(policy(cors))
        found = {it.subject.name: it.summary for it in controller.board.rows()}
        assert found["p"] == summary


def test_the_configuration_that_is_followed_outlives_its_deletion() -> None:
    published = Published()
    controller = Controller(published)
    controller.follow(NamespacedName("projectcontour", "contour"))
    controller.take(events(SERVICE + proxy("a", "a.com")))
    assert not controller.is_configured
    assert not published.parts
    assert not controller.board.told
    controller.take(configuration("7s"))
    assert controller.is_configured
    seven = published.names(resources.CLUSTER)
    controller.take(configuration("7s", gone=True))
    assert published.names(resources.CLUSTER) == seven
    (row,) = [it for it in controller.board.rows() if it.subject.kind == "ContourConfiguration"]
    assert "stay in force until the next start" in row.reasons[0]


def test_an_invalid_configuration_at_the_start_configures_nothing() -> None:
    controller = Controller(Published())
    controller.follow(NamespacedName("projectcontour", "contour"))
    controller.take(configuration("48h"))
    assert not controller.is_configured
    (row,) = controller.board.rows()
    assert "spec.envoy.timeouts.connectTimeout" in row.reasons[0]


def configuration(timeout: str, gone: bool = False, more: str = "") -> Batch:
    text = f"""
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec: {{envoy: {{timeouts: {{connectTimeout: {timeout}}}}}{more}}}
"""
    return events(text, gone)


def test_a_certificate_that_is_over_does_not_replace_one_that_is_not() -> None:
    controller = Controller(Published())
    controller.take(events(pairs.secret("cert")))
    subject = ObjectRef("Secret", "default", "cert")
    good = controller.engine.row(tables.SECRETS, subject.key)
    over = pairs.with_pair("cert", *pairs.pair(1, days=30))
    controller.take(events(over))
    assert controller.engine.row(tables.SECRETS, subject.key) == good
    (row,) = controller.board.rows()
    assert (row.subject, row.state) == (subject, "error")
    assert "expired on 2020-01-31" in row.reasons[0]


def test_what_the_process_could_not_do_is_told_by_its_configuration() -> None:
    controller = Controller(Published())
    controller.take(configuration("7s"))
    controller.report_process_errors(("cannot listen on http://0.0.0.0:8000: address in use",))
    (row,) = controller.board.rows()
    assert (row.state, "address in use" in row.reasons[0]) == ("error", True)
    controller.report_process_errors(())
    assert [it.state for it in controller.board.rows()] == ["ok"]


def test_namespaces_that_are_named_no_more_are_not_told_to_be_left_alone() -> None:
    controller = Controller(Published())
    controller.engine.write(tables.LEFT_ALONE, (), ("shop: there is the DiscoveryService old",))
    for namespace, state in (("shop", "warning"), ("other", "ok")):
        more = f", discovery: {{namespaces: [{namespace}]}}"
        controller.take(configuration("7s", more=more))
        assert [it.state for it in controller.board.rows()] == [state]


def test_fields_that_are_not_known_are_told_in_the_status_and_their_values_change_nothing() -> None:
    controller, objects = Controller(Published()), Objects()
    key, subject = NamespacedName("default", "a"), ObjectRef("HTTPProxy", "default", "a")

    def see(**fields: object) -> int:
        raw = written.proxy()
        found = raw | {"spec": raw["spec"] | fields}
        objects.take(KINDS["projectcontour.io", "HTTPProxy"], [Delta(Key(*key), found)])
        controller.settle()
        runs = controller.engine.work.runs
        controller.take(objects.batch())
        return controller.engine.work.runs - runs

    def warnings() -> list[str]:
        status = controller.board.told[subject]
        assert isinstance(status, ContourStatus)
        return [f"{it.reason}: {it.message}" for it in status.warnings]

    see(later={"b": 1}, another=2)
    assert warnings() == [
        "UnknownField: spec.another: unknown field",
        "UnknownField: spec.later: unknown field",
    ]
    assert see(another=3, later={"c": [1, 2]}) == 0
    assert len(warnings()) == 2
    see()
    assert warnings() == []


def test_in_a_cluster_no_endpoint_is_on_the_loopback() -> None:
    slices = """
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: ['127.0.0.1']}]
"""
    for name in (None, NamespacedName("projectcontour", "contour")):
        published = Published()
        controller = Controller(published)
        configuration = gateways.configuration("envoy: {}")
        if name is not None:
            controller.follow(name)
        controller.take(events(configuration + SERVICE + slices + proxy("a", "a.com")))
        bodies = [it.value for it in published.last if it.name.type_url == resources.ENDPOINTS]
        told = controller.board.told[ObjectRef("HTTPProxy", "default", "a")]
        assert isinstance(told, ContourStatus)
        assert [b"127.0.0.1" in it.body for it in bodies if it] == [name is None]
        assert [it.reason for it in told.warnings] == ["EndpointsLeftOut"] * (name is not None)
