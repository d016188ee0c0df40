"""The extensions that a ContourConfiguration registers (`spec.extensions`), and what is wrong.

An invalid one is an error of the configuration and never just left out: what it may be meant to
guard would be open.
"""

from collections.abc import Iterable, Iterator

from crds import foreign
from crds import hooks as crd
from crds.meta import NamespacedName
from dag import nodes
from dag.problems import Problem, Refused
from dag.problems import configuration as problems
from dag.problems.places import Findings, Place
from dag.values import durations

_LONGEST_ANSWER = 60.0
_SHORTEST_REFRESH = 10.0


def servers(
    at: Place, written: tuple[crd.Extension, ...]
) -> Findings[tuple[nodes.HookServer, ...]]:
    """The extensions in their order; one with an error is left out, and its error is yielded."""
    found: dict[str, nodes.HookServer] = {}
    versions: dict[tuple[str, str], str] = {}
    for index, it in enumerate(written):
        place = at.at("extensions", index)
        yield from _differing(place, it.resources, versions)
        if it.name in found:
            text = f"another extension is called {it.name!r} already"
            yield problems.invalid_value(place.at("name"), text)
            continue
        wrong = tuple(_wrong(place, it))
        yield from wrong
        try:
            server = _server(place, it)
        except Refused as refused:
            yield refused.problem
            continue
        if not wrong:
            found[it.name] = server
    return tuple(found.values())


def _wrong(place: Place, it: crd.Extension) -> Iterator[Problem]:
    if not it.hooks.post:
        yield problems.invalid_value(place.at("hooks").at("post"), "names no hook")
    if it.resources and "Route" not in it.hooks.post:
        text = "need the hook Route, by which their objects are sent"
        yield problems.invalid_value(place.at("resources"), text)
    if it.secrets == "Full" and not _is_private(it.service):
        text = "Full needs a Unix socket, or TLS with tls.clientCertificateRef"
        yield problems.invalid_value(place.at("secrets"), text)
    for index, kind in enumerate(it.resources):
        if foreign.is_native(kind.group):
            text = f"kinds of {kind.group} cannot be registered"
            yield problems.invalid_value(place.at("resources", index).at("group"), text)
    yield from _twice(place, it.resources)


def _is_private(service: crd.ExtensionServer) -> bool:
    """Whether the connection is encrypted, and both sides know whom they talk to."""
    is_mutual = service.tls is not None and service.tls.client_certificate_ref is not None
    return service.unix is not None or is_mutual


def _twice(place: Place, written: Iterable[crd.ExtensionKind]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for index, kind in enumerate(written):
        if (kind.group, kind.kind) in seen:
            text = f"{kind.kind}.{kind.group} is registered twice"
            yield problems.invalid_value(place.at("resources", index), text)
        seen.add((kind.group, kind.kind))


def _differing(
    place: Place, written: Iterable[crd.ExtensionKind], versions: dict[tuple[str, str], str]
) -> Iterator[Problem]:
    """Kinds that another extension has registered in another version: each is read in one."""
    for index, it in enumerate(written):
        first = versions.setdefault((it.group, it.kind), it.version)
        if first != it.version:
            text = f"{it.kind}.{it.group} is registered as {first} by another extension"
            yield problems.invalid_value(place.at("resources", index).at("version"), text)


def _server(place: Place, it: crd.Extension) -> nodes.HookServer:
    service = it.service
    return nodes.HookServer(
        name=it.name,
        hooks=frozenset(it.hooks.post),
        kinds=tuple(nodes.ForeignKind(k.group, k.version, k.kind) for k in it.resources),
        host=service.host or "",
        port=service.port,
        unix=service.unix or "",
        is_sidecar=it.sidecar is not None,
        tls=_tls(service.tls),
        timeout=_seconds(place.at("timeout"), it.timeout, most=_LONGEST_ANSWER) or 5.0,
        retries=it.retries,
        fail_open=it.fail_open,
        may_remove_clusters=it.may_remove_clusters,
        may_remove_secrets=it.may_remove_secrets,
        sees_private_keys=it.secrets == "Full",
        refresh=_seconds(place.at("refresh"), it.refresh, least=_SHORTEST_REFRESH),
    )


def _tls(written: crd.ExtensionTLS | None) -> nodes.HookTls | None:
    if written is None:
        return None
    shown = written.client_certificate_ref
    return nodes.HookTls(
        NamespacedName(written.certificate_ref.namespace, written.certificate_ref.name),
        NamespacedName(shown.namespace, shown.name) if shown is not None else None,
        written.server_name or "",
    )


def _seconds(
    place: Place, text: str | None, least: float = 0.001, most: float = durations.LONGEST
) -> float | None:
    if not text:
        return None
    found = durations.read(place, text, problems.invalid_value)
    if not least <= found <= most:
        raise Refused(problems.invalid_value(place, f"must be from {least:g}s to {most:g}s"))
    return found
