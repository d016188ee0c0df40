"""What time does to certificates: told on the objects that use them, when it changes."""

from datetime import UTC, datetime, timedelta

import pytest

from contour.aging import LONGEST_SLEEP, Aging
from contour.controller import Controller
from contour.offline.rendering import Fleets
from crds.meta import NamespacedName, ObjectRef
from dag.warnings.validity import Held, Phase, Validity, of_secret
from tests.contour.test_controller import events
from tests.dag.gateway import manifests as gateways
from tests.dag.httpproxy import manifests as proxies
from tests.dag.ingress import manifests as ingresses
from tests.testbed import pairs

BEGIN = datetime(2020, 1, 1, tzinfo=UTC)  # of the certificates of `pairs`
END = BEGIN + timedelta(days=90)
SECRET = of_secret(NamespacedName("default", "cert"))
MINUTE = timedelta(minutes=1)


class Clock:
    """A clock that stands until it is set."""

    def __init__(self, now: datetime = BEGIN + timedelta(days=1)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Rows(dict[Held, Phase]):
    """The rows that are written."""

    def write(self, held: Held, phase: Phase | None) -> None:
        if phase is None:
            del self[held]
        else:
            self[held] = phase


@pytest.mark.parametrize(
    ("days", "near_end"),
    [(90, END - timedelta(days=14)), (30, BEGIN + timedelta(days=20)), (3, BEGIN + timedelta(2))],
)
def test_the_end_is_near_for_a_fortnight_or_the_last_third(days: int, near_end: datetime) -> None:
    assert Validity(BEGIN, BEGIN + timedelta(days=days)).near_end == near_end


def test_each_moment_is_told_when_it_comes_and_not_before() -> None:
    clock, rows = Clock(BEGIN - MINUTE), Rows()
    aging, found = Aging(rows.write, clock), Validity(BEGIN, END)
    aging.note(SECRET, found)
    for moment, before, after in (
        (BEGIN, "early", None),
        (found.near_end, None, "ending"),
        (END, "ending", "ended"),
    ):
        clock.now = moment - MINUTE
        assert (aging.update(), rows.get(SECRET)) == (False, before)
        clock.now = moment
        assert (aging.update(), rows.get(SECRET)) == (True, after)
    assert (aging.update(), aging.pause) == (False, LONGEST_SLEEP)
    aging.note(SECRET, Validity(BEGIN, END + timedelta(days=90)))
    assert rows == {}


def test_the_next_look_is_at_the_next_moment() -> None:
    clock = Clock(END - timedelta(seconds=5))
    aging = Aging(Rows().write, clock)
    assert aging.pause == LONGEST_SLEEP
    aging.note(SECRET, Validity(BEGIN, END))
    assert aging.pause == 5.0
    clock.now = END + MINUTE
    assert aging.pause == 0.0


def test_certificates_that_come_and_go_leave_nothing_behind() -> None:
    aging = Aging(Rows().write, Clock())
    for number in range(100):
        aging.note(SECRET, Validity(BEGIN, END + number * MINUTE))
        aging.note(SECRET, None)
    assert len(aging._due) <= 2
    assert not aging._next


def test_of_a_certificate_that_is_replaced_the_moments_of_the_last_count() -> None:
    clock, rows = Clock(), Rows()
    aging = Aging(rows.write, clock)
    for number in range(100):
        aging.note(SECRET, Validity(BEGIN, END - number * MINUTE))
    assert len(aging._due) <= 2
    clock.now = Validity(BEGIN, END - 99 * MINUTE).near_end
    assert (aging.update(), rows) == (True, {SECRET: "ending"})


def test_a_clock_that_is_set_back_takes_back_what_it_told() -> None:
    clock, rows = Clock(END + MINUTE), Rows()
    aging = Aging(rows.write, clock)
    aging.note(SECRET, Validity(BEGIN, END))
    assert rows == {SECRET: "ended"}
    clock.now = BEGIN + MINUTE
    assert (aging.update(), rows) == (True, {})
    clock.now = END
    assert (aging.update(), rows) == (True, {SECRET: "ended"})


def cert(name: str = "cert", days: int = 90, number: int = 0) -> str:
    return pairs.with_pair(name, *pairs.pair(number, days=days))


def authority(name: str = "ca") -> str:
    return (
        cert(name).replace("type: kubernetes.io/tls", "type: Opaque").replace("tls.crt", "ca.crt")
    )


ALLOWED = "allowedListeners: {namespaces: {from: Same}}"
OVERRIDE = "tls: {options: {projectcontour.io/route-certificate: Allow}}"
AUTHORITIES = "caCertificateRefs: [{group: '', kind: Secret, name: ca}]"
FRONTEND = f"tls: {{frontend: {{default: {{validation: {{{AUTHORITIES}}}}}}}}}"
BACKEND = "tls: {backend: {clientCertificateRef: {name: cert}}}"
ROOT = "virtualhost: {fqdn: a.com, tls: {secretName: cert, clientValidation: {caSecret: ca}}}"
CHECKED = "{name: s1, port: 80, protocol: tls, validation: {caSecret: ca, subjectName: a.com}}"
PROVIDERS = (
    "jwtProviders: [{name: p, default: true, remoteJWKS: {uri: 'https://a.com/k', "
    "validation: {caSecret: ca, subjectName: a.com}}}]"
)
EXTENSION = """
---
apiVersion: projectcontour.io/v1alpha1
kind: ExtensionService
metadata: {name: it, namespace: default}
spec: {services: [{name: s1, port: 80}], validation: {caSecret: ca, subjectName: a.com}}
"""
CLIENTS = """
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: it, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]
  tls: {clientValidation: {caCertificateRefs: [{kind: Secret, group: '', name: ca}]}}
"""
SHOWN = "clientCertificateRef: {name: cert}"
NAMED, SYSTEM = "hostname: a.com", "wellKnownCACertificates: System"
CLASS, SERVICE = gateways.gateway_class(), gateways.service("s1")
ELSEWHERE = "endpoints: [{fqdn: {hostname: a.com, port: 443}}]"
FAR = "{group: gateway.envoyproxy.io, kind: Backend, name: it}"
BACKENDS = (
    CLASS
    + gateways.configuration("enableBackend: true")
    + gateways.gateway("gw")
    + gateways.route("r", gateways.to(FAR))
)
XELSEWHERE = "type: ExternalHostname, externalHostname: {hostname: a.com}, port: {number: 443}"
XFAR = "{group: gateway.networking.x-k8s.io, kind: XBackend, name: it}"
XBACKENDS = (
    CLASS
    + gateways.configuration("enableExternalNameService: true")
    + gateways.gateway("gw")
    + gateways.route("r", gateways.to(XFAR))
)

USES = {
    "HTTPProxy spec.virtualhost.tls.secretName": proxies.tls_root(
        "it", f"routes: [{proxies.to('s1')}]"
    ),
    "HTTPProxy spec.virtualhost.tls.clientValidation.caSecret": proxies.proxy(
        "it", f"{ROOT}, routes: [{proxies.to('s1')}]"
    ),
    "HTTPProxy spec.routes[0].services[0].validation.caSecret": proxies.root(
        "it", f"routes: [{{services: [{CHECKED}]}}]"
    ),
    "Ingress spec.tls[0].secretName": ingresses.ingress(
        "it",
        f"tls: [{{hosts: [a.com], secretName: cert}}], defaultBackend: {ingresses.backend('s1')}",
    ),
    "Gateway spec.listeners[0].tls.certificateRefs[0]": CLASS
    + gateways.gateway("it", gateways.https()),
    "Gateway spec.tls.frontend": CLASS + gateways.gateway("it", gateways.https(), rest=FRONTEND),
    "Gateway spec.tls.backend.clientCertificateRef": CLASS
    + gateways.gateway("it", gateways.http(), rest=BACKEND),
    "ListenerSet spec.listeners[0].tls.certificateRefs[0]": CLASS
    + gateways.gateway("gw", rest=ALLOWED)
    + gateways.listener_set("it", gateways.https()),
    "HTTPRoute metadata.annotations[projectcontour.io/certificate]": CLASS
    + gateways.gateway("gw", gateways.listener("https", 443, "HTTPS", OVERRIDE))
    + gateways.route("it", hosts=("a.com",)).replace(
        "name: it,", "name: it, annotations: {projectcontour.io/certificate: cert},"
    ),
    "BackendTLSPolicy spec.validation.caCertificateRefs[0]": CLASS
    + gateways.gateway("gw")
    + gateways.route("r")
    + gateways.policy(
        "it", "hostname: a.com, caCertificateRefs: [{group: '', kind: Secret, name: ca}]"
    ),
    "HTTPProxy spec.virtualhost.jwtProviders[0].remoteJWKS.validation.caSecret": proxies.proxy(
        "it", f"virtualhost: {{fqdn: a.com, {PROVIDERS}}}, routes: [{proxies.to('s1')}]"
    ),
    "ExtensionService spec.validation.caSecret": EXTENSION,
    "ClientTrafficPolicy spec.tls.clientValidation.caCertificateRefs[0]": CLASS
    + gateways.gateway("gw", gateways.https())
    + CLIENTS,
    "Backend spec.tls.caCertificateRefs[0]": BACKENDS
    + gateways.backend("it", f"{ELSEWHERE}, tls: {{{AUTHORITIES}, sni: a.com}}"),
    "Backend spec.tls.clientCertificateRef": BACKENDS
    + gateways.backend(
        "it",
        f"{ELSEWHERE}, tls: {{wellKnownCACertificates: System, sni: a.com, {SHOWN}}}",
    ),
    "XBackend spec.tls.validation.caCertificateRefs[0]": XBACKENDS
    + gateways.xbackend(
        "it",
        f"{XELSEWHERE}, tls: {{mode: ServerOnly, validation: {{{AUTHORITIES}, {NAMED}}}}}",
    ),
    "XBackend spec.tls.clientCertificateRef": XBACKENDS
    + gateways.xbackend(
        "it",
        f"{XELSEWHERE}, tls: {{mode: ClientAndServer, validation: {{{SYSTEM}, {NAMED}}}, {SHOWN}}}",
    ),
    "ContourConfiguration spec.envoy.clientCertificate": gateways.configuration(
        "envoy: {clientCertificate: {name: cert, namespace: default}}", "it"
    ),
    "ContourConfiguration spec.httpproxy.fallbackCertificate": gateways.configuration(
        "httpproxy: {fallbackCertificate: {name: cert, namespace: default}}", "it"
    ),
}


class Stage:
    """A controller whose clock can be set, and what it says of the object `it`."""

    def __init__(self, kind: str, manifests: str, now: datetime = BEGIN + MINUTE) -> None:
        self.clock = Clock(now)
        self.told: list[ObjectRef] = []
        self.controller = Controller(Fleets().publish, self.told.extend, now=self.clock)
        self.subject = ObjectRef(kind, "default", "it")
        self.controller.take(events(SERVICE + cert() + authority() + manifests))

    def reasons(self) -> list[str]:
        """What is said of certificates."""
        rows = [it for it in self.controller.board.rows() if it.subject == self.subject]
        return [it for row in rows for it in row.reasons if "the certificate of" in it]

    def set(self, now: datetime) -> list[ObjectRef]:
        """Time goes by; the objects of which something else is told then."""
        self.clock.now = now
        self.told.clear()
        self.controller.update_validity()
        return self.told


MOMENTS = (
    (BEGIN - MINUTE, "is not valid before 2020-01-01 00:00 UTC"),
    (END - timedelta(days=13), "expires on 2020-03-31 00:00 UTC"),
    (END, "expired on 2020-03-31 00:00 UTC"),
)


@pytest.mark.parametrize("use", USES)
def test_it_is_told_on_everything_that_uses_a_certificate(use: str) -> None:
    kind, _, path = use.partition(" ")
    name = "ca" if path.endswith(("caSecret", "frontend", "caCertificateRefs[0]")) else "cert"
    for now, words in MOMENTS:
        found = Stage(kind, USES[use], now).reasons()
        told = [it.partition(f"{path}: ")[2] for it in found if f"{path}: " in it]
        assert told == [f"the certificate of Secret default/{name} {words}"]


@pytest.mark.parametrize("use", USES)
def test_a_running_process_tells_it_when_it_comes_and_every_day_the_same(use: str) -> None:
    stage = Stage(use.partition(" ")[0], USES[use])
    assert stage.reasons() == []
    assert stage.set(END - timedelta(days=15)) == []
    assert stage.subject in stage.set(END - timedelta(days=14))
    first = stage.reasons()
    assert first
    for day in range(13, 0, -1):
        assert stage.set(END - timedelta(days=day)) == []
    assert stage.subject in stage.set(END)
    assert stage.reasons() != first
    renewed = cert(days=900, number=1) + authority().replace(*_renewed())
    stage.controller.take(events(renewed))
    assert stage.reasons() == []


def _renewed() -> tuple[str, str]:
    """What stands in a Secret, and what stands there when it is renewed."""
    return (
        cert().partition("tls.crt: ")[2].partition(",")[0],
        cert(days=900, number=1).partition("tls.crt: ")[2].partition(",")[0],
    )


def test_nothing_is_told_of_a_certificate_that_may_not_be_used() -> None:
    other = cert().replace("namespace: default", "namespace: other")
    root = proxies.tls_root("it", f"routes: [{proxies.to('s1')}]", secret="other/cert")
    assert Stage("HTTPProxy", other + root, END).reasons() == []
    grant = """
---
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: d, namespace: other}
spec: {delegations: [{secretName: cert, targetNamespaces: [default]}]}
"""
    assert len(Stage("HTTPProxy", other + root + grant, END).reasons()) == 1


def test_a_good_certificate_that_is_renewed_wakes_nobody() -> None:
    many = "".join(
        proxies.tls_root(f"p{it}", f"routes: [{proxies.to('s1')}]", fqdn=f"h{it}.com")
        for it in range(30)
    )
    stage = Stage("HTTPProxy", many)
    stage.controller.settle()
    stage.told.clear()
    before = stage.controller.engine.work.runs
    stage.controller.take(events(cert(days=91, number=2)))
    assert stage.told == []
    assert stage.controller.engine.work.runs - before < 10


def test_a_certificate_that_nobody_uses_is_not_looked_at() -> None:
    stage = Stage("Secret", cert("unused"))
    assert not stage.controller._aging._known
