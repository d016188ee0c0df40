"""What the name of a resource in an EnvoyPatchPolicy stands for.

Our resources do not correspond one to one to those of Envoy Gateway. Its names are accepted where
they mean the same: that of a listener, that of a virtual host within the name of its listener, and
that of the cluster of a rule with one backend. Ours are accepted, too: listeners by their names,
virtual hosts by listener and host, clusters by namespace, Service and port.
"""

import re
from typing import Literal, NamedTuple

from crds.envoygateway import patchpolicy as crd
from crds.meta import NamespacedName, ObjectRef
from dag import listeners, nodes, tables
from dag.engine.view import View
from dag.gateway import servedlisteners


class PatchPlace(NamedTuple):
    """A part of a fleet's configuration that can be patched."""

    fleet: str
    kind: Literal["listener", "host", "cluster"]
    name: str
    """The name of the listener, or of the cluster."""
    host: str = ""
    is_quic: bool = False
    """The listener for HTTP/3 beside it is meant."""


class Unplaced(NamedTuple):
    """Why a name stands for nothing."""

    why: str
    is_missing: bool = True
    """False: the name is not valid, or cannot be patched."""


_QUIC = "-quic"
_OF_GATEWAY = re.compile(r"(?P<namespace>[^/]+)/(?P<gateway>[^/]+)/(?P<listener>[^/]+)")
_OF_RULE = re.compile(r"(?P<kind>http|grpc)route/(?P<route>[^/]+/[^/]+)/rule/(?P<rule>\d{1,4})")
_TABLES = re.compile(r"^/?virtual_hosts\b|^\$?\.*\[?['\"]?virtual_hosts\b")


def place(view: View, fleet: str, it: crd.ResourcePatch) -> PatchPlace | Unplaced:
    """The part to which an operation is to be applied."""
    match it.type:
        case crd.LISTENER:
            return _listener(view, fleet, it.name)
        case crd.ROUTES:
            return _host(view, fleet, it)
        case crd.CLUSTER:
            return _cluster(view, fleet, it.name)
        case _:
            kind = it.type.rpartition(".")[2]
            return Unplaced(f"a {kind} cannot be patched", is_missing=False)


def _listener(view: View, fleet: str, name: str) -> PatchPlace | Unplaced:
    known = _named_listener(view, fleet, name, "HTTP", "HTTPS")
    if known is not None:
        return known if isinstance(known, Unplaced) else PatchPlace(fleet, "listener", known)
    if name.endswith(_QUIC):
        found = _named_listener(view, fleet, name.removesuffix(_QUIC), "HTTPS")
        if isinstance(found, str):
            return PatchPlace(fleet, "listener", found, is_quic=True)
    return Unplaced(f"there is no listener {name!r}; there are {_listeners(view, fleet)}")


def _named_listener(
    view: View, fleet: str, name: str, *protocols: nodes.Protocol, shares: bool = False
) -> str | Unplaced | None:
    """The name of our listener; None if no listener has this name."""
    every = [it for it in view.ask(listeners.listeners, fleet) if it.protocol in protocols]
    if any(it.name == name for it in every):
        return name
    found = _OF_GATEWAY.fullmatch(name)
    if found is None:
        return None
    gateway = ObjectRef("Gateway", found["namespace"], found["gateway"])
    of_gateway = view.ask(servedlisteners.served, gateway)
    of_fleet = [it for it in of_gateway if it.host.fleet == fleet]
    ours = next((it for it in of_fleet if it.section.name == found["listener"]), None)
    if ours is None or not any(it.name == ours.host.listener for it in every):
        return None
    own = ours.host.listener
    if not shares and sum(it.host.listener == own for it in of_fleet) > 1:
        why = f"{name!r} shares its port with other listeners; a patch for all of them names {own}"
        return Unplaced(why)
    return own


def _listeners(view: View, fleet: str) -> str:
    every = view.ask(listeners.listeners, fleet)
    names = [it.name for it in every if it.protocol in {"HTTP", "HTTPS"}]
    return ", ".join(names) or "none"


def _host(view: View, fleet: str, it: crd.ResourcePatch) -> PatchPlace | Unplaced:
    named = _named_listener(view, fleet, it.name, "HTTP", "HTTPS", shares=True)
    remedy = (
        "name one virtual host, as LISTENER/HOST such as"
        f" {it.name.rstrip('/') if named else 'ingress_http'}/www.example.com,"
        " and begin the path inside it, such as /routes/0"
    )
    if named is not None:
        return Unplaced(f"the hosts of {it.name!r} are no resource as a whole; {remedy}", False)
    if _TABLES.match(it.operation.path or it.operation.json_path or ""):
        return Unplaced(f"virtual hosts have no numbers here; {remedy}", is_missing=False)
    listener, _, host = it.name.rpartition("/")
    own = _named_listener(view, fleet, listener, "HTTP", "HTTPS", shares=True)
    if not isinstance(own, str) or not host:
        found = f"there is no listener of the virtual host {it.name!r}; {remedy}"
        return Unplaced(f"{found}; listeners: {_listeners(view, fleet)}")
    return PatchPlace(fleet, "host", own, host.replace("_", ".").lower())


def _cluster(view: View, fleet: str, name: str) -> PatchPlace | Unplaced:
    found = _OF_RULE.fullmatch(name)
    if found is None:
        return PatchPlace(fleet, "cluster", name)
    key = NamespacedName(*found["route"].split("/"))
    is_http, index = found["kind"] == "http", int(found["rule"])
    route = view.read(tables.HTTPROUTES, key) if is_http else view.read(tables.GRPCROUTES, key)
    if route is None or index >= len(route.spec.rules):
        return Unplaced(f"there is no rule of the cluster {name!r}")
    refs = route.spec.rules[index].backend_refs
    if len(refs) != 1 or refs[0].kind != "Service" or refs[0].port is None:
        why = f"the rule of {name!r} has not one Service, so its clusters have names of their own"
        return Unplaced(f"{why}: NAMESPACE/SERVICE/PORT")
    namespace = refs[0].namespace or key.namespace
    return PatchPlace(fleet, "cluster", f"{namespace}/{refs[0].name}/{refs[0].port}")
