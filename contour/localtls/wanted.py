"""The hosts for which an object needs a certificate, and the Secret for it. Pure."""

from collections.abc import Iterator

from crds.gateway.gateway import Gateway
from crds.gateway.listenerset import ListenerSet
from crds.httpproxy import HTTPProxy
from crds.ingress import Ingress
from crds.meta import NamespacedName
from dag.references import delegation
from dag.values import hostnames

Wanted = tuple[NamespacedName, frozenset[str]]
"""A Secret, and hosts that its certificate is for; perhaps none that are known. An object may name
a Secret several times, for other hosts each time."""


def wanted(found: object) -> Iterator[Wanted]:
    """The TLS Secrets to which an object refers, whether or not they exist."""
    match found:
        case HTTPProxy():
            yield from _of_httpproxy(found)
        case Ingress():
            for it in found.spec.tls:
                if it.secret_name:
                    hosts = it.hosts or tuple(rule.host for rule in found.spec.rules)
                    key = NamespacedName(found.metadata.namespace, it.secret_name)
                    yield key, _names(hosts)
        case Gateway() | ListenerSet():
            yield from _of_listeners(found)
        case _:
            return


def _of_httpproxy(found: HTTPProxy) -> Iterator[Wanted]:
    host = found.spec.virtualhost
    if host is None or host.tls is None:
        return
    key = delegation.named(host.tls.secret_name, found.metadata.namespace)
    if key is not None:
        yield key, _names((host.fqdn, *host.aliases))


def _of_listeners(found: Gateway | ListenerSet) -> Iterator[Wanted]:
    for listener in found.spec.listeners:
        for it in listener.tls.certificate_refs if listener.tls is not None else ():
            if (it.group, it.kind) == ("", "Secret"):
                key = NamespacedName(it.namespace or found.metadata.namespace, it.name)
                yield key, _names((listener.hostname or "",))


def _names(hosts: tuple[str, ...]) -> frozenset[str]:
    found = {it.strip().lower() for it in hosts}
    return frozenset(it for it in found if it and hostnames.refusal(it) is None)
