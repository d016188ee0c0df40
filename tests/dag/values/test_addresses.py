"""Where Envoy may be led: endpoints at odd addresses, names and addresses in disguise."""

import pytest

from crds.meta import NamespacedName
from dag import nodes, services, statuses, tables
from dag.engine.incremental import Engine
from dag.engine.view import Kept, Plan, Table
from dag.plan import PLAN, STATUSES
from dag.values import addresses
from tests.dag.gateway import manifests as gateway
from tests.dag.httpproxy.manifests import extension, root, to
from tests.dag.httpproxy.manifests import services as listening
from tests.dag.ingress import manifests as ingress
from tests.dag.world import FLEET, apply, key, messages


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("2001:db8::1", "2001:db8::1/128"),
        ("::/0", "::/0"),
        ("::ffff:10.1.2.3", "10.1.2.3/32"),
        ("::ffff:10.1.2.3/104", "10.0.0.0/8"),
        ("::ffff:0:0/95", "::fffe:0:0/95"),
        ("fe80::1%eth0", None),
        ("fe80::%eth0/64", None),
        ("10.0.0.0/33", None),
        ("", None),
    ],
)
def test_ranges_are_compared_as_envoy_sees_clients(written: str, expected: str | None) -> None:
    assert addresses.network(written) == expected


PORT = nodes.ServicePort(NamespacedName("default", "s1"), 80)
PORTS: Table[nodes.ServicePort, bool] = Table("ports that are served")
LEFT_OUT = "endpoints of Service default/s1 are left out: "


def served(text: str, *, in_cluster: bool = True) -> Engine:
    """The world of these manifests; the endpoints of the Service `s1` are served."""
    engine = Engine(PLAN + Plan(kept=(Kept(services.endpoints, PORTS),)))
    engine.write(tables.FLEETS, FLEET, True)
    engine.write(PORTS, PORT, True)
    if in_cluster:
        engine.write(tables.LOOPBACK_REFUSED, (), True)
    apply(engine, listening("s1") + text)
    return engine


def slices(*found: str, family: str = "IPv4", name: str = "s1") -> str:
    endpoints = ", ".join(f"{{addresses: ['{it}']}}" for it in found)
    return f"""
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {name}, namespace: default, labels: {{kubernetes.io/service-name: s1}}}}
addressType: {family}
ports: [{{port: 8080}}]
endpoints: [{endpoints}]
"""


def endpoints(engine: Engine) -> nodes.Endpoints:
    found = engine.answer(services.endpoints, PORT)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("family", "written", "why"),
    [
        ("IPv4", "10.0.0.1", None),
        ("IPv6", "2001:DB8::1", None),
        ("IPv6", "64:ff9b::a00:1", None),
        ("IPv4", "not-an-ip", "no IPv4 address"),
        ("IPv4", "1.2.3.4/8", "no IPv4 address"),
        ("IPv4", "010.0.0.1", "no IPv4 address"),
        ("IPv4", "2130706433", "no IPv4 address"),
        ("IPv4", "", "no IPv4 address"),
        ("IPv4", "2001:db8::1", "no IPv4 address"),
        ("IPv6", "10.0.0.1", "no IPv6 address"),
        ("IPv6", "2001:db8::1%eth0", "no IPv6 address"),
        ("IPv6", "[2001:db8::1]", "no IPv6 address"),
        ("FQDN", "example.com", "names are not served"),
        ("IPv4", "0.0.0.0", "unspecified"),
        ("IPv6", "::", "unspecified"),
        ("IPv4", "169.254.169.254", "link-local"),
        ("IPv6", "fe80::1", "link-local"),
        ("IPv6", "::ffff:169.254.169.254", "link-local"),
        ("IPv4", "224.0.0.1", "multicast"),
        ("IPv6", "ff02::1", "multicast"),
        ("IPv4", "127.0.0.1", "loopback"),
        ("IPv4", "127.8.8.8", "loopback"),
        ("IPv6", "::1", "loopback"),
        ("IPv6", "::ffff:127.0.0.1", "loopback"),
        ("IPv6", "::127.0.0.1", "loopback"),
        ("IPv6", "64:ff9b::7f00:1", "loopback"),
        ("IPv6", "2002:7f00:1::", "loopback"),
    ],
)
def test_endpoints_are_addresses_that_may_be_asked(
    family: str, written: str, why: str | None
) -> None:
    for in_cluster in (True, False):
        found = endpoints(served(slices(written, family=family), in_cluster=in_cluster))
        is_fine = why is None or (why == "loopback" and not in_cluster)
        assert len(found.endpoints) == is_fine
        assert found.left_out == ("" if is_fine else f"{written!r} ({why})")


def test_an_address_that_is_written_twice_takes_its_share_once() -> None:
    found = endpoints(served(slices("2001:db8::1", "2001:DB8:0::1", family="IPv6")))
    assert found.endpoints == (nodes.Endpoint("2001:db8::1", 8080),)


def test_endpoints_of_a_service_are_bounded() -> None:
    many = [f"10.{it >> 8}.{it & 255}.1" for it in range(services.MAX_ENDPOINTS + 1)]
    engine = served(slices(*many) + root("front", f"routes: [{to('s1')}]"))
    assert len(endpoints(engine).endpoints) == services.MAX_ENDPOINTS
    (told,) = messages(engine, "HTTPProxy", "front")
    assert told.endswith(f"{LEFT_OUT}all but the first 10000")


USERS = {
    "HTTPProxy": (root("front", f"routes: [{to('s1')}]"), "spec.routes[0].services[0]: "),
    "Ingress": (
        ingress.ingress("front", f"rules: [{ingress.rule('a.com', ingress.path('/', 's1'))}]"),
        "spec.rules[0].http.paths[0].backend.service: ",
    ),
    "ExtensionService": (extension("front", service="s1"), "spec.services[0]: "),
    "HTTPRoute": (
        gateway.gateway_class()
        + gateway.gateway("gw", gateway.http())
        + gateway.route("front", gateway.to("s1")),
        "spec.rules[0].backendRefs[0]: ",
    ),
    "TCPRoute": (
        gateway.gateway_class()
        + gateway.gateway("gw", gateway.listener("tcp", 9, "TCP"))
        + gateway.stream_route("TCPRoute", "front", "{name: s1, port: 80}"),
        "spec.rules[0].backendRefs[0]: ",
    ),
}


def warnings(engine: Engine, kind: str) -> list[str]:
    found = engine.answer(STATUSES[kind], key("front"))
    if isinstance(found, statuses.RouteStatus):
        accepted = next(it for it in found.parents[0].conditions if it.type == "Accepted")
        assert accepted.status == "True"
        return list(accepted.warnings)
    return [it.partition(": ")[2] for it in messages(engine, kind, "front") if it[0] == "?"]


@pytest.mark.parametrize("kind", USERS)
def test_who_uses_a_service_is_told_which_endpoints_are_left_out(kind: str) -> None:
    manifest, place = USERS[kind]
    engine = served(manifest + slices("10.0.0.1"))
    assert warnings(engine, kind) == []
    apply(engine, slices("10.0.0.1", "fe80::1", "127.0.0.1", "0.0.0.0", "127.0.0.2"))
    assert warnings(engine, kind) == [
        f"{place}{LEFT_OUT}'0.0.0.0' (unspecified), '127.0.0.1' (loopback), "
        "'127.0.0.2' (loopback), 1 more"
    ]
    apply(engine, slices("10.0.0.2"))
    assert warnings(engine, kind) == []


def test_endpoints_that_come_and_go_concern_nobody_who_uses_the_service() -> None:
    work = []
    for users in (1, 50):
        proxies = [root(f"p{it}", f"routes: [{to('s1')}]", f"h{it}.com") for it in range(users)]
        engine = served("".join(proxies) + slices("10.0.0.1", "127.0.0.1"))
        before = engine.work.runs + engine.work.woken
        apply(engine, slices("10.0.0.1", "10.0.0.2", "127.0.0.1"))
        work.append(engine.work.runs + engine.work.woken - before)
    assert work[0] == work[1]


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1"),
        *("64:ff9b::7f00:1", "2002:7f00:1::", "0.0.0.0", "::", "169.254.169.254", "fe80::1"),
        *("fe80::1%eth0", "2001:db8::1%1", "224.0.0.1", "ff02::1"),
        *("2130706433", "0x7f000001", "017700000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.01"),
        *("0x7f.0x0.0x0.0x1", "127.0.0.0x1", "0x", "127.0.0.1.", "0x7f000001.", "a.0x1"),
        *("localhost", "localhost.", "x.localhost", "x.localhost.", "metadata.google.internal"),
        *("ip6-localhost", "ip6-loopback.", "localhost4", "localhost6.localdomain6"),
        *("metadata.google.internal.", "local.projectcontour.io", "*.example.com", "a_b.com"),
        *("127。0。0。1", "１２７.0.0.1", "", ".", "[::1]", "1.2.3.4/8"),  # noqa: RUF001
    ],
)
def test_names_and_addresses_that_lead_to_the_own_machine_or_nowhere(host: str) -> None:
    assert addresses.refusal(host) is not None
    external = f"""
---
apiVersion: v1
kind: Service
metadata: {{name: away, namespace: default}}
spec: {{type: ExternalName, externalName: '{host}', ports: [{{port: 80}}]}}
"""
    allowed = gateway.configuration("enableExternalNameService: true")
    engine = served(allowed + external + root("front", f"routes: [{to('away')}]"))
    assert messages(engine, "HTTPProxy", "front")[0].startswith("ServiceError/")


@pytest.mark.parametrize(
    "host", ["example.com", "0x7f.example.com", "10.0.0.1", "2001:db8::1", "1.example", "0xcafe.x"]
)
def test_names_and_addresses_elsewhere(host: str) -> None:
    assert addresses.refusal(host) is None
