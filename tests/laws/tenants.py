"""Random worlds of three tenants that share hosts, and what each of them may lose.

Nearly all that is written is right, so that much is served: a world is lost piece by piece.
Every namespace has the same Services, Secrets and the like, so that each may be referred to.
"""

import base64
import copy
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from tests.testbed import certificates, pairs, tokens

Document = dict[str, Any]

TENANTS = ("a", "b", "c")
HOSTS = ("x.com", "w.x.com", "y.com", "*.x.com")
PATHS = ("/", "/p", "/p/q", "/r")
INSIDE = "10.0.0.1"
"""The address that guards let in."""
OUTSIDE = "192.0.2.1"
"""An address that they keep out."""
_GROUP = "gateway.networking.k8s.io"
_ENVOY = "gateway.envoyproxy.io"
_RANGE = [{"source": "Peer", "cidr": "10.0.0.0/8"}]
_LIMIT = {"local": {"requests": 5, "unit": "minute"}}
_SHARED: Document = {"global": {"descriptors": [{"entries": [{"remoteAddress": {}}]}]}}
_DENIED = [{"source": "Peer", "cidr": f"{OUTSIDE}/32"}]

Breaks = list[tuple[Document, str, Any]]
"""What breaks the guards of an object: a part of it, a field of that, a value that is not valid."""


class Loss(NamedTuple):
    """What is lost in a world."""

    words: str
    changes: list[tuple[Document, Document | None]]
    """Objects, and what each becomes; None: it is deleted."""

    @property
    def emptied_proxies(self) -> set[tuple[str, str, str]]:
        """The HTTPProxies whose routes are gone, with those that they include: kind, namespace,
        name."""
        included = (it for was in self._emptied for it in was["spec"].get("includes", ()))
        named = (*(it["metadata"] for it in self._emptied), *included)
        return {("HTTPProxy", it["namespace"], it["name"]) for it in named}

    @property
    def left_hosts(self) -> set[str]:
        """The hosts of roots that lose all their routes."""
        specs = (it["spec"] for it in self._emptied)
        return {it["virtualhost"]["fqdn"] for it in specs if "virtualhost" in it}

    @property
    def _emptied(self) -> list[Document]:
        """The HTTPProxies, as they were, that are deleted or lose all their routes and includes."""
        proxies = [(was, it) for was, it in self.changes if was["kind"] == "HTTPProxy"]
        return [was for was, it in proxies if _has_routes(was) and not (it and _has_routes(it))]


def _has_routes(proxy: Document) -> bool:
    return not proxy["spec"].keys().isdisjoint(("routes", "includes"))


def document(version: str, kind: str, namespace: str, name: str, rest: Document) -> Document:
    """An object."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": version, "kind": kind, "metadata": metadata} | rest


class World:
    """Objects in their order, and for some of them the same with a guard that is not valid."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self._favourite = self._chance.choice(HOSTS)
        self._crowding = self._chance.choice((0.5, 0.9))
        self._guarding = self._chance.choice((0.5, 0.9))
        self.objects: list[Document] = []
        self.broken: list[tuple[Document, Document]] = []
        for it in (*_fixed(), *(found for tenant in TENANTS for found in _stock(tenant))):
            self.objects.append(it)
        self._add(self._configuration(), [])
        self._gateway()
        for tenant in TENANTS:
            self._tenant(tenant)

    def losses(self) -> Iterator[Loss]:
        """What may be lost: an object, a guard, or two objects."""
        single = [it for it in self._single() if self._is_named(it.changes[0][0])]
        yield from single
        for before, after in self.broken:
            yield Loss(f"a guard of {_name(before)} is not valid", [(before, after)])
        for it in self.objects:
            if it["kind"] == "HTTPProxy" and "virtualhost" in it["spec"]:
                kept = {"virtualhost", "tcpproxy"}
                bare = {field: its for field, its in it["spec"].items() if field in kept}
                yield Loss(f"{_name(it)} has no routes left", [(it, it | {"spec": bare})])
        for _ in range(6):
            one, other = self._chance.sample(single, 2)
            if one.changes[0][0] is not other.changes[0][0]:
                yield Loss(f"{one.words}, {other.words}", [*one.changes, *other.changes])

    def _single(self) -> Iterator[Loss]:
        for it in self.objects:
            if it["kind"] in _INVALID or it["metadata"]["name"].startswith("child"):
                yield Loss(f"{_name(it)} is deleted", [(it, None)])
            if (bad := _INVALID.get(it["kind"])) is not None:
                yield Loss(f"{_name(it)} is not valid", [(it, it | bad)])

    def _is_named(self, it: Document) -> bool:
        """Whether something names an object: what nobody names is not worth the time."""
        name, kind = it["metadata"]["name"], it["kind"]
        if kind in {"ReferenceGrant", "TLSCertificateDelegation"}:
            return True
        used = (other for other in self.objects if other["kind"] not in _INVALID)
        return any(f"'{name}'" in str(other) or f"/{name}'" in str(other) for other in used)

    def _some(self, probability: float) -> bool:
        return self._chance.random() < probability

    def _host(self) -> str:
        """Often the one that others claim as well."""
        return self._favourite if self._some(self._crowding) else self._chance.choice(HOSTS)

    def _add(self, made: Document, guards: Breaks) -> None:
        """An object, and with each of its guards broken."""
        self.objects.append(made)
        for part, field, bad in guards:
            kept = part[field]
            part[field] = bad
            self.broken.append((made, copy.deepcopy(made)))
            part[field] = kept

    def _named(self, tenant: str, name: str) -> str:
        """The name of an object, perhaps of another tenant."""
        return f"{self._chance.choice(TENANTS)}/{name}" if self._some(0.3) else f"{tenant}/{name}"

    def _reference(self, tenant: str, name: str, **more: Any) -> Document:
        namespace = self._chance.choice(TENANTS) if self._some(0.25) else tenant
        return {"name": name, "namespace": namespace} | more

    def _configuration(self) -> Document:
        spec: Document = {
            "gateway": {"controllerName": "projectcontour.io/gateway-controller"},
            "enableBackend": True,
        }
        extension = {"name": "auth", "namespace": self._chance.choice(TENANTS)}
        if self._some(0.3):
            spec["globalExtAuth"] = {"extensionRef": extension}
        if self._some(0.6):
            spec["rateLimitService"] = {"extensionService": extension, "domain": "contour"}
        if self._some(0.5):
            fallback = {"name": "cert", "namespace": self._chance.choice(TENANTS)}
            spec["httpproxy"] = {"fallbackCertificate": fallback}
        version = "projectcontour.io/v1alpha1"
        return document(
            version, "ContourConfiguration", "projectcontour", "contour", {"spec": spec}
        )

    # HTTPProxy

    def _proxy(self, tenant: str, number: int) -> None:
        host: Document = {"fqdn": self._host()}
        guards: Breaks = []
        if self._some(0.6):
            host["tls"] = {"secretName": self._named(tenant, "cert")}
            self._guard_tls(tenant, host["tls"], guards)
        has_tokens = self._guard(tenant, host, guards, self._guarding, is_host=True)
        spec: Document = {"virtualhost": host}
        if "tls" in host and self._some(0.1):
            spec["tcpproxy"] = {"services": [self._service()]}
        if self._some(0.75):
            spec["routes"] = [
                self._route(tenant, guards, has_tokens) for _ in range(self._chance.choice((1, 2)))
            ]
        if self._some(0.4):
            child = self._chance.choice(TENANTS)
            conditions = [{"prefix": self._chance.choice(PATHS)}]
            name = f"child-{tenant}{number}"
            spec["includes"] = [{"name": name, "namespace": child, "conditions": conditions}]
            inner: Breaks = []
            routes = [self._route(child, inner, has_tokens)]
            version = "projectcontour.io/v1"
            made = document(version, "HTTPProxy", child, name, {"spec": {"routes": routes}})
            self._add(made, inner)
        made = document("projectcontour.io/v1", "HTTPProxy", tenant, f"p{number}", {"spec": spec})
        self._add(made, guards)

    def _guard_tls(self, tenant: str, tls: Document, guards: Breaks) -> None:
        if self._some(0.3):
            tls["enableFallbackCertificate"] = True
        elif self._some(self._guarding):
            tls["clientValidation"] = {"caSecret": "ca"}
            guards.append((tls["clientValidation"], "caSecret", "gone"))
            if self._some(0.4):
                tls["clientValidation"]["crlSecret"] = "crl"
                guards.append((tls["clientValidation"], "crlSecret", "gone"))

    def _guard(
        self,
        tenant: str,
        part: Document,
        guards: Breaks,
        probability: float,
        *,
        is_host: bool,
    ) -> bool:
        """Gives a host or route some guards; whether the host has a provider of tokens."""
        made: list[tuple[str, Any, Any]] = [
            ("ipAllowPolicy", _RANGE, [{"source": "Peer", "cidr": "x"}]),
            ("ipDenyPolicy", _DENIED, [{"source": "Peer", "cidr": "x"}]),
            ("rateLimitPolicy", _LIMIT, None),
            ("rateLimitPolicy", _SHARED, {"global": {"descriptors": [{"entries": [{}]}]}}),
            ("maxRequestBytes", 100, None),
        ]
        if is_host:
            extension = {"name": "auth", "namespace": self._chance.choice(TENANTS)}
            gone = {"name": "gone", "namespace": tenant}
            made.append(("authorization", {"extensionRef": extension}, {"extensionRef": gone}))
            keys = {"secretName": "keys", "key": "jwks"}
            provider = {"name": "one", "localJWKS": keys, "default": self._some(0.7)}
            bad = provider | {"localJWKS": keys | {"key": "gone"}}
            if "tls" in part:
                made += 2 * [("jwtProviders", [provider], [bad])]
        if self._some(probability):
            field, good, bad = self._chance.choice(made)
            part[field] = copy.deepcopy(good)
            if bad is not None:
                guards.append((part, field, bad))
        return "jwtProviders" in part

    def _route(self, tenant: str, guards: Breaks, has_tokens: bool) -> Document:
        number = self._chance.choice((1, 1, 2))
        made: Document = {"services": [self._service(it) for it in ("web", "api")[:number]]}
        made["conditions"] = [{"prefix": self._chance.choice(("/", *PATHS))}]
        if self._some(0.4):
            made["permitInsecure"] = True
        if has_tokens and self._some(0.3):
            made["jwtVerificationPolicy"] = {"require": "one"}
            guards.append((made, "jwtVerificationPolicy", {"require": "gone"}))
        if self._some(0.15):
            validation = {"caSecret": "ca", "subjectName": "x.com"}
            made["services"][0] |= {"protocol": "tls", "validation": validation}
        self._guard(tenant, made, guards, 0.35, is_host=False)
        return made

    def _service(self, name: str = "") -> Document:
        return {"name": name or self._chance.choice(("web", "api")), "port": 80}

    # Ingress

    def _ingress(self, tenant: str) -> None:
        host = self._host()
        backend = {"service": {"name": self._chance.choice(("web", "api")), "port": {"number": 80}}}
        path = {
            "path": self._chance.choice(("/", *PATHS)),
            "pathType": "Prefix",
            "backend": backend,
        }
        rule: Document = {"http": {"paths": [path]}}
        spec: Document = {"rules": [rule]}
        if self._some(0.8):
            rule["host"] = host
            if self._some(0.6):
                spec["tls"] = [{"hosts": [host], "secretName": "cert"}]
        elif self._some(0.5):
            spec = {"defaultBackend": backend}
        made = document("networking.k8s.io/v1", "Ingress", tenant, "i", {"spec": spec})
        annotations: Document = {}
        if self._some(0.3):
            annotations["projectcontour.io/tls-cert-namespace"] = self._chance.choice(TENANTS)
        made["metadata"]["annotations"] = annotations
        guards: Breaks = []
        if self._some(0.2):
            field = "nginx.ingress.kubernetes.io/whitelist-source-range"
            annotations[field] = self._chance.choice(("10.0.0.0/8", "0.0.0.0/0"))
            guards.append((annotations, field, "x"))
        if self._some(0.2):
            annotations["ingress.kubernetes.io/force-ssl-redirect"] = "true"
        self._add(made, guards)

    # Gateway API

    def _gateway(self) -> None:
        tenant = "edge"
        listeners: list[Document] = [self._listener(tenant, n) for n in range(3)]
        every = {"namespaces": {"from": "All"}}
        for it in listeners:
            it["allowedRoutes"] = every
        unique = {(it["port"], it.get("hostname")): it for it in listeners}
        spec: Document = {
            "gatewayClassName": "contour",
            "listeners": list(unique.values()),
            "allowedListeners": every,
        }
        if self._some(0.3):
            authority = {"group": "", "kind": "ConfigMap", "name": "ca"}
            if self._some(0.5):
                authority["namespace"] = self._chance.choice(TENANTS)
            wanted = {"validation": {"caCertificateRefs": [authority]}}
            spec["tls"] = {"frontend": {"default": wanted}}
        self._add(document(f"{_GROUP}/v1", "Gateway", tenant, "g", {"spec": spec}), [])
        if self._some(0.5):
            self._client_policy(tenant, "Gateway", "g")
        if self._some(0.2):
            self._policy(tenant, "Gateway", "g", "on-gateway")

    def _listener(self, tenant: str, number: int) -> Document:
        made: Document = {"name": f"l{number}", "port": 80, "protocol": "HTTP"}
        if self._some(0.7):
            references = [self._reference(tenant, "cert")]
            made |= {"port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": references}}
        if self._some(0.6):
            made["hostname"] = self._host()
        if self._some(0.1):
            auth = {"protocol": "HTTP", "http": {"path": "/"}, "backendRef": self._backend(tenant)}
            made["filters"] = {"requests": [{"type": "ExternalAuth", "externalAuth": auth}]}
        return made

    def _listener_set(self, tenant: str) -> None:
        listeners = [self._listener(tenant, 0)]
        spec = {"parentRef": {"name": "g", "namespace": "edge"}, "listeners": listeners}
        self._add(document(f"{_GROUP}/v1", "ListenerSet", tenant, "s", {"spec": spec}), [])
        if self._some(0.3):
            self._client_policy(tenant, "ListenerSet", "s")
        if self._some(0.3):
            self._policy(tenant, "ListenerSet", "s", "on-set")

    def _backend(self, tenant: str) -> Document:
        return self._reference(tenant, self._chance.choice(("web", "api")), port=80)

    def _http_route(self, tenant: str) -> None:
        parents: list[Document] = [{"name": "g", "namespace": "edge"}]
        if self._some(0.3):
            parents.append({"kind": "ListenerSet", "name": "s"})
        rules = [self._rule(tenant) for _ in range(self._chance.choice((1, 2)))]
        spec: Document = {"parentRefs": parents, "rules": rules}
        if self._some(0.8):
            spec["hostnames"] = self._chance.sample(HOSTS, self._chance.choice((1, 2)))
        self._add(document(f"{_GROUP}/v1", "HTTPRoute", tenant, "r", {"spec": spec}), [])
        if self._some(0.6):
            self._policy(tenant, "HTTPRoute", "r", "on-route")
        if self._some(0.3):
            self._traffic_policy(tenant)

    def _rule(self, tenant: str) -> Document:
        path = {"type": "PathPrefix", "value": self._chance.choice(("/", *PATHS))}
        made: Document = {"matches": [{"path": path}], "backendRefs": [self._backend(tenant)]}
        if self._some(0.2):
            backend = {"group": _ENVOY, "kind": "Backend", "name": "outside"}
            made["backendRefs"] = [backend]
        filters = []
        if self._some(0.15):
            mirror = {"backendRef": self._backend(tenant)}
            filters.append({"type": "RequestMirror", "requestMirror": mirror})
        if self._some(0.15):
            auth = {"protocol": "HTTP", "http": {"path": "/"}, "backendRef": self._backend(tenant)}
            filters.append({"type": "ExternalAuth", "externalAuth": auth})
        if self._some(0.2):
            kind, name = self._chance.choice(
                (("AuthenticationFilter", "tokens"), ("HTTPRouteFilter", "key"))
            )
            reference = {"group": _ENVOY, "kind": kind, "name": name}
            filters.append({"type": "ExtensionRef", "extensionRef": reference})
        return made | ({"filters": filters} if filters else {})

    # Policies of Envoy Gateway

    def _policy(self, tenant: str, kind: str, name: str, own: str) -> None:
        target = {"group": _GROUP, "kind": kind, "name": name}
        spec: Document = {"targetRefs": [target]}
        guards: Breaks = []
        for field, good, bad in self._chance.sample(self._policy_guards(tenant), 2):
            if self._some(0.7):
                spec[field] = good
                guards.append((spec, field, bad))
        if len(spec) == 1:
            spec["authorization"] = {"defaultAction": "Deny"}
        made = document(f"{_ENVOY}/v1alpha1", "SecurityPolicy", tenant, own, {"spec": spec})
        self._add(made, guards)

    def _policy_guards(self, tenant: str) -> list[tuple[str, Document, Document]]:
        keys = {"group": "", "kind": "ConfigMap", "name": "keys"}
        token: Document = {"name": "one", "localJWKS": {"type": "ValueRef", "valueRef": keys}}
        bad_token = {"name": "one", "localJWKS": {"type": "Inline", "inline": "{"}}
        server = {"backendRefs": [self._backend(tenant)]}
        allowed = {"action": "Allow", "principal": {"clientCIDRs": ["10.0.0.0/8"]}}
        bad = {"action": "Allow", "principal": {"clientCIDRs": ["x"]}}
        login = {
            "provider": {
                "issuer": "https://idp.com",
                "authorizationEndpoint": "https://idp.com/auth",
                "tokenEndpoint": "https://idp.com/token",
            },
            "clientID": "app",
            "clientSecret": {"name": "keys"},
        }
        users = {"users": {"name": "keys"}}
        sources = [{"headers": ["x-key"]}]
        keyed = {"credentialRefs": [{"name": "client-keys"}], "extractFrom": sources}
        gone = {"name": "gone"}
        return [
            ("jwt", {"providers": [token]}, {"providers": [bad_token]}),
            ("extAuth", {"http": server}, {"http": {"backendRefs": [gone | {"port": 80}]}}),
            (
                "authorization",
                {"defaultAction": "Deny", "rules": [allowed]},
                {"defaultAction": "Deny", "rules": [bad]},
            ),
            ("oidc", login, login | {"clientSecret": gone}),
            ("basicAuth", users, {"users": gone}),
            ("apiKeyAuth", keyed, keyed | {"credentialRefs": [gone]}),
        ]

    def _client_policy(self, tenant: str, kind: str, name: str) -> None:
        target = {"group": _GROUP, "kind": kind, "name": name}
        authority: Document = {"group": "", "kind": "ConfigMap", "name": "ca"}
        wanted: Document = {"caCertificateRefs": [authority]}
        if self._some(0.3):
            wanted["crl"] = {"refs": [{"kind": "Secret", "name": "crl"}]}
        spec: Document = {"targetRefs": [target], "tls": {"clientValidation": wanted}}
        guards: Breaks = [(authority, "name", "gone")]
        made = document(
            f"{_ENVOY}/v1alpha1", "ClientTrafficPolicy", tenant, f"clients-{name}", {"spec": spec}
        )
        self._add(made, guards)

    def _traffic_policy(self, tenant: str) -> None:
        target = {"group": _GROUP, "kind": "HTTPRoute", "name": "r"}
        rules = [{"limit": {"requests": 5, "unit": "Minute"}}]
        kind = self._chance.choice(("Local", "Global"))
        limit: Document = {"type": kind, kind.lower(): {"rules": rules}}
        spec: Document = {"targetRefs": [target], "rateLimit": limit}
        bad = copy.deepcopy(limit)
        selector = {"headers": [{"name": "x", "type": "RegularExpression", "value": "("}]}
        bad[kind.lower()]["rules"][0]["clientSelectors"] = [selector]
        version = f"{_ENVOY}/v1alpha1"
        made = document(version, "BackendTrafficPolicy", tenant, "limits", {"spec": spec})
        self._add(made, [(spec, "rateLimit", bad)])

    def _backend_policy(self, tenant: str) -> None:
        target = {"group": "", "kind": "Service", "name": "web"}
        authority: Document = {"group": "", "kind": "ConfigMap", "name": "ca"}
        validation = {"hostname": "x.com", "caCertificateRefs": [authority]}
        spec = {"targetRefs": [target], "validation": validation}
        made = document(f"{_GROUP}/v1", "BackendTLSPolicy", tenant, "t", {"spec": spec})
        self._add(made, [(authority, "name", "gone")])

    def _tenant(self, tenant: str) -> None:
        for number in range(self._chance.choice((0, 1, 1, 2))):
            self._proxy(tenant, number)
        for probability, make in (
            (self._crowding, self._ingress),
            (0.6, self._http_route),
            (0.3, self._listener_set),
            (0.2, self._backend_policy),
        ):
            if self._some(probability):
                make(tenant)
        if self._some(0.7):
            delegated = [
                {"secretName": it, "targetNamespaces": ["*"]} for it in ("cert", "ca", "crl")
            ]
            spec = {"delegations": delegated}
            version = "projectcontour.io/v1"
            made = document(version, "TLSCertificateDelegation", tenant, "d", {"spec": spec})
            self._add(made, [])
        if self._some(0.7):
            self._add(_grant(tenant), [])


def _name(it: Document) -> str:
    where = it["metadata"].get("namespace", "")
    return f"{it['kind']} {where}/{it['metadata']['name']}"


def _grant(tenant: str) -> Document:
    kinds = (
        (_GROUP, "HTTPRoute"),
        (_GROUP, "Gateway"),
        (_GROUP, "ListenerSet"),
        (_ENVOY, "SecurityPolicy"),
    )
    from_ = [
        {"group": group, "kind": kind, "namespace": it}
        for group, kind in kinds
        for it in (*TENANTS, "edge")
    ]
    to = [{"group": "", "kind": it} for it in ("Service", "Secret", "ConfigMap")]
    return document(
        f"{_GROUP}/v1beta1", "ReferenceGrant", tenant, "n", {"spec": {"from": from_, "to": to}}
    )


def _fixed() -> Iterator[Document]:
    spec = {"controllerName": "projectcontour.io/gateway-controller"}
    yield document(f"{_GROUP}/v1", "GatewayClass", "", "contour", {"spec": spec})
    yield from _stock("edge")


def _stock(tenant: str) -> Iterator[Document]:
    """What every namespace has."""
    for number, name in enumerate(("web", "api")):
        ports = [{"name": "http", "port": 80}]
        yield document("v1", "Service", tenant, name, {"spec": {"ports": ports}})
        made = document("discovery.k8s.io/v1", "EndpointSlice", tenant, name, {})
        made["metadata"]["labels"] = {"kubernetes.io/service-name": name}
        addresses = [{"addresses": [f"10.0.0.{number}"], "conditions": {"ready": True}}]
        ports = [{"name": "http", "port": 8080}]
        yield made | {"addressType": "IPv4", "endpoints": addresses, "ports": ports}
    authority = certificates.known_authority(tenant)
    chain, key = pairs.pair()
    yield _secret(tenant, "cert", "kubernetes.io/tls", {"tls.crt": chain, "tls.key": key})
    yield _secret(tenant, "ca", "Opaque", {"ca.crt": authority.pem})
    yield _secret(
        tenant,
        "crl",
        "Opaque",
        dict.fromkeys(("crl.pem", "ca.crl"), certificates.revocations(authority)),
    )
    users = b"me:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk="
    held = {"jwks": tokens.jwks().encode(), "client-secret": b"s", ".htpasswd": users}
    yield _secret(tenant, "keys", "Opaque", held)
    yield _secret(tenant, "client-keys", "Opaque", {"me": b"secret"})
    yield document("v1", "ConfigMap", tenant, "ca", {"data": {"ca.crt": authority.pem.decode()}})
    yield document("v1", "ConfigMap", tenant, "keys", {"data": {"jwks": tokens.jwks()}})
    server = {"services": [{"name": "api", "port": 80}], "protocol": "h2c"}
    version = "projectcontour.io/v1alpha1"
    yield document(version, "ExtensionService", tenant, "auth", {"spec": server})
    trusted = {"group": "", "kind": "ConfigMap", "name": "ca"}
    outside = {
        "endpoints": [{"fqdn": {"hostname": "out.example.com", "port": 443}}],
        "tls": {"caCertificateRefs": [trusted], "sni": "out.example.com"},
    }
    yield document(f"{_ENVOY}/v1alpha1", "Backend", tenant, "outside", {"spec": outside})
    provider = {"name": "p", "localJWKS": {"type": "Inline", "inline": tokens.jwks()}}
    spec: Document = {"type": "JWT", "jwtProviders": [provider]}
    version = f"{_ENVOY}/v1alpha1"
    yield document(version, "AuthenticationFilter", tenant, "tokens", {"spec": spec})
    spec = {"credentialInjection": {"credential": {"valueRef": {"name": "keys"}}}}
    yield document(version, "HTTPRouteFilter", tenant, "key", {"spec": spec})


def _secret(tenant: str, name: str, type_: str, data: dict[str, bytes]) -> Document:
    encoded = {key: base64.b64encode(it).decode() for key, it in data.items()}
    return document("v1", "Secret", tenant, name, {"type": type_, "data": encoded})


_INVALID: dict[str, Document] = {
    "Secret": {"data": {"other": "bm90aGluZw=="}},
    "ConfigMap": {"data": {"other": "nothing"}},
    "Service": {"spec": {"ports": [{"name": "other", "port": 99}]}},
    "ReferenceGrant": {
        "spec": {
            "from": [{"group": "", "kind": "Nothing", "namespace": "nobody"}],
            "to": [{"group": "", "kind": "Nothing"}],
        }
    },
    "TLSCertificateDelegation": {
        "spec": {"delegations": [{"secretName": "other", "targetNamespaces": ["*"]}]}
    },
    "ExtensionService": {"spec": {"services": [{"name": "gone", "port": 80}]}},
    "Backend": {"spec": {"type": "DynamicResolver"}},
    "AuthenticationFilter": {"spec": {"type": "JWT", "jwtProviders": []}},
    "HTTPRouteFilter": {
        "spec": {"credentialInjection": {"credential": {"valueRef": {"name": "gone"}}}}
    },
}
"""Objects that others refer to, and what makes them useless."""
