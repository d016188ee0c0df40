"""Explains the answer to a request: its evaluation, and the problems of the objects that it meets.

For `contour explain`. It reads what the instance already knows, and sends no request.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from contour.answers.explained import (
    Explained,
    ShownAnswer,
    ShownBackend,
    ShownProblem,
    ShownStep,
)
from contour.complaints import Locate
from contour.inspection import altering, analysis, ruleplaces
from contour.status import listing, rows
from contour.status.board import Board
from contour.status.rows import Row, Told, plain_subject
from crds.gateway.grpcroute import GRPCRoute
from crds.gateway.httproute import HTTPRoute
from crds.gateway.streams import TLSRoute
from crds.ingress import Ingress
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import fleets, listeners, tables
from dag.engine.incremental import Engine
from dag.evaluation import evaluator, places
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer, Forwarded, Step, Trace
from dag.findings import certificates
from dag.httpproxy import owner
from dag.values import hostnames

_MOST = 10
"""The most objects whose problems are told."""
_ERROR = 400
"""The least status that is an error."""
_MOST_READ = 1000
"""The most objects that are searched for problems."""


_CLAIMING = frozenset({"HTTPProxy", "Ingress", "HTTPRoute", "GRPCRoute"})
"""The kinds whose objects have hosts for requests."""
_UNCLAIMED = (("host", "failed"), ("listener", "failed"))
"""The steps after which nobody has the request."""


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains requests to one instance."""

    engine: Engine
    board: Board
    locate: Locate

    def explained(self, fleet: str, request: Request) -> Explained:
        """The evaluation of a request as plain data."""
        trace = evaluator.evaluate(self.engine, fleet, request)
        altered = tuple(altering.steps(self.engine, trace))
        if any(it.subject is not None and it.topic != "action" for it in altered):
            # Patches of what precedes a backend are not evaluated.
            trace.answer = replace(trace.answer, may_be_refused=True)
        found: Explained = {
            "method": request.method,
            "url": request.url,
            "answer": _answer(trace.answer),
            "problems": list(self._problems(trace, request)),
            "steps": list(map(_step, (*trace.steps, *altered, *self._unread(trace, request)))),
            "backends": [
                self._backend(it, trace.answer)
                for it in (*trace.answer.backends, *trace.answer.streams)
            ],
        }
        listener = trace.listener and self.engine.answer(listeners.listener, trace.listener)
        if listener:
            found["listener"] = {"address": listener.address, "port": listener.bind_port}
        names = sorted(name for name, it in self.engine.answers(fleets.fleet) if it is not None)
        if names and fleet not in names:
            found["fleets"] = names
        return found

    def _problems(self, trace: Trace, request: Request) -> Iterator[ShownProblem]:
        route = trace.answer.route
        rule = ruleplaces.place(self.engine, route, trace.host or "") if route is not None else ""
        for row in (*self._certificates(trace, request), *self._rows(trace, request)):
            is_own = route is not None and row.subject == route.origin
            yield from _problems(row, rule if is_own else "")

    def _unread(self, trace: Trace, request: Request) -> Iterator[Step]:
        """The objects whose newest version was refused, where nobody has the host: they may."""
        if not any((it.topic, it.outcome) in _UNCLAIMED for it in trace.steps):
            return
        kinds = {_kind(request)} if request.is_stream else _CLAIMING
        refused = (it for it in sorted(self.board.remarks) if it.kind in kinds)
        for subject in islice((it for it in refused if self.board.faults(it)), _MOST):
            why = next(it for it in self.board.row(subject).told if it.severity == "error")
            what = ": ".join(filter(None, (why.field, why.message)))
            place = f" ({why.file}:{why.line})" if why.file else ""
            unknown = "ports" if request.is_stream else "hosts"
            words = f"not served as it is written, so its {unknown} are not known: {what}{place}"
            yield Step("host", "noted", words, subject)

    def _certificates(self, trace: Trace, request: Request) -> Iterator[Row]:
        """The owners of a certificate that the client will refuse."""
        is_shown = any((it.topic, it.outcome) == ("certificate", "passed") for it in trace.steps)
        if trace.listener is None or not is_shown or not request.asked:
            return
        _, host = places.secure_host(self.engine, trace.listener, request)
        for it in certificates.of_client(self.engine, host, request.asked):
            yield analysis.row(it).located(self.locate)

    def _rows(self, trace: Trace, request: Request) -> Iterator[Row]:
        """The rows with problems, of the objects on which the answer depends."""
        subjects = islice(dict.fromkeys(self._subjects(trace, request)), _MOST_READ)
        found = (listing.row(self.board, self.engine, it) for it in subjects)
        for row in islice((it for it in found if it.told), _MOST):
            yield row.located(self.locate)

    def _subjects(self, trace: Trace, request: Request) -> Iterator[ObjectRef]:
        """The object of the route, or objects whose route it might have been; and all that claim
        the host."""
        answer = trace.answer
        met = [it.subject for it in trace.steps if it.subject is not None]
        if answer.route is not None:
            yield answer.route.origin
            yield from met if answer.status is not None and answer.status >= _ERROR else ()
        elif any((it.topic, it.outcome) == ("route", "passed") for it in trace.steps):
            yield from met
        else:
            naming = list(self._naming(request))
            holders = self._refusing(naming) if trace.host is None else ()
            yield from (*holders, *naming) if answer.status is None else (*naming, *holders)
        yield from () if request.is_stream else self._claiming(request.name)

    def _refusing(self, naming: Iterable[ObjectRef]) -> Iterator[ObjectRef]:
        """The Gateways and ListenerSets with an error to which these routes are attached."""
        for ref in naming:
            found = self.engine.row(tables.BY_KIND[ref.kind], ref.key)
            for it in getattr(found.spec, "parent_refs", ()) if found is not None else ():
                holder = ObjectRef(it.kind, it.namespace or ref.namespace, it.name)
                if self.board.row(holder).state == "error":
                    yield holder

    def _claiming(self, name: str) -> Iterator[ObjectRef]:
        """The HTTPProxies that claim a host, whichever owns it."""
        for host in hostnames.covering(name):
            for claim in sorted(self.engine.bucket(owner.CLAIMS, host)):
                yield ObjectRef("HTTPProxy", *claim.seniority.key)

    def _naming(self, request: Request) -> Iterator[ObjectRef]:
        """The other objects that name a host or port, whether or not they are served. It walks all
        objects."""
        if request.is_stream:
            yield from self._of_port(_kind(request), request.port)
            return
        for kind in ("Ingress", "HTTPRoute", "GRPCRoute", "TLSRoute"):
            for key, found in self.engine.rows(tables.BY_KIND[kind]):
                if any(hostnames.covers(it, request.name) for it in _hosts(found)):
                    yield ObjectRef(kind, *key)

    def _of_port(self, kind: str, port: int) -> Iterator[ObjectRef]:
        """The routes of a kind with a parent that has a listener on a port, or is not there."""
        for key, route in self.engine.rows(tables.BY_KIND[kind]):
            for it in route.spec.parent_refs:
                table = tables.BY_KIND.get(it.kind)
                name = NamespacedName(it.namespace or key.namespace, it.name)
                parent = self.engine.row(table, name) if table is not None else None
                listed = getattr(parent.spec, "listeners", ()) if parent is not None else ()
                if parent is None or any(at.port == port for at in listed):
                    yield ObjectRef(kind, *key)

    def _backend(self, share: Forwarded, answer: Answer) -> ShownBackend:
        cluster = share.cluster
        found: ShownBackend = {
            "share": round(share.share, 4),
            "host": share.host,
            "path": share.path,
            "headers": dict(share.headers),
            "endpoints": [],
        }
        if share.response_headers != answer.response_headers:
            found["responseHeaders"] = dict(share.response_headers)
        if share.status:
            found["status"] = share.status
        if cluster is not None:
            port = cluster.port
            if port.kind != "Service":
                found["kind"] = port.kind
            found["service"] = f"{port.service}:{port.port}"
            addresses = cluster.names or places.endpoints(self.engine, cluster)
            found["endpoints"] = [it.shown for it in addresses]
        return found


def _kind(request: Request) -> str:
    """The kind of the routes that lead from a port for streams."""
    return "UDPRoute" if request.is_datagram else "TCPRoute"


def _hosts(found: object) -> Iterator[str]:
    match found:
        case Ingress():
            yield from (it.host.lower() or hostnames.EVERY for it in found.spec.rules)
        case HTTPRoute() | GRPCRoute() | TLSRoute():
            yield from found.spec.hostnames or (hostnames.EVERY,)
        case _:
            return


def _answer(answer: Answer) -> ShownAnswer:
    found: ShownAnswer = {"status": answer.status, "cause": answer.cause}
    if answer.location:
        found["location"] = answer.location
    if answer.route is not None:
        found["object"] = plain_subject(answer.route.origin)
    if answer.response_headers:
        found["responseHeaders"] = dict(answer.response_headers)
    if answer.streams:
        found["stream"] = True
    if answer.may_be_refused:
        found["mayBeRefused"] = True
    if answer.hides_backends:
        found["hidesBackends"] = True
    return found


def _step(step: Step) -> ShownStep:
    found: ShownStep = {"topic": step.topic, "outcome": step.outcome, "text": step.text}
    if step.subject is not None:
        found["object"] = plain_subject(step.subject)
    return found


def _problems(row: Row, rule: str) -> Iterator[ShownProblem]:
    """The problems of an object; `rule` is the path of its rule that takes the request, if any."""
    order = {"error": 0, "warning": 1, "info": 2}
    for it in sorted(rows.causes(row.told), key=lambda told: order[told.severity]):
        found = _problem(row.subject, it)
        if ruleplaces.is_about_others(it.text, rule):
            found["elsewhere"] = True
        yield found


def _problem(subject: ObjectRef, told: Told) -> ShownProblem:
    return {
        "object": plain_subject(subject),
        "severity": told.severity,
        "field": told.field,
        "file": told.file,
        "line": told.line,
        "message": told.message,
        "text": told.text,
    }
