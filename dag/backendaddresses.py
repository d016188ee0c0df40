"""The endpoints of a Backend of Envoy Gateway (names, addresses, sockets), or why it has none.

Whoever may write a Backend chooses where Envoy connects to. In a cluster that must not be Envoy
itself, its machine, or the pods of this instance: those are found by the label of their Services,
which Kubernetes repeats on EndpointSlices, in the namespace of the ContourConfiguration. On one
machine the loopback interface and Unix sockets are allowed. One refused endpoint closes the whole
Backend: whether its author wants the others to work without it is not known.
"""

from collections.abc import Iterable, Iterator

from crds.endpointslice import EndpointSlice
from crds.envoygateway.backend import BackendEndpoint, NameEndpoint
from crds.meta import NamespacedName, ObjectMeta
from crds.records import dataclass
from crds.service import Service
from dag import nodes, tables
from dag.engine.view import Index, View, query
from dag.problems import Problem
from dag.problems import backends as problems
from dag.problems.places import Findings, Place, gathered
from dag.values import addresses

KIND = "Backend"


@dataclass(frozen=True, slots=True)
class Located:
    """The endpoints of a Backend, and what is wrong with them."""

    endpoints: tuple[nodes.Endpoint, ...] = ()
    """In the order of the Backend, each once; none if one of them is refused."""
    by_dns: bool = False
    """The endpoints are DNS names, which Envoy resolves."""
    problems: tuple[Problem, ...] = ()


NOWHERE = Located()


@query
def located(view: View, key: NamespacedName) -> Located:
    """The endpoints of a Backend; none if there is no such object."""
    found = view.read(tables.BACKENDS, key)
    if found is None:
        return NOWHERE
    at = problems.backend(key)
    named, told = gathered(_endpoints(view, found.spec.endpoints, at))
    if not found.spec.endpoints and found.spec.type == "Endpoints":
        told = (problems.value_not_valid(at.at("endpoints"), "must have an endpoint"),)
    if told:
        return Located(problems=told)
    by_dns = any(it.fqdn is not None for it in found.spec.endpoints)
    return Located(tuple(dict.fromkeys(named)), by_dns)


def endpoints(view: View, key: NamespacedName) -> nodes.Endpoints:
    """The addresses and sockets of a Backend; none if it has names, which Envoy resolves."""
    found = view.ask(located, key)
    return nodes.Endpoints(() if found.by_dns else found.endpoints)


def _endpoints(
    view: View, given: Iterable[BackendEndpoint], at: Place
) -> Findings[list[nodes.Endpoint]]:
    found: list[nodes.Endpoint] = []
    for index, it in enumerate(given):
        place, hostname = at.at("endpoints", index), it.hostname or ""
        if it.fqdn is not None:
            field, why = place.at("fqdn").at("hostname"), _name_refusal(view, it.fqdn)
            found.append(nodes.Endpoint(it.fqdn.hostname, it.fqdn.port, hostname))
        elif it.ip is not None:
            field, why = place.at("ip").at("address"), _address_refusal(view, it.ip.address)
            found.append(nodes.Endpoint(_canonical(it.ip.address), it.ip.port, hostname))
        else:
            path = it.unix.path if it.unix is not None else ""
            field, why = place.at("unix").at("path"), _socket_refusal(view, path)
            found.append(nodes.Endpoint(path, 0, hostname))
        if why:
            yield problems.value_not_valid(field, why)
    return found


def _parsed(text: str) -> addresses.Address | None:
    return addresses.of_family(text, "IPv6" if ":" in text else "IPv4")


def _canonical(text: str) -> str:
    found = _parsed(text)
    return str(found) if found is not None else text


def _is_cluster(view: View) -> bool:
    return view.read(tables.LOOPBACK_REFUSED, ()) is not None


def _name_refusal(view: View, given: NameEndpoint) -> str:
    host, is_cluster = given.hostname, _is_cluster(view)
    if _parsed(host.removesuffix(".")) is not None:
        return f"{host!r} is an IP address; write ip"
    if why := addresses.refusal(host.removesuffix("."), loopback=not is_cluster):
        return f"{host!r} {why}"
    if is_cluster and "." not in host:
        return f"{host!r} has one label, which means a Service of Envoy's own namespace"
    return f"{host!r} {_OWN}" if is_cluster and _is_own_service(view, host) else ""


_OWN = "leads to the control plane or its Envoys"


def _is_own_service(view: View, host: str) -> bool:
    """Whether a host name is the name of a Service of this instance in the cluster's DNS."""
    labels = host.removesuffix(".").split(".")
    end = labels.index("svc") if "svc" in labels else len(labels)
    home = _home(view)
    if end < 2 or labels[end - 1] != home:
        return False
    found = view.read(tables.SERVICES, NamespacedName(home, labels[end - 2]))
    return found is not None and _is_own(found.metadata)


def _address_refusal(view: View, text: str) -> str:
    address, is_cluster = _parsed(text), _is_cluster(view)
    if address is None:
        return f"{text!r} is no IP address"
    if fault := addresses.endpoint_fault(address, loopback=not is_cluster):
        return f"{text} is {fault}"
    is_own = is_cluster and _is_own_address(view, str(addresses.embedded(address)))
    return f"{text} {_OWN}" if is_own else ""


def _is_own_address(view: View, text: str) -> bool:
    where = (_home(view), text)
    return any(view.count(index, where) for index in INDEXES)


_MOST_OF_A_PATH = 107
"""Bytes of the path of a Unix socket: `sun_path` of Linux, without the NUL at its end."""


def _socket_refusal(view: View, path: str) -> str:
    if _is_cluster(view):
        return "Unix sockets are served on one machine only, not in a cluster"
    if not path.startswith("/") or not path.isprintable():
        return f"{path[:60]!r} is no absolute path"
    if len(path.encode()) > _MOST_OF_A_PATH:
        return f"must be at most {_MOST_OF_A_PATH} bytes"
    return ""


def _home(view: View) -> str:
    """The namespace of this instance; empty if it has none."""
    name = view.read(tables.CONFIGURATION_NAME, ())
    return name.namespace if name is not None else ""


_LABEL = ("app.kubernetes.io/component", "ingress-controller")


def _is_own(metadata: ObjectMeta) -> bool:
    name, value = _LABEL
    return metadata.labels.get(name) == value


def _of_slice(
    _: NamespacedName, found: EndpointSlice
) -> Iterator[tuple[tuple[str, str], NamespacedName]]:
    if _is_own(found.metadata):
        for it in found.endpoints:
            yield from (_at(found.metadata, text) for text in it.addresses)


def _of_service(
    _: NamespacedName, found: Service
) -> Iterator[tuple[tuple[str, str], NamespacedName]]:
    if _is_own(found.metadata):
        yield from (_at(found.metadata, text) for text in found.spec.cluster_ips)


def _at(metadata: ObjectMeta, text: str) -> tuple[tuple[str, str], NamespacedName]:
    return (metadata.namespace, _canonical(text)), metadata.key


OWN_PODS: Index[tuple[str, str], NamespacedName] = Index(
    "addresses of pods of this program", tables.ENDPOINT_SLICES, _of_slice
)
OWN_SERVICES: Index[tuple[str, str], NamespacedName] = Index(
    "addresses of Services of this program", tables.SERVICES, _of_service
)

INDEXES = (OWN_PODS, OWN_SERVICES)
"""By namespace and address."""
