"""Filter chains, as what Envoy refuses: one for each listener and way of terminating TLS there.

Hosts with one certificate and other settings have other chains, and Envoy may refuse one of these.
So its message is about the chain, and those whose hosts have the chain are told (`dag.refusals`).
Elsewhere: what they are made of (`contour.envoy.chains`).
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from crds.contourconfiguration import ContourConfiguration
from crds.gateway.gateway import Gateway
from crds.gateway.listenerset import ListenerSet
from crds.httpproxy import HTTPProxy
from crds.ingress import Ingress
from crds.meta import ObjectRef
from dag import hosts, listeners, nodes, tables
from dag.configuration import settings
from dag.engine.view import View
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import attachment, listenersets, listenerspecs, routecertificates, selection
from dag.httpproxy import owner
from dag.values import hostnames
from dag.warnings import uses


def ref(fleet: str, listener: str, tls: nodes.Tls) -> ObjectRef:
    """The chain of hosts with these settings. It is no object: refusals are told by such names."""
    digest = blake2b(repr(tls).encode(), digest_size=8).hexdigest()
    return ObjectRef("FilterChain", fleet, f"{listener}/{digest}")


class ChainUse(NamedTuple):
    """A filter chain that serves a host as a field of an object says."""

    path: str
    chain: ObjectRef
    secret: ObjectRef
    """The first certificate of the chain."""


def used(view: View, subject: ObjectRef) -> Iterator[ChainUse]:
    """The filter chains of an object, each once for a field."""
    return iter(dict.fromkeys(_used(view, subject)))


def _used(view: View, subject: ObjectRef) -> Iterator[ChainUse]:
    found = view.read(tables.BY_KIND[subject.kind], subject.key)
    match found:
        case HTTPProxy():
            yield from _of_httpproxy(view, subject, found)
        case Ingress():
            for index, it in enumerate(found.spec.tls):
                for name in it.hosts:
                    yield from _of_classic(view, subject, name.lower(), f"spec.tls[{index}]")
        case Gateway() | ListenerSet():
            yield from _of_listeners(view, subject)
        case ContourConfiguration():
            if view.ask(settings.chosen_configuration, ()) == found:
                yield from _of_fallback(view, "spec.httpproxy.fallbackCertificate")
        case _ if subject.kind == "HTTPRoute":
            yield from _of_route(view, subject)
        case _:
            return


def _of_httpproxy(view: View, subject: ObjectRef, found: HTTPProxy) -> Iterator[ChainUse]:
    host = found.spec.virtualhost
    for name in owner.fqdns(found) if host is not None and host.tls is not None else ():
        yield from _of_classic(view, subject, name, "spec.virtualhost.tls")
    if uses.fallback(view, found) is not None:
        yield from _of_fallback(view, uses.FALLBACK)


def _of_classic(view: View, subject: ObjectRef, name: str, path: str) -> Iterator[ChainUse]:
    """The chain of a host of Ingress or HTTPProxy, if it is this object that brings its TLS."""
    if (key := _classic(view, name)) is not None:
        yield from _of_host(view, subject, key, path)


def _classic(view: View, name: str) -> nodes.HostKey | None:
    secure = view.ask(listeners.secure_listener, ())
    return nodes.HostKey(DEFAULT_FLEET, secure.name, name) if secure is not None else None


def _of_host(view: View, subject: ObjectRef, key: nodes.HostKey, path: str) -> Iterator[ChainUse]:
    host = view.ask(hosts.secure_host, key)
    if host is not None and host.tls is not None and subject in host.origins:
        yield _use(key, host.tls, path)


def _use(key: nodes.HostKey, tls: nodes.Tls, path: str) -> ChainUse:
    return ChainUse(path, ref(key.fleet, key.listener, tls), ObjectRef("Secret", *tls.secret))


def _of_fallback(view: View, path: str) -> Iterator[ChainUse]:
    """The chain of clients that name no host, if it has the fallback certificate."""
    key, secret = _classic(view, hostnames.EVERY), view.ask(settings.fallback_certificate, ())
    host = view.ask(hosts.secure_host, key) if key is not None else None
    if key is not None and host is not None and host.tls is not None and host.tls.secret == secret:
        yield _use(key, host.tls, path)


def _of_listeners(view: View, subject: ObjectRef) -> Iterator[ChainUse]:
    gateway = view.ask(listenersets.gateway_of, subject)
    fleet = view.ask(selection.fleet, gateway) if gateway is not None else None
    if fleet is None:
        return
    specs = view.ask(listenerspecs.specs, subject)
    for index, it in enumerate(specs):
        if it.family == "HTTPS":
            key = nodes.HostKey(fleet, it.listener, it.host)
            yield from _of_host(view, subject, key, f"spec.listeners[{index}].tls")


def _of_route(view: View, subject: ObjectRef) -> Iterator[ChainUse]:
    """The chains of hosts whose certificate an HTTPRoute brings."""
    secret = view.ask(routecertificates.brought, subject.key)
    found = view.ask(attachment.attachment, subject) if secret is not None else None
    path = f"metadata.annotations[{routecertificates.ANNOTATION}]"
    for key in (key for it in found.parents for key in it.overridable) if found is not None else ():
        host = view.ask(hosts.secure_host, key)
        if host is not None and host.tls is not None and host.tls.secret == secret:
            yield _use(key, host.tls, path)
