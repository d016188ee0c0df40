"""ClientTrafficPolicies: which one holds where, what it asks for, and what its owner is told."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from crds.envoygateway.policytargets import (
    PolicyTargetReference,
    PolicyTargets,
    UnreadPolicy,
)
from crds.gateway.references import GROUP
from crds.meta import ObjectMeta, ObjectRef
from dag import fleets, hosts, nodes, tables
from dag.engine.incremental import Engine
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import clientports
from dag.gateway import hosts as gateway_hosts
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    configuration,
    gateway,
    gateway_class,
    host,
    http,
    https,
    listener,
    listener_set,
    on,
    route,
    service,
    stream_route,
)
from tests.dag.world import apply, delete, key, routes, world
from tests.testbed import pairs

GIVEN = gateway_class() + service("s1") + pairs.secret("cert")
GATEWAY = "{group: gateway.networking.k8s.io, kind: Gateway, name: gw}"
TWO = gateway(
    "gw", http(), https(rest=host("a.example.com")), https("b", rest=host("b.example.com"))
)
PLAIN = gateway("gw")
"""One listener for plain HTTP."""


def policy(name: str, spec: str, target: str = GATEWAY, created: str = "") -> str:
    born = f", creationTimestamp: '{created}'" if created else ""
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: ClientTrafficPolicy, "
        f"metadata: {{name: {name}, namespace: default{born}}}, "
        f"spec: {{targetRefs: [{target}]{', ' + spec if spec else ''}}}}}\n"
    )


def part(section: str) -> str:
    return GATEWAY.replace("}", f", sectionName: {section}}}")


def port(engine: Engine, name: str = "ingress_http") -> nodes.ClientSettings:
    """What all hosts of a port share."""
    found = engine.ask(clientports.settings, nodes.ListenerKey(DEFAULT_FLEET, name))
    return found or nodes.ClientSettings(nodes.Sockets())


def tls(engine: Engine, name: str) -> nodes.Tls:
    found = engine.answer(hosts.secure_host, nodes.HostKey(DEFAULT_FLEET, "ingress_https", name))
    assert found is not None
    assert found.tls is not None
    return found.tls


def read(engine: Engine, name: str) -> nodes.ClientTraffic:
    """How requests for a host behind TLS are read."""
    return tls(engine, name).traffic or nodes.ClientTraffic()


def status(engine: Engine, name: str) -> tuple[str, str]:
    """What a policy is told, in short and in words."""
    found = engine.answer(STATUSES["ClientTrafficPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    (ancestor,) = found.ancestors
    (condition,) = ancestor.conditions
    return status_text.short(ancestor.conditions)[0], condition.message


def answers(engine: Engine, name: str, listener_: str = "ingress_https") -> list[nodes.Action]:
    found = engine.answer(hosts.virtual_host, nodes.HostKey(DEFAULT_FLEET, listener_, name))
    return [it.action for it in found.routes] if found is not None else []


HOPS = "clientIPDetection: {xForwardedFor: {numTrustedHops: %d}}"


def test_the_nearest_policy_holds_and_it_alone() -> None:
    it = world(GIVEN + TWO + policy("whole", HOPS % 1))
    assert [read(it, f"{name}.example.com").address for name in "ab"] == [
        nodes.ClientAddress(hops=1)
    ] * 2
    apply(it, policy("part", "path: {disableMergeSlashes: true}", part("b")))
    assert read(it, "a.example.com") == nodes.ClientTraffic(address=nodes.ClientAddress(hops=1))
    assert read(it, "b.example.com") == nodes.ClientTraffic(merge_slashes=False)
    delete(it, "ClientTrafficPolicy", "whole")
    assert tls(it, "a.example.com").traffic is None
    delete(it, "ClientTrafficPolicy", "part")
    assert tls(it, "b.example.com").traffic is None


def test_of_two_policies_for_one_target_the_older_holds_and_the_other_is_told() -> None:
    old, young = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    both = policy("a", HOPS % 1, created=young) + policy("b", HOPS % 2, created=old)
    it = world(GIVEN + PLAIN + both)
    found = port(it).traffic
    assert found is not None
    assert found.address == nodes.ClientAddress(hops=2)
    assert status(it, "b")[0] == "Accepted"
    assert status(it, "a")[0] == "Accepted=False/Conflicted"


SETS = "allowedListeners: {namespaces: {from: Same}}"


def of_set(name: str) -> str:
    return GATEWAY.replace("Gateway", "ListenerSet").replace("gw", name)


def test_a_policy_of_a_listener_set_holds_there() -> None:
    given = gateway("gw", http("own", port=81), rest=SETS)
    it = world(GIVEN + given + listener_set("set", http()) + policy("gw", HOPS % 1))
    assert _hops(it) == 1
    apply(it, policy("set", HOPS % 2, of_set("set")))
    assert _hops(it) == 2
    assert status(it, "set")[0] == "Accepted"


def _hops(engine: Engine) -> int | None:
    traffic = port(engine).traffic
    return traffic.address.hops if traffic is not None and traffic.address is not None else None


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("", 600.0),
        (policy("p", HOPS % 1), 600.0),
        (policy("p", "timeout: {http: {streamIdleTimeout: 1m}}"), None),
        (configuration("envoy: {timeouts: {streamIdleTimeout: 1m}}"), None),
    ],
)
def test_a_limit_of_silence_that_somebody_sets_holds_for_every_request(
    given: str, seconds: float | None
) -> None:
    rule = "{timeouts: {request: 10m}, backendRefs: [{name: s1, port: 80}]}"
    it = world(GIVEN + PLAIN + route("r", rule) + given)
    (action,) = answers(it, "*", "ingress_http")
    assert isinstance(action, nodes.Forward)
    assert action.idle_timeout == seconds


def test_on_a_shared_port_the_oldest_policy_holds_and_the_others_are_told() -> None:
    listeners = gateway("gw", http("one", host("one.com")), http("two", host("two.com")))
    old, young = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    one = policy("one", HOPS % 1, part("one"), young)
    it = world(GIVEN + listeners + one)
    assert _hops(it) is None, "the other listener is nobody's"
    told, words = status(it, "one")
    assert told == "Accepted=False/Conflicted"
    assert "port 80 share: other listeners of Gateways there are not under a policy" in words
    apply(it, policy("two", HOPS % 2, part("two"), old))
    assert _hops(it) == 2
    assert status(it, "two")[0] == "Accepted"
    assert "the older ClientTrafficPolicy default/two holds there" in status(it, "one")[1]
    delete(it, "ClientTrafficPolicy", "two")
    apply(it, policy("whole", HOPS % 3, created=old))
    assert _hops(it) == 3


def test_on_a_shared_port_the_policy_of_the_gateway_holds_before_those_of_sets() -> None:
    sets = [listener_set(name, http(name, host(f"{name}.com"))) for name in "bc"]
    born = "2026-01-0{}T00:00:00Z".format
    policies = [
        policy("b", HOPS % 1, of_set("b"), born(1)),
        policy("c", HOPS % 2, of_set("c"), born(2)),
        policy("gw", HOPS % 3, created=born(3)),
    ]
    given = gateway("gw", http("a", host("a.com")), rest=SETS)
    it = world(GIVEN + given + "".join((*sets, *policies)))
    assert _hops(it) == 3
    assert status(it, "gw") == ("Accepted", "the policy applies")
    for lost in "bc":
        assert status(it, lost)[0] == "Accepted=False/Conflicted"
        assert "ClientTrafficPolicy default/gw of the Gateway holds there" in status(it, lost)[1]
    apply(it, gateway("gw", http("a", host("a.com"), port=81), rest=SETS))
    delete(it, "ClientTrafficPolicy", "gw")
    assert _hops(it) == 1
    assert "the older ClientTrafficPolicy default/b holds there" in status(it, "c")[1]


def classic_proxy(fqdn: str, tls: str = "null") -> str:
    """An HTTPProxy."""
    return f"""---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: proxy, namespace: default}}
spec:
  virtualhost: {{fqdn: {fqdn}, tls: {tls}}}
  routes: [{{services: [{{name: s1, port: 80}}]}}]
"""


def test_hosts_of_other_apis_are_not_touched() -> None:
    it = world(GIVEN + PLAIN + policy("a", HOPS % 1) + classic_proxy("proxy.com"))
    assert port(it) == nodes.ClientSettings(nodes.Sockets())
    told, words = status(it, "a")
    assert told == "Accepted=False/Conflicted"
    assert "hosts of HTTPProxies or Ingresses are served there, too" in words
    delete(it, "HTTPProxy", "proxy")
    assert _hops(it) == 1
    assert status(it, "a") == ("Accepted", "the policy applies")


def test_behind_tls_only_sockets_are_shared() -> None:
    asked = "tcpKeepalive: {probes: 3}, " + HOPS % 1
    it = world(GIVEN + TWO + policy("a", asked, part("b")))
    assert port(it, "ingress_https").sockets == nodes.Sockets()
    assert read(it, "b.example.com").address == nodes.ClientAddress(hops=1)
    told, words = status(it, "a")
    assert told == "Accepted=True/Conflicted"
    assert "port 443 share" in words
    apply(it, policy("a", asked))
    assert port(it, "ingress_https").sockets.keepalive == nodes.Keepalive(3, 7200, 75)
    assert port(it).sockets.keepalive == nodes.Keepalive(3, 7200, 75)


SOCKETS = [
    ("tcpKeepalive: {probes: 3, idleTime: 20m, interval: 60s}", {"keepalive": (3, 1200, 60)}),
    ("tcpKeepalive: {idleTime: 1ms}", {"keepalive": (9, 1, 75)}),
    ("enableProxyProtocol: true", {"proxy_protocol": "required"}),
    ("enableProxyProtocol: false", {"proxy_protocol": "off"}),
    ("enableProxyProtocol: false, proxyProtocol: {}", {"proxy_protocol": "required"}),
    ("proxyProtocol: {}", {"proxy_protocol": "required"}),
    ("enableProxyProtocol: true, proxyProtocol: {optional: true}", {"proxy_protocol": "optional"}),
    ("connection: {bufferLimit: 1024}", {"buffer_limit": 1024}),
    ("connection: {bufferLimit: 1.5Ki, socketBufferLimit: 1M}",
     {"buffer_limit": 1536, "kernel_buffer": 1_000_000}),
    ("connection: {maxAcceptPerSocketEvent: 7}", {"accepts_per_event": 7}),
    ("timeout: {tcp: {connectionInspectionTimeout: 1s}}", {"inspection": 1.0}),
    ("tls: {fingerprints: [JA3]}", {"fingerprints": ("JA3",)}),
    ("http3: {}", {"http3": True}),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "expected"), SOCKETS)
def test_how_connections_are_taken(spec: str, expected: dict[str, Any]) -> None:
    it = world(GIVEN + PLAIN + policy("a", spec))
    assert port(it).sockets == replace(nodes.Sockets(), **expected)
    assert status(it, "a")[0] == "Accepted"


X = nodes.ValueMatch("prefix", "x-internal-", ignore_case=True)
TRAFFIC = [
    (HOPS % 2, {"address": nodes.ClientAddress(hops=2)}),
    ("clientIPDetection: {xForwardedFor: {trustedCIDRs: [10.0.0.1/8],"
     " disableXForwardedForAppend: true}}",
     {"address": nodes.ClientAddress(proxies=("10.0.0.0/8",), is_appended=False)}),
    ("clientIPDetection: {customHeader: {name: X-Client, failClosed: true}}",
     {"address": nodes.ClientAddress(header="x-client", fails_closed=True)}),
    ("clientIPDetection: {directSourceIP: {}}", {"address": nodes.ClientAddress()}),
    ("headers: {enableEnvoyHeaders: false}", {"envoy_headers": False}),
    ("headers: {disableRateLimitHeaders: true}", {"hides_limits": True}),
    ("http1: {preserveHeaderCase: true}", {"keeps_case": True}),
    ("headers: {withUnderscoresAction: DropHeader}", {"underscores": "Drop"}),
    ("headers: {xForwardedClientCert: {mode: SanitizeSet, certDetailsToAdd: [Subject, URI]}}",
     {"certificate_mode": "SanitizeSet", "certificate_details": ("Subject", "URI")}),
    ("headers: {xForwardedClientCert: {}}", {"certificate_mode": "Sanitize"}),
    ("headers: {requestID: Disable}", {"request_id": "Disable"}),
    ("headers: {preserveXRequestID: true}", {"request_id": "PreserveOrGenerate"}),
    ("headers: {preserveXRequestID: false}", {"request_id": "Generate"}),
    ("headers: {earlyRequestHeaders: {set: [{name: X-A, value: '%'}], remove: [X-B],"
     " removeOnMatch: [{type: Prefix, value: X-Internal-}]}}",
     {"requests": nodes.HeaderChanges(set=(("x-a", "%"),), remove=("x-b",), remove_matching=(X,))}),
    ("headers: {lateResponseHeaders: {add: [{name: a, value: b}],"
     " addIfAbsent: [{name: c, value: d}]}}",
     {"answers": nodes.HeaderChanges(add=(("a", "b"),), add_if_absent=(("c", "d"),))}),
    ("headers: {maxRequestHeaderLimit: 1025}", {"header_kib": 2}),
    ("headers: {host: {stripTrailingHostDot: false}}", {"strip_host_dot": False}),
    ("path: {escapedSlashesAction: KeepUnchanged}", {"escaped_slashes": "Keep"}),
    ("path: {disableMergeSlashes: true}", {"merge_slashes": False}),
    ("healthCheck: {path: /ready}", {"health_path": "/ready"}),
    ("scheme: MatchBackend", {"backend_scheme": True}),
    ("timeout: {http: {requestReceivedTimeout: 2s, requestHeadersReceivedTimeout: 3s}}",
     {"request": 2.0, "request_headers": 3.0}),
    ("timeout: {http: {idleTimeout: 0s, streamIdleTimeout: 1m}}",
     {"idle": 0.0, "stream_idle": 60.0}),
    ("timeout: {tcp: {tlsHandshakeTimeout: 1s}}", {"tls_handshake": 1.0}),
    ("connection: {connectionLimit: {value: 5, closeDelay: 1s}}",
     {"connections": nodes.OpenConnections(5, 1.0)}),
    ("connection: {connectionLimit: {maxConnectionDuration: 1h, maxStreamDuration: 1m}}",
     {"max_connection": 3600.0, "max_stream": 60.0}),
    ("connection: {connectionLimit: {maxRequestsPerConnection: 1}}", {"max_requests": 1}),
    ("http1: {enableTrailers: true, disableSafeMaxConnectionDuration: true}",
     {"trailers": True, "abrupt_end": True}),
    ("http1: {ignoredUpgradeTypes: [{type: Exact, value: H2C}]}",
     {"ignored_upgrades": (nodes.ValueMatch("exact", "h2c", ignore_case=True),)}),
    ("http2: {initialStreamWindowSize: 1Mi, initialConnectionWindowSize: 2Mi}",
     {"stream_window": 1 << 20, "connection_window": 2 << 20}),
    ("http2: {maxConcurrentStreams: 7, onInvalidMessage: TerminateStream}",
     {"max_streams": 7, "ends_stream_only": True}),
    ("http2: {connectionKeepalive: {interval: 30s, intervalJitter: 0}}",
     {"pings": nodes.Pings(30.0, jitter=0)}),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "expected"), TRAFFIC)
def test_how_requests_are_read(spec: str, expected: dict[str, Any]) -> None:
    wanted = replace(nodes.ClientTraffic(), **expected)
    it = world(GIVEN + TWO + policy("a", spec))
    assert read(it, "a.example.com") == wanted
    assert port(it).traffic == wanted
    assert status(it, "a")[0] == "Accepted"


TERMS = [
    ("minVersion: '1.3'", {"minimum": "1.3"}),
    ("maxVersion: '1.2'", {"maximum": "1.2"}),
    ("ciphers: [AES256-SHA], ecdhCurves: [P-256]",
     {"ciphers": ("AES256-SHA",), "curves": ("P-256",)}),
    ("ciphers: [TLS_RSA_WITH_AES_256_CBC_SHA, AES128-SHA]",
     {"ciphers": ("AES256-SHA", "AES128-SHA")}),
    ("signatureAlgorithms: [ed25519]", {"signatures": ("ed25519",)}),
    ("alpnProtocols: [http/1.1]", {"http_versions": ("HTTP/1.1",)}),
    ("alpnProtocols: []", {"http_versions": nodes.NOTHING_OFFERED}),
    ("alpnProtocols: [spdy]", {}),
    ("session: {resumption: {stateless: {}}}", {"resumption": (True, False)}),
    ("clientValidation: {mode: Request}",
     {"clients": nodes.ClientValidation(is_optional=True, accepts_untrusted=True)}),
    ("clientValidation: {mode: RequireAny}",
     {"clients": nodes.ClientValidation(accepts_untrusted=True)}),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "expected"), TERMS)
def test_how_tls_is_terminated(spec: str, expected: dict[str, Any]) -> None:
    it = world(GIVEN + TWO)
    bare = tls(it, "a.example.com")
    apply(it, policy("a", f"tls: {{{spec}}}"))
    assert tls(it, "a.example.com") == replace(bare, **expected)
    assert status(it, "a")[0] == "Accepted"


ONLY_NEW, OLD = (
    configuration(f"envoy: {{listener: {{tls: {{{it}}}}}}}")
    for it in ("minimumProtocolVersion: '1.3'", "maximumProtocolVersion: '1.2'")
)


@pytest.mark.parametrize(
    ("given", "spec", "versions", "field"),
    [
        (ONLY_NEW, "minVersion: '1.2'", ("1.3", "1.3"), "minVersion: has no effect"),
        (ONLY_NEW, "maxVersion: '1.2'", ("1.3", "1.3"), "maxVersion: has no effect"),
        (ONLY_NEW, "minVersion: '1.3'", ("1.3", "1.3"), ""),
        (OLD, "maxVersion: '1.3'", ("1.2", "1.2"), "maxVersion: has no effect"),
        (OLD, "maxVersion: '1.2'", ("1.2", "1.2"), ""),
        (OLD, "minVersion: '1.3'", ("1.3", "1.3"), ""),
    ],
)
def test_no_policy_leaves_the_versions_of_the_configuration(
    given: str, spec: str, versions: tuple[str, str], field: str
) -> None:
    it = world(GIVEN + TWO + given + policy("a", f"tls: {{{spec}}}"))
    found = tls(it, "a.example.com")
    assert (found.minimum, found.maximum) == versions
    words = status(it, "a")[1]
    assert field in words if field else words == "the policy applies"


CA = nodes.Trust((ObjectRef("Secret", "default", "ca"),))
REFS = "caCertificateRefs: [{name: ca}]"
HASH, SPKI = "ab" * 32, "NvqYIYSbgK2vCJpQhObf77vv+bQWtc5ek5RIOwPiC9A="
NAME = nodes.ClientName("DNS", nodes.ValueMatch("suffix", ".example.com"))
OID = nodes.ClientName("OTHER_NAME", nodes.ValueMatch("exact", "me"), "1.3.6.1")
VALIDATIONS = [
    ("", {}),
    ("mode: VerifyIfGiven", {"is_optional": True}),
    ("optional: true", {"is_optional": True}),
    ("optional: true, mode: RequireAndVerify", {}),
    ("allowExpiredCertificate: true", {"takes_expired": True}),
    (f"certificateHashes: [{HASH}], spkiHashes: [{SPKI!r}]", {"hashes": (HASH,), "spki": (SPKI,)}),
    ("subjectAltNames: {dnsNames: [{type: Suffix, value: .example.com}],"
     " otherNames: [{oid: 1.3.6.1, value: me}]}", {"names": (NAME, OID)}),
]  # fmt: skip


def test_authorities_against_which_nothing_is_checked_are_told() -> None:
    it = world(GIVEN + pairs.authority("ca") + TWO)
    apply(it, policy("a", f"tls: {{clientValidation: {{{REFS}, mode: RequireAny}}}}"))
    found = tls(it, "a.example.com").clients
    assert found == nodes.ClientValidation(accepts_untrusted=True)
    told, message = status(it, "a")
    assert told == "Accepted"
    assert "caCertificateRefs: has no effect: the mode RequireAny checks nothing" in message


@pytest.mark.parametrize(("spec", "expected"), VALIDATIONS)
def test_what_clients_must_show(spec: str, expected: dict[str, Any]) -> None:
    it = world(GIVEN + pairs.authority("ca") + TWO)
    apply(it, policy("a", f"tls: {{clientValidation: {{{REFS}, {spec}}}}}", part("https")))
    assert tls(it, "a.example.com").clients == replace(nodes.ClientValidation(CA), **expected)
    assert tls(it, "b.example.com").clients is None
    assert status(it, "a")[0] == "Accepted"
    delete(it, "Secret", "ca")
    assert answers(it, "a.example.com") == [nodes.Respond(503)]
    assert "spec.tls.clientValidation.caCertificateRefs[0]" in status(it, "a")[1]


CLOSING = [
    (f"tls: {{clientValidation: {{{REFS}}}}}", "caCertificateRefs[0]: Secret default/ca not found"),
    ("tls: {clientValidation: {}}", "clientValidation: must have a caCertificateRefs"),
    ("tls: {clientValidation: {caCertificateRefs: [{name: ca, namespace: other}]}}",
     "ReferenceGrants do not permit it"),
    ("tls: {clientValidation: {caCertificateRefs: [{kind: Service, name: ca}]}}",
     "kind Service is not supported"),
    ("tls: {clientValidation: {mode: Request, crl: {refs: [{name: crl}]}}}",
     "clientValidation.crl: has no meaning with the mode Request"),
    (f"tls: {{clientValidation: {{mode: RequireAny, certificateHashes: [{HASH}]}}}}",
     "clientValidation.certificateHashes: has no meaning with the mode RequireAny"),
    (f"tls: {{clientValidation: {{mode: Request, spkiHashes: [{SPKI!r}]}}}}",
     "clientValidation.spkiHashes: has no meaning with the mode Request"),
    ("tls: {clientValidation: {mode: RequireAny, subjectAltNames: {uris: [{value: a}]}}}",
     "clientValidation.subjectAltNames: has no meaning with the mode RequireAny"),
    ("tls: {clientValidation: {mode: Later}}", "clientValidation.mode: 'Later' is none of"),
    ("clientIPDetection: {xForwardedFor: {trustedCIDRs: [10.0.0.0/8, x]}}",
     "xForwardedFor.trustedCIDRs[1]: 'x' is not a range"),
    ("headers: {earlyRequestHeaders: {remove: [Host]}}", "earlyRequestHeaders.remove[0]: 'Host'"),
    ("headers: {earlyRequestHeaders: {set: [{name: x-forwarded-for, value: a}]}}",
     "earlyRequestHeaders.set[0].name"),
    ("headers: {earlyRequestHeaders: {removeOnMatch: [{type: Prefix, value: x-f}]}}",
     "it matches x-forwarded"),
    ("headers: {lateResponseHeaders: {removeOnMatch: [{type: RegularExpression, value: '(('}]}}",
     "lateResponseHeaders.removeOnMatch[0].value: it is not a valid RE2"),
    ("headers: {lateResponseHeaders: {removeOnMatch: [{type: RegularExpression, value: 'a)|(b'}]}}",
     "lateResponseHeaders.removeOnMatch[0].value: it is not a valid RE2"),
    ("healthCheck: {path: ready}", "healthCheck.path: 'ready' is no path"),
]  # fmt: skip


LISTS = [
    ("{name: gone}", "crl.refs[0]: Secret default/gone not found"),
    ("{kind: ConfigMap, name: gone}", "crl.refs[0]: ConfigMap default/gone not found"),
    ("{name: ca}", "crl.refs[0]: Secret default/ca has no ca.crl"),
    ("{name: list, namespace: other}", "ReferenceGrants do not permit it"),
    ("{kind: ClusterTrustBundle, name: list}", "is not supported; use ConfigMap or Secret"),
]


@pytest.mark.parametrize("text", [HASH[1:], f"ab:{HASH[2:]}", f"{HASH}:", HASH.replace("a", "x")])
def test_a_hash_that_envoy_does_not_take_closes_the_listener(text: str) -> None:
    it = world(GIVEN + pairs.authority("ca") + TWO)
    asked = f"tls: {{clientValidation: {{{REFS}, certificateHashes: ['%s']}}}}"
    apply(it, policy("a", asked % ":".join(["ab"] * 32)))
    assert status(it, "a")[0] == "Accepted"
    apply(it, policy("a", asked % text))
    assert answers(it, "a.example.com") == [nodes.Respond(503)]
    assert "certificateHashes[0]: " in status(it, "a")[1]


@pytest.mark.parametrize(("ref", "words"), LISTS)
def test_what_cannot_tell_who_is_revoked_closes_the_listener(ref: str, words: str) -> None:
    it = world(GIVEN + pairs.authority("ca") + TWO)
    apply(it, policy("a", f"tls: {{clientValidation: {{{REFS}, crl: {{refs: [{ref}]}}}}}}"))
    assert answers(it, "a.example.com") == [nodes.Respond(503)]
    assert words in status(it, "a")[1]


def test_a_list_that_vanishes_closes_the_listener() -> None:
    it = world(GIVEN + pairs.authority("ca") + pairs.revocations("list", "ca.crl") + TWO)
    spec = "crl: {refs: [{name: list}], onlyVerifyLeafCertificate: true}"
    apply(it, policy("a", f"tls: {{clientValidation: {{{REFS}, {spec}}}}}"))
    wanted = CA._replace(lists=(ObjectRef("Secret", "default", "list"),))
    expected = nodes.ClientValidation(wanted, only_leaf_revocations=True)
    assert tls(it, "a.example.com").clients == expected
    delete(it, "Secret", "list")
    assert answers(it, "a.example.com") == [nodes.Respond(503)]


@pytest.mark.parametrize(("spec", "words"), CLOSING)
def test_what_keeps_somebody_out_and_is_not_served_closes_its_listeners(
    spec: str, words: str
) -> None:
    routes = route("r", parents="{name: gw, sectionName: https}, {name: gw, sectionName: b}")
    it = world(GIVEN + TWO + routes + policy("a", spec, part("https")))
    assert answers(it, "a.example.com") == [nodes.Respond(503)]
    assert isinstance(answers(it, "b.example.com")[0], nodes.Forward)
    told, message = status(it, "a")
    assert told == "Accepted=False/Invalid"
    assert words in message
    assert "its listeners answer 503" in message
    delete(it, "ClientTrafficPolicy", "a")
    assert isinstance(answers(it, "a.example.com")[0], nodes.Forward)


@pytest.mark.parametrize(
    ("listener_", "expected"),
    [
        ("ingress_http", ["/p/... -> 503", "/p -> default/s1:80", "/ -> 503"]),
        ("ingress_https", ["/ -> 503"]),
    ],
)
def test_a_closed_listener_lets_nobody_in_by_another_api(
    listener_: str, expected: list[str]
) -> None:
    """Over TLS the HTTPProxy relied on its check of clients; plain HTTP asks them for nothing."""
    routed = route("r", on("/p", "s1"), hosts=("a.example.com",))
    proxy = classic_proxy("a.example.com").replace(
        "[{serv", "[{permitInsecure: true, conditions: [{prefix: /p}], serv"
    )
    check = f"tls: {{clientValidation: {{{REFS}}}}}"
    open_ = pairs.authority("ca") + proxy.replace("null", "{secretName: cert}")
    it = world(GIVEN + TWO + open_ + routed + policy("a", check))
    assert routes(it, "a.example.com", listener_)[0] == "/p/... -> default/s1:80"
    delete(it, "Secret", "ca")
    assert routes(it, "a.example.com", listener_) == expected


IGNORED = [
    ("tls: {minVersion: '1.0'}", "spec.tls.minVersion: has no effect: TLS 1.0 is not served"),
    ("tls: {ciphers: [RC4]}", "spec.tls.ciphers[0]: has no effect: 'RC4' is none of"),
    ("connection: {bufferLimit: 50%}", "spec.connection.bufferLimit: has no effect: '50%' is no"),
    ("headers: {maxRequestHeaderLimit: 9Mi}", "maxRequestHeaderLimit: has no effect"),
    ("http2: {initialStreamWindowSize: 1}", "initialStreamWindowSize: has no effect: 1 is not"),
    ("http2: {connectionKeepalive: {interval: 1s, timeout: 0s}}", "timeout: has no effect"),
    ("http1: {http10: {useDefaultHost: true}}", "useDefaultHost: has no effect"),
    ("grpc: {enableWeb: false}", "spec.grpc.enableWeb: has no effect: gRPC-Web is served"),
    ("path: {escapedSlashesAction: Later}", "escapedSlashesAction: has no effect: 'Later'"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "words"), IGNORED)
def test_what_is_not_served_and_opens_nothing_is_told(spec: str, words: str) -> None:
    it = world(GIVEN + TWO + policy("a", spec))
    assert tls(it, "a.example.com") == tls(world(GIVEN + TWO), "a.example.com")
    told, message = status(it, "a")
    assert told == "Accepted"
    assert words in message


def _unread(name: str, created: datetime | None = None) -> UnreadPolicy:
    """A policy for the Gateway that cannot be read."""
    target = PolicyTargetReference(group=GROUP, kind="Gateway", name="gw")
    return UnreadPolicy(
        metadata=ObjectMeta(name=name, namespace="default", creation_timestamp=created),
        spec=PolicyTargets(target_refs=(target,)),
    )


def test_a_policy_that_cannot_be_read_closes_its_listeners() -> None:
    it = world(GIVEN + TWO + route("r"))
    assert isinstance(answers(it, "*", "ingress_http")[0], nodes.Forward)
    it.write(tables.CLIENT_TRAFFIC_POLICIES, key("a"), _unread("a"))
    it.settle()
    assert answers(it, "*", "ingress_http") == [nodes.Respond(503)]
    assert status(it, "a")[0] == "Accepted=False/Invalid"


def test_a_policy_that_holds_nowhere_does_not_say_that_it_closes_listeners() -> None:
    young = datetime(2026, 1, 2, tzinfo=UTC)
    it = world(GIVEN + PLAIN + route("r") + policy("b", HOPS % 2, created="2026-01-01T00:00:00Z"))
    asks = "tls: {clientValidation: {spkiHashes: [abc]}}"
    lost = "the older ClientTrafficPolicy default/b applies to Gateway default/gw"
    apply(it, policy("a", asks, created=young.isoformat()))
    assert status(it, "a") == ("Accepted=False/Conflicted", lost)
    it.write(tables.CLIENT_TRAFFIC_POLICIES, key("a"), _unread("a", young))
    it.settle()
    assert status(it, "a") == ("Accepted=False/Conflicted", lost)
    assert isinstance(answers(it, "*", "ingress_http")[0], nodes.Forward)
    delete(it, "ClientTrafficPolicy", "b")
    assert status(it, "a")[0] == "Accepted=False/Invalid"
    assert "so its listeners answer 503" in status(it, "a")[1]


def test_what_the_gateway_says_of_clients_beside_a_policy_closes_the_listener() -> None:
    refs = REFS.replace("name", "group: '', kind: Secret, name")
    frontend = f"tls: {{frontend: {{default: {{validation: {{{refs}}}}}}}}}"
    given = gateway("gw", https(rest=host("a.example.com")), rest=frontend)
    it = world(GIVEN + pairs.authority("ca") + given + route("r"))
    assert isinstance(answers(it, "a.example.com")[0], nodes.Forward)
    apply(it, policy("a", "tls: {clientValidation: {mode: Request}}"))
    assert answers(it, "a.example.com") == [nodes.Respond(503)]
    assert "the Gateway says what clients must show, too" in status(it, "a")[1]


def test_streams() -> None:
    limits = (
        "connection: {connectionLimit: {value: 5, maxConnectionDuration: 1h}},"
        " timeout: {tcp: {idleTimeout: 1m, tlsHandshakeTimeout: 2s}}"
    )
    tcp = listener("tcp", 90, "TCP")
    passed = listener("tls", 443, "TLS", "tls: {mode: Passthrough}, hostname: t.example.com")
    routes = stream_route("TCPRoute", "r", "{name: s1, port: 80}") + stream_route(
        "TLSRoute", "t", "{name: s1, port: 80}", "[t.example.com]"
    )
    it = world(GIVEN + gateway("gw", tcp, passed) + routes + policy("a", limits))
    for at, name in (("tcp-90", "*"), ("ingress_https", "t.example.com")):
        found = it.answer(gateway_hosts.stream_of, nodes.HostKey(DEFAULT_FLEET, at, name))
        assert found is not None
        assert (found.idle_timeout, found.connections) == (60.0, nodes.OpenConnections(5))
        assert (found.longest, found.handshake) == (3600.0, 2.0)
    apply(it, policy("a", "headers: {earlyRequestHeaders: {remove: [Host]}}"))
    for at, name in (("tcp-90", "*"), ("ingress_https", "t.example.com")):
        found = it.answer(gateway_hosts.stream_of, nodes.HostKey(DEFAULT_FLEET, at, name))
        assert found == gateway_hosts.CLOSED


def test_a_tls_stream_lets_nobody_in_where_any_certificate_would_do() -> None:
    given = listener(
        "tls", 443, "TLS", "hostname: t.example.com, tls: {certificateRefs: [{name: cert}]}"
    )
    it = world(
        GIVEN + gateway("gw", given) + policy("a", "tls: {clientValidation: {mode: RequireAny}}")
    )
    assert tls(it, "t.example.com").clients == nodes.ClientValidation()


@pytest.mark.parametrize(
    ("targets", "spec", "told"),
    [
        (("raw",), "minVersion: '1.3'", "raw"),
        (("passed", "raw", "ended"), f"clientValidation: {{{REFS}}}", "passed, raw"),
        (("ended",), "minVersion: '1.3'", ""),
        ((), "minVersion: '1.3'", ""),
        (("raw",), "", ""),
    ],
)
def test_settings_of_tls_are_told_for_listeners_that_are_named_and_do_not_end_it(
    targets: tuple[str, ...], spec: str, told: str
) -> None:
    of_tls = "hostname: %s.com, tls: {mode: %s, certificateRefs: [{name: cert}]}"
    given = (
        listener("raw", 90, "TCP"),
        listener("passed", 443, "TLS", of_tls % ("a", "Passthrough")),
        listener("ended", 443, "TLS", of_tls % ("b", "Terminate")),
    )
    named = ", ".join(map(part, targets)) or GATEWAY
    it = world(
        GIVEN
        + pairs.authority("ca")
        + gateway("gw", *given)
        + policy("a", f"tls: {{{spec}}}", named)
    )
    words = f"; spec.tls: has no effect: TLS does not end at {told}" if told else ""
    assert status(it, "a") == ("Accepted", f"the policy applies{words}")


NO_REQUESTS = (
    "spec.path, spec.timeout.http: has no effect on %s, whose connections have no requests"
)
NO_TLS = "spec.tls: has no effect: TLS does not end at %s"
OF_REQUESTS = "path: {disableMergeSlashes: true}, timeout: {http: {idleTimeout: 1m}}"
OF_DATAGRAMS = "spec: has no effect: packets of UDP at dns have no connections"


@pytest.mark.parametrize(
    ("target", "spec", "told"),
    [
        (part("raw"), OF_REQUESTS, NO_REQUESTS % "raw"),
        (part("raw"), "tcpKeepalive: {probes: 3}", ""),
        (part("http"), OF_REQUESTS, ""),
        (part("dns"), "tcpKeepalive: {probes: 3}", OF_DATAGRAMS),
        (GATEWAY, OF_REQUESTS, ""),
        (GATEWAY, "tls: {minVersion: '1.3'}", NO_TLS % "its listeners"),
    ],
)
def test_settings_are_told_where_none_of_their_listeners_can_have_them(
    target: str, spec: str, told: str
) -> None:
    ports = listener("raw", 90, "TCP"), listener("dns", 53, "UDP"), listener("http", 80, "HTTP")
    it = world(GIVEN + gateway("gw", *ports) + policy("a", spec, target))
    assert status(it, "a")[1] == "; ".join(filter(None, ("the policy applies", told)))


def test_of_a_policy_that_closes_its_listeners_nothing_is_told_to_have_no_effect() -> None:
    spec = f"{OF_REQUESTS}, headers: {{earlyRequestHeaders: {{remove: [Host]}}}}"
    given = GIVEN + gateway("gw", listener("raw", 90, "TCP"))
    assert "no effect" not in status(world(given + policy("a", spec, part("raw"))), "a")[1]


def test_http3_is_served_on_a_port_whose_policy_asks_for_it() -> None:
    at = nodes.ListenerKey(DEFAULT_FLEET, "ingress_https")
    it = world(GIVEN + TWO)
    assert not fleets.serves_http3(it, at)
    apply(it, policy("a", "http3: {}"))
    assert fleets.serves_http3(it, at)
    apply(it, policy("a", "http3: {}, proxyProtocol: {}"))
    assert not fleets.serves_http3(it, at)
    apply(it, policy("a", "http3: {}"))
    answers_ = it.answer(hosts.secure_host, nodes.HostKey(*at, "a.example.com"))
    assert answers_ is not None
    assert answers_.can_speak_http3
    apply(it, policy("a", "http3: {}, connection: {connectionLimit: {value: 1}}"))
    answers_ = it.answer(hosts.secure_host, nodes.HostKey(*at, "a.example.com"))
    assert answers_ is not None
    assert not answers_.can_speak_http3


UNSECURED = "has no effect: HTTP/3 is not served at its listeners, only at HTTPS listeners"
UNNAMED = "has no effect on port 443 for hosts that neither a listener nor a route names"
PROXIED = "has no effect: connections of its ports begin with the PROXY protocol"
UNCHECKED = (
    "has no effect: certificates of clients (tls.clientValidation) are not checked over HTTP/3"
)
UNCOUNTED = "has no effect: connections are not counted (connection.connectionLimit) over HTTP/3"
EVERY_PORT = configuration("envoy: {listener: {useProxyProtocol: true}}")


@pytest.mark.parametrize(
    ("given", "spec", "words"),
    [
        (TWO + route("r"), "", ""),
        (TWO, "proxyProtocol: {}", PROXIED),
        (TWO, "enableProxyProtocol: true", PROXIED),
        (TWO + EVERY_PORT, "", PROXIED),
        (TWO + EVERY_PORT, "enableProxyProtocol: false", ""),
        (PLAIN + route("r"), "proxyProtocol: {}", UNSECURED),
        (TWO, "tls: {maxVersion: '1.2'}", "has no effect: it needs TLS 1.3"),
        (TWO + OLD, "", "has no effect: it needs TLS 1.3"),
        (TWO + OLD, "tls: {minVersion: '1.3'}", ""),
        (TWO, "tls: {clientValidation: {mode: Request}}", UNCHECKED),
        (TWO, "connection: {connectionLimit: {value: 1}}", UNCOUNTED),
        (gateway("gw", https()), "", ""),
        (gateway("gw", https()) + route("r", hosts=("a.example.com",)), "", ""),
        (gateway("gw", https(), https("b", rest=host("b.com"))) + route("r"), "", UNNAMED),
    ],
)  # fmt: skip
def test_where_http3_is_asked_for_and_not_served_is_told(given: str, spec: str, words: str) -> None:
    it = world(GIVEN + given + policy("a", f"http3: {{}}, {spec}".removesuffix(", ")))
    told = f"; spec.http3: {words}" if words else ""
    assert status(it, "a") == ("Accepted", f"the policy applies{told}")


def test_the_proxy_protocol_is_off_where_a_policy_says_so_and_on_ports_that_it_holds() -> None:
    at = nodes.ListenerKey(DEFAULT_FLEET, "ingress_https")
    settings = configuration("envoy: {listener: {useProxyProtocol: true, http3: true}}")
    off, proxy = "enableProxyProtocol: false", classic_proxy("proxy.com", "{secretName: cert}")
    it = world(GIVEN + TWO + settings)
    assert not fleets.serves_http3(it, at)
    apply(it, policy("a", off))
    assert port(it, "ingress_https").sockets.proxy_protocol == "off"
    assert fleets.serves_http3(it, at)
    assert status(it, "a") == ("Accepted", "the policy applies")
    apply(it, proxy)
    assert port(it, "ingress_https").sockets.proxy_protocol is None
    assert not fleets.serves_http3(it, at)
    told, words = status(it, "a")
    assert told == "Accepted=True/Conflicted"
    assert "port 443 share: hosts of HTTPProxies or Ingresses are served there, too" in words


def test_sockets_that_cannot_be_opened_anew_keep_their_options() -> None:
    it = world(GIVEN + PLAIN + policy("a", "tcpKeepalive: {probes: 3}"))
    it.write(tables.SOCKET_OPTIONS, (), (None, None))
    it.settle()
    assert port(it).sockets.keepalive is None
    assert "take effect at the next start, on one machine" in status(it, "a")[1]
    held = clientports.options(nodes.Sockets(keepalive=nodes.Keepalive(3, 7200, 75)))
    it.write(tables.HELD_SOCKETS, (DEFAULT_FLEET, "ingress_http"), held)
    it.settle()
    assert port(it).sockets.keepalive == nodes.Keepalive(3, 7200, 75)
    assert status(it, "a") == ("Accepted", "the policy applies")


@pytest.mark.parametrize(
    ("target", "told", "words"),
    [
        (
            "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}",
            "Accepted=False/TargetNotFound",
            "is no kind that policies are for",
        ),
        (GATEWAY.replace("gw", "other"), "Accepted=False/TargetNotFound", "Gateway default/other"),
        (part("nowhere"), "Accepted=False/TargetNotFound", "has no listener nowhere"),
    ],
)
def test_targets_that_are_none(target: str, told: str, words: str) -> None:
    it = world(GIVEN + PLAIN + route("r") + policy("a", HOPS % 1, target))
    assert _hops(it) is None
    assert status(it, "a")[0] == told
    assert words in status(it, "a")[1]


@pytest.mark.parametrize("name", ["http", "nowhere"])
def test_a_policy_without_a_target_does_not_say_that_it_closes_listeners(name: str) -> None:
    asks = "tls: {clientValidation: {spkiHashes: [abc]}}"
    it = world(GIVEN + PLAIN + route("r") + policy("a", asks, part(name)))
    assert ("so its listeners answer 503" in status(it, "a")[1]) == (name == "http")
    assert ("has no listener nowhere" in status(it, "a")[1]) == (name == "nowhere")
