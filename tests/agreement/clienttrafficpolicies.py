"""Generated ClientTrafficPolicies with listeners for them: each served field at its limits."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import yaml

from tests.testbed import pairs

Document = dict[str, Any]

_TIMES = ("0s", "1ms", "10s", "1h30m", "99999h")
_NAMES = ("x-a", "X-B", "x-a_b", "a" * 200, "cookie")
_VALUES = ("one", "a b", "%", "%REQ(x)%", '"', "x" * 500, "a,b", "\\")
_BYTES = (1024, "32Ki", "1Mi", "1.5M", 65535)
_RANGES = ("10.0.0.0/8", "0.0.0.0/0", "192.0.2.1/32", "10.1.2.3/9", "::/0", "2001:db8::/32")
_CIPHERS = ("ECDHE-RSA-AES128-GCM-SHA256", "AES256-SHA", "ECDHE-ECDSA-CHACHA20-POLY1305")
_SIGNATURES = ("rsa_pss_rsae_sha256", "ecdsa_secp256r1_sha256", "ed25519", "rsa_pkcs1_sha1")
_MATCHES = ("Exact", "Prefix", "Suffix", "RegularExpression")


def _maybe(chance: Random, **fields: Callable[[], Any]) -> Document:
    """Some of the fields, each made if it is there."""
    return {name: make() for name, make in fields.items() if chance.random() < 0.6}


def _some(chance: Random, values: tuple[Any, ...]) -> list[Any]:
    return chance.sample(values, chance.randrange(1, min(4, len(values)) + 1))


def _flag(chance: Random) -> Callable[[], bool]:
    return lambda: chance.random() < 0.5


def _one(chance: Random, *values: Any) -> Callable[[], Any]:
    return lambda: chance.choice(values)


def _match(chance: Random, values: tuple[str, ...]) -> Document:
    how = chance.choice(_MATCHES)
    return {"type": how, "value": ".*x" if how == _MATCHES[-1] else chance.choice(values)}


def address(chance: Random) -> Document:
    """`clientIPDetection`."""
    forwarded = chance.choice(
        ({"numTrustedHops": chance.randrange(5)}, {"trustedCIDRs": _some(chance, _RANGES)})
    )
    appended = _maybe(chance, disableXForwardedForAppend=_flag(chance))
    header = {"name": "X-Client", **_maybe(chance, failClosed=_flag(chance))}
    made = ({"xForwardedFor": forwarded | appended}, {"customHeader": header})
    return {"clientIPDetection": chance.choice((*made, {"directSourceIP": {}}))}


def headers(chance: Random) -> Document:
    """`headers`."""
    modes = ("Sanitize", "ForwardOnly", "AppendForward", "SanitizeSet", "AlwaysForwardOnly")
    mode = chance.choice(modes)
    details = _some(chance, ("Subject", "Cert", "Chain", "DNS", "URI"))
    told = {"mode": mode} | ({"certDetailsToAdd": details} if mode in modes[2:4] else {})
    ids = {"requestID": chance.choice(("PreserveOrGenerate", "Preserve", "Generate", "Disable"))}
    made = _maybe(
        chance,
        enableEnvoyHeaders=_flag(chance),
        withUnderscoresAction=_one(chance, "Allow", "RejectRequest", "DropHeader"),
        xForwardedClientCert=lambda: told,
        earlyRequestHeaders=lambda: _changes(chance),
        lateResponseHeaders=lambda: _changes(chance),
        maxRequestHeaderLimit=_one(chance, 1, "96Ki", "8Mi"),
        host=lambda: {"stripTrailingHostDot": chance.random() < 0.5},
    )
    return {"headers": made | chance.choice((ids, {"preserveXRequestID": True}, {}))}


def _changes(chance: Random) -> Document:
    def values() -> list[Document]:
        names = _some(chance, _NAMES)
        return [{"name": it, "value": chance.choice(_VALUES)} for it in names]

    return _maybe(
        chance,
        set=values,
        add=values,
        addIfAbsent=values,
        remove=lambda: _some(chance, _NAMES),
        removeOnMatch=lambda: [_match(chance, ("x-secret", "X-Secret-"))],
    )


def paths(chance: Random) -> Document:
    """`path`, `scheme` and `healthCheck`."""
    actions = ("KeepUnchanged", "RejectRequest", "UnescapeAndForward", "UnescapeAndRedirect")
    made = _maybe(
        chance,
        escapedSlashesAction=_one(chance, *actions),
        disableMergeSlashes=_flag(chance),
    )
    return {"path": made} | _maybe(
        chance,
        scheme=_one(chance, "Preserve", "MatchBackend"),
        healthCheck=lambda: {"path": chance.choice(("/", "/healthz", "/a?b=c", "/" + "x" * 500))},
    )


def timeouts(chance: Random) -> Document:
    """`timeout`."""
    time = _one(chance, *_TIMES)
    tcp = _maybe(
        chance, idleTimeout=time, tlsHandshakeTimeout=time, connectionInspectionTimeout=time
    )
    http = _maybe(
        chance,
        requestReceivedTimeout=time,
        requestHeadersReceivedTimeout=time,
        idleTimeout=time,
        streamIdleTimeout=time,
    )
    return {"timeout": {"tcp": tcp, "http": http}}


def connections(chance: Random) -> Document:
    """`connection`."""
    time = _one(chance, *_TIMES)
    limit = _maybe(
        chance,
        maxConnectionDuration=time,
        maxRequestsPerConnection=_one(chance, 0, 1, 2**32 - 1),
        maxStreamDuration=time,
    )
    if chance.random() < 0.7:
        limit |= {"value": chance.choice((1, 5, 2**40))} | _maybe(chance, closeDelay=time)
    made = _maybe(
        chance,
        bufferLimit=_one(chance, *_BYTES),
        socketBufferLimit=_one(chance, *_BYTES),
        maxAcceptPerSocketEvent=_one(chance, 0, 1, 100),
    )
    return {"connection": made | {"connectionLimit": limit}}


def protocols(chance: Random) -> Document:
    """`http1` and `http2`."""
    window = _one(chance, 65535, "1Mi", 2**31 - 1)
    http1 = _maybe(
        chance,
        enableTrailers=_flag(chance),
        disableSafeMaxConnectionDuration=_flag(chance),
        ignoredUpgradeTypes=lambda: [_match(chance, ("h2c", "TLS/1.0"))],
    )
    pings = _maybe(
        chance,
        interval=_one(chance, "30s", "1h"),
        timeout=_one(chance, "1ms", "10s"),
        intervalJitter=_one(chance, 0, 15, 100),
        idleInterval=_one(chance, "1ms", "10s"),
    )
    http2 = _maybe(
        chance,
        initialStreamWindowSize=window,
        initialConnectionWindowSize=window,
        maxConcurrentStreams=_one(chance, 1, 100, 2**31 - 1),
        onInvalidMessage=_one(chance, "TerminateConnection", "TerminateStream"),
        connectionKeepalive=lambda: pings,
    )
    return {"http1": http1, "http2": http2}


def tls(chance: Random) -> Document:
    """`tls`."""
    made = _maybe(
        chance,
        maxVersion=_one(chance, "Auto", "1.3"),
        ecdhCurves=lambda: _some(chance, ("X25519", "P-256", "P-384")),
        signatureAlgorithms=lambda: _some(chance, _SIGNATURES),
        alpnProtocols=lambda: _some(chance, ("h2", "http/1.1")),
        fingerprints=lambda: _some(chance, ("JA3", "JA4")),
        session=lambda: {"resumption": _maybe(chance, stateless=dict, stateful=dict)},
        clientValidation=lambda: _validation(chance),
    )
    if chance.random() < 0.5:
        return {"tls": made | {"ciphers": _some(chance, _CIPHERS)}}
    return {"tls": made | {"minVersion": chance.choice(("Auto", "1.2", "1.3"))}}


def _validation(chance: Random) -> Document:
    mode = chance.choice(("Request", "RequireAny", "VerifyIfGiven", "RequireAndVerify"))
    if mode in ("Request", "RequireAny"):
        return {"mode": mode}
    san = ("a.example.com", "10.0.0.1")
    names = {
        it: [_match(chance, san)] for it in ("dnsNames", "emailAddresses", "ipAddresses", "uris")
    }
    other = {"oid": "1.3.6.1.4.1.311.20.2.3", **_match(chance, san)}
    return {"mode": mode, "caCertificateRefs": [{"name": "ca"}]} | _maybe(
        chance,
        allowExpiredCertificate=_flag(chance),
        crl=lambda: {
            "refs": [{"name": "lists"}],
            "onlyVerifyLeafCertificate": chance.random() < 0.5,
        },
        spkiHashes=lambda: ["NvqYIYSbgK2vCJpQhObf77vv+bQWtc5ek5RIOwPiC9A="],
        certificateHashes=lambda: [
            "df6ff72fe9116521268f6f2dd4966f51df479883fe7037b39f75916ac3049d1a"
        ],
        subjectAltNames=lambda: {**names, "otherNames": [other]},
    )


def sockets(chance: Random) -> Document:
    """`tcpKeepalive`, `proxyProtocol`, `enableProxyProtocol` and `http3`."""
    keepalive = _maybe(
        chance,
        probes=_one(chance, 1, 9, 2**31 - 1),
        idleTime=_one(chance, "0s", "20m", "99999h"),
        interval=_one(chance, "1ms", "75s"),
    )
    return _maybe(
        chance,
        tcpKeepalive=lambda: keepalive,
        proxyProtocol=_one(chance, {}, {"optional": True}),
        enableProxyProtocol=_flag(chance),
        http3=dict,
    )


def every(chance: Random) -> Document:
    """All of them in one policy."""
    made: Document = {}
    for field, make in FIELDS.items():
        made |= make(chance) if field != "all" else {}
    return made


FIELDS: Mapping[str, Callable[[Random], Document]] = {
    "clientIPDetection": address,
    "headers": headers,
    "path": paths,
    "timeout": timeouts,
    "connection": connections,
    "http": protocols,
    "tls": tls,
    "sockets": sockets,
    "all": every,
}


def documents(field: str, seed: int, count: int, ports: Sequence[int]) -> list[Document]:
    """A Gateway with a listener for each policy, and one for the whole of a second port."""
    chance = Random(f"{field} {seed}")
    plain = {"name": "http", "port": ports[0], "protocol": "HTTP"}
    named = [_listener(f"h{it}", ports[1]) for it in range(count)]
    found = [
        _of("GatewayClass", "contour", {"controllerName": f"{_OURS}/gateway-controller"}),
        _of("Gateway", "gw", {"gatewayClassName": "contour", "listeners": [plain, *named]}),
        _policy("whole", None, FIELDS[field](chance)),
        yaml.safe_load(pairs.revocations("lists", "ca.crl")),
    ]
    made = range(count)
    found += [_policy(f"p{it}", f"h{it}", FIELDS[field](chance)) for it in made]
    rule = {"backendRefs": [{"name": "s1", "port": 80}]}
    return [*found, _of("HTTPRoute", "r", {"parentRefs": [{"name": "gw"}], "rules": [rule]})]


_OURS = "projectcontour.io"


def _listener(name: str, port: int) -> Document:
    tls_ = {"certificateRefs": [{"name": "cert"}]}
    made = {"name": name, "port": port, "protocol": "HTTPS", "tls": tls_}
    return made | {"hostname": f"{name}.test"}


def _policy(name: str, section: str | None, spec: Document) -> Document:
    reference = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw"}
    reference |= {"sectionName": section} if section is not None else {}
    made = _of("ClientTrafficPolicy", name, {"targetRefs": [reference], **spec})
    return made | {"apiVersion": "gateway.envoyproxy.io/v1alpha1"}


def _of(kind: str, name: str, spec: Document) -> Document:
    metadata = {"name": name, "namespace": "default"}
    version = "gateway.networking.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
