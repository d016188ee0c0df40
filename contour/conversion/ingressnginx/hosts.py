"""One HTTPProxy for each host, made of all Ingresses that name it, as ingress-nginx merges them.

The oldest Ingress comes first; of two with the same age, the one with the greater name, as in
ingress-nginx. What is left out of a host is closed: its paths answer 503, and so does the whole
host if a wildcard host would get its requests. Elsewhere: the routes (`hostroutes`).
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from contour.conversion.ingressnginx import annotations, hostroutes, names, settings
from contour.conversion.ingressnginx.given import PREFIX, Given
from contour.conversion.ingressnginx.paths import Match, UnconvertibleError
from contour.conversion.ingressnginx.routes import Place, closed, service
from contour.conversion.told import Converted, Document, Told
from crds import decode
from crds.ingress import HTTPIngressPath, IngressBackend
from crds.meta import NamespacedName
from crds.raw import items, mapping

EVERY = "*"
"""The host of rules without a host."""


def converted(found: Iterable[Given], ingress_class: str = "") -> Converted:
    """The HTTPProxies of Ingresses; `ingress_class` is the class that they get, empty for none."""
    made = _Making(ingress_class)
    by_host: defaultdict[str, list[Place]] = defaultdict(list)
    ordered = sorted(found, key=lambda it: it.ingress.metadata.key)
    made.result.told += [told for it in ordered[:1] for told in settings.guards(it)]
    is_guarded = bool(made.result.told)
    for given in ordered:
        made.take(given, by_host, is_left_out=is_guarded)
    made.hosts = frozenset(by_host)
    hosts = {host: _in_order(places) for host, places in by_host.items()}
    made.aliases, told = names.aliases(hosts)
    made.result.told += told
    for host, places in hosts.items():
        made.host(host, places)
    made.close_what_is_left_out()
    return made.result


def _in_order(places: Iterable[Place]) -> list[Place]:
    """The Ingresses in order: canaries last, default backends before them."""
    named = sorted(places, key=lambda it: it.given.ingress.metadata.key, reverse=True)
    return sorted(named, key=lambda it: (it.given.is_canary, it.is_default, _created(it.given)))


def _created(given: Given) -> datetime:
    return given.ingress.metadata.creation_timestamp or datetime.max.replace(tzinfo=UTC)


def _paths(given: Given) -> Iterator[tuple[str, HTTPIngressPath, bool]]:
    """The hosts and paths, and whether a path is only for the default backend."""
    spec = given.ingress.spec
    every = _every(spec.default_backend) if spec.default_backend is not None else None
    if not spec.rules and every is not None:
        yield EVERY, every, True
    for rule in spec.rules:
        host = rule.host or EVERY
        found = rule.http.paths if rule.http is not None else ()
        yield from ((host, it, False) for it in found)
        if every is not None and not any(it.path == "/" for it in found):
            yield host, every, True


def _every(backend: IngressBackend) -> HTTPIngressPath:
    return HTTPIngressPath(path="/", path_type="Prefix", backend=backend)


class _HostError(Exception):
    """A host that cannot be converted: the place to blame, the annotation, and why."""

    def __init__(self, place: Place, annotation: str, text: str) -> None:
        super().__init__(text)
        self.place, self.annotation = place, annotation


@dataclass(slots=True)
class _Making:
    ingress_class: str
    result: Converted = field(default_factory=Converted)
    hosts: frozenset[str] = frozenset()
    """All hosts that Ingresses name."""
    aliases: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By host."""
    used: set[NamespacedName] = field(default_factory=set)
    closing: set[tuple[NamespacedName, str]] = field(default_factory=set)
    """The Ingresses that have a host which is left out as a whole."""
    left_out: dict[str, list[Place]] = field(default_factory=dict)
    """Hosts without an HTTPProxy."""

    def take(
        self, given: Given, by_host: defaultdict[str, list[Place]], *, is_left_out: bool
    ) -> None:
        """Adds the paths of an Ingress, and the messages about it."""
        piece = annotations.piece(given)
        told = [] if given.unread else list(annotations.unconverted(given, piece))
        self.result.told += told
        guards = {it.field.removeprefix(PREFIX) for it in told if it.is_left_out}
        is_left_out = is_left_out or bool(given.unread or guards)
        is_host = given.unread == "paths" or not guards.isdisjoint(annotations.OF_HOSTS)
        for host, path, is_default in _paths(given):
            by_host[host].append(Place(given, path, piece, is_left_out, is_default))
            if is_host:
                self.closing.add((given.ingress.metadata.key, host))

    def host(self, host: str, places: list[Place]) -> None:
        """Adds the HTTPProxy of a host, and the messages about it."""
        kept = [it for it in places if not it.is_left_out]
        is_closed = any((it.given.ingress.metadata.key, host) in self.closing for it in places)
        if not kept or is_closed:
            for it in kept[:1]:
                text = f"{host} is left out: a guard of another Ingress is that of the whole host"
                self._tell(it, "", text, left_out=True)
            self.left_out[host] = places
            return
        namespace = kept[0].given.namespace
        own = [it for it in kept if it.given.namespace == namespace]
        for it in kept:
            if it.given.namespace != namespace:
                words = f"the host {host} is that of an HTTPProxy in namespace {namespace}"
                self._tell(it, "", f"{words}; include one with these paths there", left_out=True)
        try:
            spec = self._spec(host, places, own)
            _check(host, own[0], spec)
        except _HostError as error:
            self._tell(error.place, error.annotation, str(error), left_out=True)
            spec = {}
        if spec:
            self._add(own, host, spec)
            self._add_www(host, own, spec)
        else:
            self.left_out[host] = places

    def _spec(self, host: str, places: list[Place], own: list[Place]) -> Document:
        """The spec of an HTTPProxy; empty if no path is converted."""
        namespace = own[0].given.namespace
        if any(it.given.is_on("ssl-passthrough") for it in own):
            return self._passed_through(host, places, own)
        secret = _secret_of(host, places, namespace)
        found = hostroutes.routes(host, places, namespace, has_tls=secret is not None)
        self.result.told += found.told
        if not found.has_converted:
            return {}
        virtual_host = self._virtual_host(host, places, own, secret)
        return {"virtualhost": virtual_host, "routes": found.documents}

    def _passed_through(self, host: str, places: list[Place], own: list[Place]) -> Document:
        """A TCP proxy that passes TLS connections to the backend of the root path, with routes for
        plain HTTP."""
        root = _root(host, places, own)
        if self.aliases[host]:
            text = f"is not converted: {host} passes connections through"
            self._tell(root, "server-alias", text)
        try:
            backend = service(root)
        except UnconvertibleError as error:
            raise _HostError(root, "ssl-passthrough", str(error)) from None
        found = hostroutes.routes(host, places, own[0].given.namespace, has_tls=True)
        self.result.told += found.told
        usual = [it for it in own if not it.given.is_canary]
        is_redirected = any(it.given.is_on("force-ssl-redirect") for it in usual)
        if not _secret(host, usual) and not is_redirected:
            found.documents = [it | {"permitInsecure": True} for it in found.documents]
        return {
            "virtualhost": {"fqdn": host, "tls": {"passthrough": True}, **_addresses(root)},
            "tcpproxy": {"services": [{"name": backend["name"], "port": backend["port"]}]},
            "routes": found.documents,
        }

    def _virtual_host(
        self, host: str, places: list[Place], own: list[Place], secret: str | None
    ) -> Document:
        found: Document = {"fqdn": host}
        if aliases := self.aliases[host]:
            found["aliases"] = aliases
        usual = [it for it in own if not it.given.is_canary]
        with_cors = [it for it in usual if "corsPolicy" in it.piece.host]
        if with_cors:
            policy = mapping(with_cors[0].piece.host["corsPolicy"])
            found["corsPolicy"] = policy
            if any(it.piece.host.get("corsPolicy") != policy for it in usual):
                found["corsPolicy"] = policy | {"allowCredentials": False}
                text = f"applies to all routes of {host}, so credentials are not allowed"
                self._tell(with_cors[0], "enable-cors", text)
        if secret is not None:
            found["tls"] = {"secretName": secret, **self._clients(host, places, own)}
        return found

    def _clients(self, host: str, places: list[Place], own: list[Place]) -> Document:
        """The client validation that the first Ingress asks for, for the whole host."""
        guarding = [it for it in names.each_ingress(places) if it.piece.tls]
        for it in guarding:
            if it.given.namespace != own[0].given.namespace:
                text = f"guards {host}, whose HTTPProxy is in another namespace"
                raise _HostError(it, "auth-tls-secret", text)
            if it.piece.tls != guarding[0].piece.tls:
                text = f"{host} has that of {guarding[0].given}, which comes first"
                self._tell(it, "auth-tls-secret", text)
        return guarding[0].piece.tls if guarding else {}

    def _add(self, places: list[Place], host: str, spec: Document) -> None:
        ingress = min((it.given.ingress for it in places), key=lambda it: it.metadata.key)
        key = ingress.metadata.key
        if len({it.host for it in ingress.spec.rules}) > 1 or key in self.used:
            key = key._replace(name=f"{key.name}-{_slug(host)}")
        self._write(key, spec)

    def _write(self, wanted: NamespacedName, spec: Document) -> None:
        """Adds an HTTPProxy, with a number after the name if another one has it."""
        numbered = (wanted._replace(name=f"{wanted.name}-{it}") for it in itertools.count(2))
        key = next(it for it in itertools.chain((wanted,), numbered) if it not in self.used)
        self.used.add(key)
        if self.ingress_class:
            spec = {"ingressClassName": self.ingress_class, **spec}
        self.result.documents.append(_document(key, spec))

    def _add_www(self, host: str, places: list[Place], spec: Document) -> None:
        """Adds a redirect from the name with `www.` to the one without, or the other way round."""
        other = names.www(host, places)
        if not other or other in self.hosts:
            return
        redirect = {"hostname": host, "statusCode": 308}
        virtual_host: Document = {"fqdn": other}
        route: Document = {"conditions": [{"prefix": "/"}], "requestRedirectPolicy": redirect}
        if tls := _tls(spec):
            virtual_host["tls"] = {"secretName": tls}
            route["permitInsecure"] = True  # the certificate need not be for this name
        self._add(places, other, {"virtualhost": virtual_host, "routes": [route]})

    def close_what_is_left_out(self) -> None:
        """Adds closed HTTPProxies for hosts that are left out if a wildcard host would get their
        requests."""
        wider = [(it, name) for it in self.result.documents for name in _names(_spec_of(it))]
        for host, places in self.left_out.items():
            redirected = {names.www(host, places)} - {"", *self.hosts}
            every = [host, *self.aliases[host], *redirected]
            for document, name in wider:
                if any(_is_wider(name, it) for it in every):
                    self._close(every, places, document)
                    break

    def _close(self, every: list[str], places: list[Place], wider: Document) -> None:
        """Closes a host, also over TLS if the wildcard host has it, with the certificate of
        either."""
        host, namespace = every[0], places[0].given.namespace
        usual = [it for it in places if not it.given.is_canary]
        secret = _secret(host, [it for it in usual if it.given.namespace == namespace])
        if not secret and (secret := _tls(_spec_of(wider))):
            namespace = str(mapping(wider["metadata"])["namespace"])
        virtual_host: Document = {"fqdn": host}
        if every[1:]:
            virtual_host["aliases"] = every[1:]
        if secret:
            virtual_host["tls"] = {"secretName": secret}
        route = closed(Match(({"prefix": "/"},)))
        key = places[0].given.ingress.metadata.key
        name = f"{key.name}-{_slug(host)}-left-out"
        spec: Document = {"virtualhost": virtual_host, "routes": [route]}
        self._write(NamespacedName(namespace, name), spec)
        text = f"all of {host} answers 503, so that no wider host serves it"
        self._tell(places[0], "", text)

    def _tell(self, place: Place, name: str, text: str, *, left_out: bool = False) -> None:
        annotation = f"{PREFIX}{name}" if name else ""
        self.result.told.append(Told(str(place.given), annotation, text, left_out))


def _secret_of(host: str, places: Sequence[Place], namespace: str) -> str | None:
    """The Secret of a host's certificate; None without TLS.

    Raises _HostError if an Ingress or a guard needs TLS and there is no Secret.
    """
    usual = [it for it in places if not it.given.is_canary]
    secret = _secret(host, [it for it in usual if it.given.namespace == namespace])
    if secret:
        return secret
    if secret == "":
        raise _HostError(usual[0], "", f"TLS of {host} has no secretName")
    for it in usual:
        if it.given.ingress.spec.tls:
            raise _HostError(
                it, "", f"no Secret of spec.tls in namespace {namespace} is for {host}"
            )
    for it in places:
        if it.piece.tls:
            raise _HostError(it, "auth-tls-secret", f"needs TLS, which {host} does not have")
    return None


def _secret(host: str, places: Iterable[Place]) -> str | None:
    """The Secret of the first Ingress that has one for a host, by its name or by a wildcard.

    Empty if the host is listed under `tls` without a Secret, None if it is not covered.
    """
    for place in places:
        found = place.given.ingress.spec.tls
        for tls in found:
            if host in tls.hosts:
                return tls.secret_name
        for tls in found:
            if tls.secret_name and (not tls.hosts or any(_covers(it, host) for it in tls.hosts)):
                return tls.secret_name
    return None


def _covers(name: str, host: str) -> bool:
    """Whether a wildcard certificate covers a host: the wildcard stands for one label."""
    return name.startswith("*.") and name[2:] == host.partition(".")[2]


def _is_wider(name: str, host: str) -> bool:
    return name != host and (name == EVERY or (name.startswith("*.") and host.endswith(name[1:])))


def _names(spec: Document) -> list[str]:
    virtual_host = mapping(spec["virtualhost"])
    return [str(it) for it in (virtual_host["fqdn"], *items(virtual_host.get("aliases")))]


def _tls(spec: Document) -> str:
    """The Secret of an HTTPProxy; empty without one."""
    return str(mapping(mapping(spec["virtualhost"]).get("tls")).get("secretName", ""))


def _spec_of(document: Document) -> Document:
    return mapping(document["spec"])


def _check(host: str, place: Place, spec: Document) -> None:
    """Raises _HostError if the API server would refuse an HTTPProxy."""
    key = place.given.ingress.metadata.key
    found = decode.decode(_document(key, spec)) if spec else None
    if isinstance(found, decode.Decoded):
        for it in (it for it in found.complaints if it.severity == "error"):
            raise _HostError(place, "", f"{host} cannot be an HTTPProxy: {it}")


def _document(key: NamespacedName, spec: Document) -> Document:
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": spec,
    }


def _root(host: str, places: list[Place], own: list[Place]) -> Place:
    """The place whose backend gets the TLS connections of a host.

    Raises _HostError if there is none, or if they would bypass a guard.
    """
    root = next((it for it in own if it.text == "/" and not it.given.is_canary), None)
    if root is None:
        text = f"no path / of {host} has a backend to which connections can be passed"
        raise _HostError(own[0], "ssl-passthrough", text)
    for it in places:
        if it.piece.tls:
            text = f"no client certificate is asked for where {host} passes connections through"
            raise _HostError(it, "auth-tls-secret", text)
    for it in places:
        if it.is_left_out or _addresses(it) != _addresses(root):
            text = f"connections of {host} that are passed through are not guarded by {it.given}"
            raise _HostError(root, "ssl-passthrough", text)
    return root


def _addresses(place: Place) -> Document:
    """The lists of addresses that may, or may not, send requests."""
    names = ("ipAllowPolicy", "ipDenyPolicy")
    return {it: place.piece.route[it] for it in names if it in place.piece.route}


def _slug(host: str) -> str:
    """A host as a part of an object's name."""
    text = host.replace("*.", "wildcard.").replace("*", "every-host")
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
