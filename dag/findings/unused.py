"""Objects that lead to nothing: certificates that nobody serves, hosts that several APIs share, and
connections that another API takes."""

from crds.meta import ObjectRef
from dag import hosts, tables
from dag.engine.incremental import Engine
from dag.findings import Finding, Steps
from dag.findings.catalogue import Code
from dag.warnings import uses


def certificates(engine: Engine) -> Steps:
    """Secrets of type kubernetes.io/tls to which no object of ours refers."""
    used: set[ObjectRef] = set()
    for kind, table in tables.BY_KIND.items():
        for key, _ in engine.rows(table):
            yield None
            used.update(held.ref for _, held in uses.certificates(engine, ObjectRef(kind, *key)))
    for key, found in engine.rows(tables.SECRETS):
        yield None
        ref = ObjectRef("Secret", *key)
        if found.type == "kubernetes.io/tls" and ref not in used:
            text = "no object that is read here refers to this certificate"
            yield Finding(Code.SecretUnused, ref, "", text)


def shared_hosts(engine: Engine) -> Steps:
    """Hosts to which objects of several APIs add routes."""
    told: set[tuple[ObjectRef, str]] = set()
    for key, found in engine.answers(hosts.virtual_host):
        yield None
        if found is None:
            continue
        kinds = {it.origin.kind for it in found.routes if it.origin.kind in _APIS}
        apis = sorted({_APIS[it] for it in kinds})
        for subject in found.origins if len(apis) > 1 else ():
            if subject.kind in _APIS and (subject, key.host) not in told:
                told.add((subject, key.host))
                *others, last = apis
                text = f"{key.host} has routes of {', '.join(others)} and {last}"
                yield Finding(Code.HostShared, subject, "", text)


def lost_connections(engine: Engine) -> Steps:
    """Hosts whose TLS connections another API takes; one of both forwards them unread."""
    for key, _ in engine.answers(hosts.secure_host):
        yield None
        for loser, winner in hosts.overruled(engine, key):
            owners = " and ".join(map(str, winner.origins))
            for subject in loser.origins:
                text = f"gets no TLS connections for {key.host}: {owners} has them"
                yield Finding(Code.ConnectionsTaken, subject, "", text)


_APIS = {
    "Ingress": "Ingress",
    "HTTPProxy": "HTTPProxy",
    "HTTPRoute": "the Gateway API",
    "GRPCRoute": "the Gateway API",
}
