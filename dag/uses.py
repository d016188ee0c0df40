"""What an object of any kind leads to, wherever in it that is said.

For what is told of an object because of another one that has no status of its own.
"""

from collections.abc import Iterable, Iterator

from crds.httpproxy import HTTPProxy
from crds.ingress import Ingress, IngressBackend
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.gateway import routes
from dag.view import View


def services(view: View, subject: ObjectRef) -> tuple[NamespacedName, ...]:
    """The Services that an object leads to, sorted, whether or not they are there."""
    if subject.kind in routes.KINDS:
        return routes.rules(view, subject).services
    found = view.read(tables.BY_KIND[subject.kind], subject.key)
    match found:
        case Ingress():
            names = _of_ingress(found)
        case HTTPProxy():
            names = _of_httpproxy(found)
        case _:
            return ()
    return tuple(sorted({NamespacedName(subject.namespace, it) for it in names}))


def _of_ingress(found: Ingress) -> Iterator[str]:
    backends = [found.spec.default_backend]
    for rule in found.spec.rules:
        backends += [it.backend for it in rule.http.paths] if rule.http is not None else []
    yield from _names(backends)


def _names(backends: Iterable[IngressBackend | None]) -> Iterator[str]:
    for it in backends:
        if it is not None and it.service is not None:
            yield it.service.name


def _of_httpproxy(found: HTTPProxy) -> Iterator[str]:
    for route in found.spec.routes:
        yield from (it.name for it in route.services)
    if found.spec.tcpproxy is not None:
        yield from (it.name for it in found.spec.tcpproxy.services)
