"""One HTTPProxy for each host: of all Ingresses that name it, as ingress-nginx joins them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from contour.conversion.ingressnginx import annotations
from contour.conversion.ingressnginx.given import PREFIX, Given
from contour.conversion.ingressnginx.paths import UnconvertibleError
from contour.conversion.ingressnginx.routes import Place, routes
from contour.conversion.told import Converted, Document, Told
from crds.ingress import HTTPIngressPath, IngressBackend
from crds.meta import NamespacedName

EVERY = "*"
"""The host of rules that name none."""


def converted(found: Iterable[Given], ingress_class: str = "") -> Converted:
    """The HTTPProxies of Ingresses; `ingress_class` is the class that they get, empty for none."""
    made = _Making(ingress_class)
    by_host: defaultdict[str, list[Place]] = defaultdict(list)
    for given in sorted(found, key=lambda it: it.ingress.metadata.key):
        piece = annotations.piece(given)
        told = list(annotations.told(given, piece))
        made.result.told += told
        if not any(it.is_left_out for it in told):
            for host, path in _paths(given):
                by_host[host].append(Place(given, path, piece))
    for host, places in by_host.items():
        made.host(host, places, by_host)
    return made.result


def _paths(given: Given) -> Iterator[tuple[str, HTTPIngressPath]]:
    spec = given.ingress.spec
    every = _every(spec.default_backend) if spec.default_backend is not None else None
    if not spec.rules and every is not None:
        yield EVERY, every
    for rule in spec.rules:
        host = rule.host or EVERY
        found = rule.http.paths if rule.http is not None else ()
        yield from ((host, it) for it in found)
        if every is not None and not any(it.path == "/" for it in found):
            yield host, every


def _every(backend: IngressBackend) -> HTTPIngressPath:
    return HTTPIngressPath(path="/", path_type="Prefix", backend=backend)


@dataclass(slots=True)
class _Making:
    ingress_class: str
    result: Converted = field(default_factory=Converted)
    used: set[NamespacedName] = field(default_factory=set)

    def host(self, host: str, places: list[Place], every: Mapping[str, list[Place]]) -> None:
        """Adds the HTTPProxy of a host, and what is told of it."""
        places = sorted(places, key=lambda it: it.given.is_canary)
        namespace = places[0].given.namespace
        for it in places:
            if it.given.namespace != namespace:
                words = f"the host {host} is that of an HTTPProxy in namespace {namespace}"
                self._tell(it, "", f"{words}; include one with these paths there", left_out=True)
        own = [it for it in places if it.given.namespace == namespace]
        secret = _secret(host, own)
        if secret == "":
            self._tell(own[0], "", f"TLS of {host} has no secretName", left_out=True)
            return
        if any(it.given.is_on("ssl-passthrough") for it in own):
            spec = _passed_through(host, own)
        else:
            spec = self._terminated(host, own, secret)
        if spec.get("routes") or spec.get("tcpproxy"):
            self._add(own, host, spec)
            self._add_www(host, own, secret, every)

    def _terminated(self, host: str, places: list[Place], secret: str | None) -> Document:
        usual = [it for it in places if not it.given.is_canary]
        virtual_host = self._virtual_host(host, usual, secret)
        return {"virtualhost": virtual_host, "routes": list(self._routes(host, places, secret))}

    def _virtual_host(self, host: str, places: list[Place], secret: str | None) -> Document:
        found: dict[str, object] = {"fqdn": host}
        tls: dict[str, object] = {"secretName": secret}
        for it in places:
            found |= it.piece.host
            tls |= it.piece.tls
        with_cors = [it for it in places if "corsPolicy" in it.piece.host]
        if with_cors and len(with_cors) < len(places):
            self._tell(with_cors[0], "enable-cors", f"applies to all routes of {host}")
        return found | {"tls": tls} if secret is not None else found

    def _routes(self, host: str, places: list[Place], secret: str | None) -> Iterator[Document]:
        canaries = {it.key: it for it in places if it.given.is_canary}
        usual = {it.key: it for it in reversed(places) if not it.given.is_canary}
        for key, it in canaries.items():
            if key not in usual:
                self._tell(it, "canary", f"no other Ingress has the path {it.path.path} of {host}")
        is_regex = any(
            it.given.is_on("use-regex") or it.given.value("rewrite-target") for it in places
        )
        for key, it in reversed(usual.items()):
            try:
                made = list(routes(it, canaries.get(key), is_regex=is_regex))
            except UnconvertibleError as error:
                self._tell(it, "", f"path {it.path.path!r} of {host}: {error}", left_out=True)
                continue
            insecure = {"permitInsecure": True} if secret and _is_insecure(it.given) else {}
            yield from (route | insecure for route in made)
        yield from _app_roots(places)
        for it in places:
            if secret is None and it.given.is_on("force-ssl-redirect"):
                text = f"{host} has no TLS here: who terminates it has to redirect"
                self._tell(it, "force-ssl-redirect", text)

    def _add(self, places: list[Place], host: str, spec: Document) -> None:
        metadata = places[0].given.ingress.metadata
        hosts = {it.host for it in places[0].given.ingress.spec.rules}
        key = metadata.key
        if len(hosts) > 1 or key in self.used:
            key = key._replace(name=f"{metadata.name}-{_slug(host)}")
        self.used.add(key)
        if self.ingress_class:
            spec = {"ingressClassName": self.ingress_class, **spec}
        self.result.documents.append(
            {
                "apiVersion": "projectcontour.io/v1",
                "kind": "HTTPProxy",
                "metadata": {"name": key.name, "namespace": key.namespace},
                "spec": spec,
            }
        )

    def _add_www(
        self, host: str, places: list[Place], secret: str | None, every: Mapping[str, list[Place]]
    ) -> None:
        """The name with `www.` redirects to the one without, or the other way round."""
        other = host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"
        is_wanted = any(it.given.is_on("from-to-www-redirect") for it in places)
        if not is_wanted or other in every or "*" in host:
            return
        redirect = {"hostname": host, "statusCode": 308}
        virtual_host: dict[str, object] = {"fqdn": other}
        if secret is not None:
            virtual_host["tls"] = {"secretName": secret}
        route = {"conditions": [{"prefix": "/"}], "requestRedirectPolicy": redirect}
        self._add(places, other, {"virtualhost": virtual_host, "routes": [route]})

    def _tell(self, place: Place, name: str, text: str, *, left_out: bool = False) -> None:
        annotation = f"{PREFIX}{name}" if name else ""
        self.result.told.append(Told(str(place.given), annotation, text, left_out))


def _secret(host: str, places: Iterable[Place]) -> str | None:
    """The Secret of a host's certificate; empty if none is named, None without TLS."""
    for place in places:
        for tls in place.given.ingress.spec.tls:
            if not tls.hosts or host in tls.hosts:
                return tls.secret_name
    return None


def _is_insecure(given: Given) -> bool:
    return not given.is_on("ssl-redirect", usual=True) and not given.is_on("force-ssl-redirect")


def _passed_through(host: str, places: list[Place]) -> Document:
    """The backend of the root path gets the connections as they are."""
    root = next((it for it in places if it.path.path in {"", "/"}), places[0])
    backend = root.path.backend.service
    port = root.given.port(backend) if backend is not None else None
    if backend is None or port is None:
        return {}
    return {
        "virtualhost": {"fqdn": host, "tls": {"passthrough": True}},
        "tcpproxy": {"services": [{"name": backend.name, "port": port}]},
    }


def _app_roots(places: list[Place]) -> Iterator[Document]:
    for it in places:
        if path := it.given.value("app-root"):
            redirect = {"path": path, "statusCode": 302}
            yield {"conditions": [{"exact": "/"}], "requestRedirectPolicy": redirect}
            return


def _slug(host: str) -> str:
    """A host as a part of an object's name."""
    text = host.replace("*.", "wildcard.").replace("*", "every-host")
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
