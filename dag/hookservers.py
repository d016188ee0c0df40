"""Extensions of a ContourConfiguration: how they are reached, and problems with them.

If a Secret is missing or cannot be used, the extension is not called: no request goes over a
connection with less protection than configured.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import foreignobjects, nodes, tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, Table, View, query
from dag.problems import Problem
from dag.problems import configuration as problems
from dag.problems.places import Place
from dag.references import secrets, trust


class Troubles(NamedTuple):
    """Errors in the answers of an extension, and remarks on answers that are used."""

    errors: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


TROUBLES: Table[str, Troubles] = Table("troubles of extensions")
"""By the name of the extension; no row if there are none."""

UNFINISHED: Table[ObjectRef, tuple[str, ...]] = Table(
    "objects that extensions keep waiting", tables.TOLD_OF_OBJECTS
)
"""By object: messages about its hosts that wait for extensions, sorted; no row if none."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How an extension is reached."""

    server: nodes.HookServer
    authorities: bytes | None = None
    """The authorities that sign the extension's certificate, in PEM; None without TLS."""
    certificate: nodes.Secret | None = None
    """The client certificate that we show."""
    refusal: str = ""
    """Why it cannot be reached at all."""


@query
def servers(view: View, _: tuple[()]) -> tuple[nodes.HookServer, ...]:
    """The extensions, in their order."""
    return view.ask(settings.hook_servers, ())


@query
def connection(view: View, name: str) -> Connection | None:
    """How the extension of this name is reached; None if there is none."""
    server = next((it for it in view.ask(servers, ()) if it.name == name), None)
    if server is None:
        return None
    if server.tls is None:
        return Connection(server)
    problem = next(_refusals(view, server.tls), None)
    if problem is not None:
        return Connection(server, refusal=problem[1])
    shown = server.tls.certificate
    authorities = _authorities(view, server.tls.authorities)
    return Connection(server, authorities, view.ask(secrets.secret, shown) if shown else None)


def _authorities(view: View, key: NamespacedName) -> bytes | None:
    """The authorities in a Secret: `ca.crt`, or `tls.crt`, where Envoy Gateway's users put them."""
    found = view.read(tables.SECRETS, key)
    if found is None:
        return None
    return found.data.get("ca.crt") or found.data.get("tls.crt", b"")


def _refusals(view: View, tls: nodes.HookTls) -> Iterator[tuple[str, str]]:
    """The fields whose Secrets cannot be used, and why."""
    why = trust.authorities_refusal(_authorities(view, tls.authorities))
    if why is not None:
        yield "certificateRef", f"Secret {tls.authorities} {why}"
    if tls.certificate is not None:
        refusal = view.ask(secrets.refusal, tls.certificate)
        if refusal is not None:
            yield "clientCertificateRef", refusal.message


def problems_of(view: View, spec: Place) -> Iterator[Problem]:
    """What is wrong with the extensions that are in force."""
    found = view.ask(servers, ())
    for index, server in enumerate(found):
        place = spec.at("extensions", index)
        if server.tls is not None:
            for field, why in _refusals(view, server.tls):
                yield problems.unresolved(place.at("service").at("tls").at(field), why)
        for number, kind in enumerate(server.kinds):
            if (fault := view.read(foreignobjects.FAULTS, kind)) is not None:
                yield problems.extension_kind_unread(place.at("resources", number), fault)
        for text in (view.read(TROUBLES, server.name) or Troubles()).errors:
            yield problems.extension_fails(place, text)


def remarked(view: View, spec: Place) -> Iterator[Problem]:
    """Remarks on answers that are used."""
    found = view.ask(servers, ())
    for index, server in enumerate(found):
        for text in (view.read(TROUBLES, server.name) or Troubles()).remarks:
            yield problems.extension_remark(spec.at("extensions", index), text)


def _named(_: tuple[()], found: tuple[nodes.HookServer, ...]) -> Iterator[tuple[str, None]]:
    return ((it.name, None) for it in found)


def _of_process(_: str) -> tuple[()]:
    return ()


NAMES: Index[str, None] = Index("extensions by name", servers, _named)

INDEXES = (NAMES,)
KEPT = (
    Kept(servers, tables.FLEETS, _of_process),
    Kept(connection, NAMES),
)
