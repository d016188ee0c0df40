"""Objects that lead to nothing: certificates that nobody serves, hosts that several APIs share, and
connections that another API takes."""

import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import cast

from crds.meta import NamespacedName, ObjectMeta, ObjectRef
from dag import foreignobjects, hosts, tables
from dag.engine.incremental import Engine
from dag.findings import Finding, Steps
from dag.findings.catalogue import Code


def certificates(engine: Engine) -> Steps:
    """Secrets of type kubernetes.io/tls whose name stands in no object that is read here.

    Also in one that is not served, or in a field that no rule reads: the Secret may be in use
    elsewhere, and who believes this finding removes it.
    """
    unused: defaultdict[str, set[NamespacedName]] = defaultdict(set)
    for key, secret in engine.rows(tables.SECRETS):
        yield None
        if secret.type == "kubernetes.io/tls" and not _is_for_pods(secret.metadata):
            unused[key.name].add(key)
    for namespace, found in _referrers(engine):
        yield None
        if not unused:
            break
        texts = _texts(found)
        for text in texts:
            own, _, name = text.rpartition("/")
            if name in unused:
                namespaces = {own} if own else {namespace, *texts}
                left = {it for it in unused.pop(name) if it.namespace not in namespaces}
                if left:
                    unused[name] = left
    for key in sorted(it for keys in unused.values() for it in keys):
        text = "no object that is read here refers to this certificate"
        yield Finding(Code.SecretUnused, ObjectRef("Secret", *key), "", text)


_WITHOUT_REFERENCES = frozenset(
    {
        "ConfigMap", "CustomResourceDefinition", "EndpointSlice", "Namespace", "ReferenceGrant",
        "Secret", "Service", "TLSCertificateDelegation",
    }
)  # fmt: skip
"""Kinds that refer to no Secret, or only say who may."""


def _referrers(engine: Engine) -> Iterator[tuple[str, object]]:
    """Each object that may refer to a Secret, after its namespace."""
    for kind, table in tables.BY_KIND.items():
        if kind not in _WITHOUT_REFERENCES:
            yield from ((key.namespace, found) for key, found in engine.rows(table))
    for it, found in engine.rows(foreignobjects.OBJECTS):
        yield it.namespace, json.loads(found)


def _is_for_pods(found: ObjectMeta) -> bool:
    """Whether a Secret is one of our own, which pods of the instance mount."""
    return found.labels.get("app.kubernetes.io/part-of") == "contour"


def _texts(found: object) -> set[str]:
    """All texts of an object, but for its own name and labels, and for names of other kinds."""
    texts: set[str] = set()
    left = [found]
    while left:
        it = left.pop()
        if isinstance(it, str):
            texts.add(it)
        elif isinstance(it, ObjectMeta):
            texts.update(it.annotations.values())
        elif it is not None:
            left.extend(_parts(it))
    return texts


def _parts(found: object) -> Iterable[object]:
    names = _fields(cast("Hashable", type(found)))
    if names:
        is_of_other = "name" in names and getattr(found, "kind", "Secret") != "Secret"
        return [getattr(found, it) for it in names if not (is_of_other and it == "name")]
    if isinstance(found, tuple | list):
        return cast("Iterable[object]", found)
    return cast("Mapping[str, object]", found).values() if isinstance(found, Mapping) else ()


@cache
def _fields(model: Hashable) -> tuple[str, ...]:
    return tuple(it.name for it in fields(model)) if is_dataclass(model) else ()


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
                text = f"gets no TLS connections for {key.host}: they go to {owners}"
                yield Finding(Code.ConnectionsTaken, subject, "", text)


_APIS = {
    "Ingress": "Ingress",
    "HTTPProxy": "HTTPProxy",
    "HTTPRoute": "the Gateway API",
    "GRPCRoute": "the Gateway API",
}
