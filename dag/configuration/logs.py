"""Access logs: the line or the fields that the configuration asks for.

Only listed operators are taken, as in headers of users, so a typing error breaks no listener.
Source: Contour's configuration reference, "accessLogFormat"; Envoy, "Access logging".
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from crds.envoysettings import Envoy, EnvoyListener, Logging
from crds.records import replace
from dag import nodes
from dag.configuration.readings import one_of
from dag.problems import Problem, Refused
from dag.problems import configuration as problems
from dag.problems.places import Findings, Place
from dag.values import formats

PLAIN = formats.OPERATORS | {
    "BYTES_RECEIVED",
    "BYTES_SENT",
    "CONNECTION_ID",
    "CONNECTION_TERMINATION_DETAILS",
    "DOWNSTREAM_DIRECT_REMOTE_PORT",
    "DOWNSTREAM_HEADER_BYTES_RECEIVED",
    "DOWNSTREAM_HEADER_BYTES_SENT",
    "DOWNSTREAM_REMOTE_PORT",
    "DOWNSTREAM_TRANSPORT_FAILURE_REASON",
    "DOWNSTREAM_WIRE_BYTES_RECEIVED",
    "DOWNSTREAM_WIRE_BYTES_SENT",
    "DURATION",
    "FILTER_CHAIN_NAME",
    "GRPC_STATUS",
    "GRPC_STATUS_NUMBER",
    "LOCAL_REPLY_BODY",
    "REQUESTED_SERVER_NAME",
    "REQUEST_DURATION",
    "REQUEST_HEADERS_BYTES",
    "REQUEST_TX_DURATION",
    "RESPONSE_CODE",
    "RESPONSE_DURATION",
    "RESPONSE_HEADERS_BYTES",
    "RESPONSE_TRAILERS_BYTES",
    "RESPONSE_TX_DURATION",
    "ROUTE_NAME",
    "SPAN_ID",
    "START_TIME",
    "STREAM_ID",
    "TRACE_ID",
    "UPSTREAM_CLUSTER",
    "UPSTREAM_HEADER_BYTES_RECEIVED",
    "UPSTREAM_HEADER_BYTES_SENT",
    "UPSTREAM_HOST",
    "UPSTREAM_LOCAL_ADDRESS",
    "UPSTREAM_LOCAL_ADDRESS_WITHOUT_PORT",
    "UPSTREAM_LOCAL_PORT",
    "UPSTREAM_PEER_CERT",
    "UPSTREAM_PEER_CERT_V_END",
    "UPSTREAM_PEER_CERT_V_START",
    "UPSTREAM_PEER_ISSUER",
    "UPSTREAM_PEER_SUBJECT",
    "UPSTREAM_PROTOCOL",
    "UPSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
    "UPSTREAM_REMOTE_PORT",
    "UPSTREAM_REQUEST_ATTEMPT_COUNT",
    "UPSTREAM_TLS_CIPHER",
    "UPSTREAM_TLS_SESSION_ID",
    "UPSTREAM_TLS_VERSION",
    "UPSTREAM_TRANSPORT_FAILURE_REASON",
    "UPSTREAM_WIRE_BYTES_RECEIVED",
    "UPSTREAM_WIRE_BYTES_SENT",
    "VIRTUAL_CLUSTER_NAME",
}
"""Operators without an argument."""
WITH_ARGUMENT = frozenset({"REQ", "REQ_WITHOUT_QUERY", "RESP", "TRAILER"})
"""Operators with a header, perhaps an alternative one, and perhaps a maximum length: `:10`."""

ORIGIN = "METADATA"
"""The operator that tells which object a route comes from, with the arguments of Contour."""
_ORIGINS = {
    it: f"ROUTE:envoy.access_loggers.file:io.projectcontour.{it}"
    for it in ("kind", "namespace", "name")
}

FIELDS = {
    "@timestamp": "%START_TIME%",
    "ts": "%START_TIME%",
    "authority": "%REQ(:AUTHORITY)%",
    "bytes_received": "%BYTES_RECEIVED%",
    "bytes_sent": "%BYTES_SENT%",
    "contour_config_kind": f"%METADATA({_ORIGINS['kind']})%",
    "contour_config_name": f"%METADATA({_ORIGINS['name']})%",
    "contour_config_namespace": f"%METADATA({_ORIGINS['namespace']})%",
    "downstream_local_address": "%DOWNSTREAM_LOCAL_ADDRESS%",
    "downstream_remote_address": "%DOWNSTREAM_REMOTE_ADDRESS%",
    "duration": "%DURATION%",
    "grpc_status": "%GRPC_STATUS%",
    "grpc_status_number": "%GRPC_STATUS_NUMBER%",
    "method": "%REQ(:METHOD)%",
    "path": "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
    "protocol": "%PROTOCOL%",
    "request_id": "%REQ(X-REQUEST-ID)%",
    "requested_server_name": "%REQUESTED_SERVER_NAME%",
    "response_code": "%RESPONSE_CODE%",
    "response_code_details": "%RESPONSE_CODE_DETAILS%",
    "response_flags": "%RESPONSE_FLAGS%",
    "tls_ja3_fingerprint": "%TLS_JA3_FINGERPRINT%",
    "tls_ja4_fingerprint": "%TLS_JA4_FINGERPRINT%",
    "uber_trace_id": "%REQ(UBER-TRACE-ID)%",
    "upstream_cluster": "%UPSTREAM_CLUSTER%",
    "upstream_host": "%UPSTREAM_HOST%",
    "upstream_local_address": "%UPSTREAM_LOCAL_ADDRESS%",
    "upstream_service_time": "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
    "user_agent": "%REQ(USER-AGENT)%",
    "x_forwarded_for": "%REQ(X-FORWARDED-FOR)%",
    "x_trace_id": "%REQ(X-TRACE-ID)%",
}
"""The format that a JSON field name without one stands for. Any other name stands for the operator
of `PLAIN` with this name, in any case."""

_NOT_USUAL = {
    "contour_config_kind",
    "contour_config_name",
    "contour_config_namespace",
    "ts",
    "response_code_details",
    "tls_ja3_fingerprint",
    "tls_ja4_fingerprint",
    "x_trace_id",
}


def access_logs(spec: Place, envoy: Envoy) -> Findings[tuple[nodes.AccessLog, nodes.AccessLog]]:
    """The access logs of plain HTTP and of HTTPS; they differ in the file alone."""
    log = yield from _log(spec.at("envoy").at("logging"), envoy.logging or Logging())
    return _to(log, envoy.http), _to(log, envoy.https)


def without_effect(spec: Place, envoy: Envoy) -> Iterator[Problem]:
    """Settings of the other format, and fields that a later one replaces."""
    at, written = spec.at("envoy").at("logging"), envoy.logging or Logging()
    if written.access_log_format == "json":
        if written.access_log_format_string:
            place = at.at("accessLogFormatString")
            yield problems.ignored_field(place, "is only for the format envoy")
        yield from _replaced(at.at("accessLogJSONFields"), written.access_log_json_fields)
    elif written.access_log_json_fields:
        place = at.at("accessLogJSONFields")
        yield problems.ignored_field(place, "is only for accessLogFormat: json")


def _replaced(place: Place, written: tuple[str, ...]) -> Iterator[Problem]:
    names = [it.partition("=")[0] for it in written]
    last = {name: index for index, name in enumerate(names)}
    for index, name in enumerate(names):
        if last[name] != index:
            why = f"entry {last[name]} sets the field {name[:60]!r}, too, and wins"
            yield problems.ignored_field(place.item(index), why)


def _to(log: nodes.AccessLog, listener: EnvoyListener | None) -> nodes.AccessLog:
    path = listener.access_log if listener is not None else None
    return replace(log, path=path) if path else log


Level = Literal["info", "error", "critical", "disabled"]


def _log(at: Place, written: Logging) -> Findings[nodes.AccessLog]:
    levels: tuple[Level, ...] = ("info", "error", "critical", "disabled")
    read: Findings[Level | None] = one_of(at.at("accessLogLevel"), levels, written.access_log_level)
    level: Level = (yield from read) or "info"
    kinds = ("envoy", "json")
    kind = yield from one_of(at.at("accessLogFormat"), kinds, written.access_log_format)
    if kind == "json":
        fields = yield from _fields(at.at("accessLogJSONFields"), written.access_log_json_fields)
        return nodes.AccessLog(json=fields, level=level)
    try:
        line = _line(at.at("accessLogFormatString"), written.access_log_format_string)
        return nodes.AccessLog(format=line, level=level)
    except Refused as refused:
        yield refused.problem
        return nodes.AccessLog(level=level)


def _line(place: Place, text: str | None) -> nodes.Format | None:
    if not text:
        return None
    if not text.endswith("\n"):
        raise Refused(problems.invalid_value(place, "must end with a line break"))
    return _format(place, text)


def _fields(place: Place, written: Iterable[str]) -> Findings[tuple[tuple[str, nodes.Format], ...]]:
    chosen = tuple(written) or tuple(it for it in FIELDS if it not in _NOT_USUAL)
    found: list[tuple[str, nodes.Format]] = []
    for index, text in enumerate(chosen):
        try:
            found.append(_field(place.item(index), text))
        except Refused as refused:
            yield refused.problem
    return tuple(found)


def _field(place: Place, text: str) -> tuple[str, nodes.Format]:
    name, _, operators = text.partition("=")
    operators = operators or _usual_format(name)
    if not name or not operators:
        why = f"{text[:60]!r} is neither a known field nor of the form name=%OPERATOR%"
        raise Refused(problems.invalid_value(place, why))
    return name, _format(place, operators)


def _usual_format(name: str) -> str:
    """The format of a field that is written without one; empty if there is none."""
    operator = name.upper()
    return FIELDS.get(name, f"%{operator}%" if operator in PLAIN else "")


_OPERATOR = re.compile(
    r"%(?:(START_TIME)\(([A-Za-z0-9 %:.,/_+-]{1,256})\)"
    r"|([A-Z0-9_]+)(?:\(([A-Za-z0-9_:?.-]{1,256})\)(?::([0-9]{1,5}))?)?)?%"
)


def tells_origins(log: nodes.AccessLog) -> bool:
    """Whether the log names the object that a route comes from, so Envoy has to know it."""
    return ORIGIN in log.operators()


def _format(place: Place, text: str) -> nodes.Format:
    pieces: list[str | nodes.Operator] = []
    start = 0
    for found in _OPERATOR.finditer(text):
        pieces.append(_literal(place, text[start : found.start()]))
        start = found.end()
        if found[0] == "%%":
            pieces.append("%")
            continue
        operator = nodes.Operator(
            found[1] or found[3], found[2] or found[4] or "", int(found[5] or 0)
        )
        if not _is_known(operator):
            why = f"{found[0][:60]} is not a known operator"
            raise Refused(problems.invalid_value(place, why))
        pieces.append(operator)
    pieces.append(_literal(place, text[start:]))
    return nodes.Format(tuple(it for it in pieces if it))


def _literal(place: Place, text: str) -> str:
    if "%" in text:
        why = "has a % that belongs to no operator; write %% for the character"
        raise Refused(problems.invalid_value(place, why))
    return text


_HEADERS = re.compile(r"(?::?[A-Za-z0-9_-]+)?(?:\?(?::?[A-Za-z0-9_-]+)?)?")
"""A header and perhaps its stand-in. A dot is nothing that a header has: Envoy would find none."""
_LINE_BREAK = re.compile(r"%[0-9_-]*[EO]?n")
"""In the format of a time; Envoy refuses it."""


def _is_known(operator: nodes.Operator) -> bool:
    match operator:
        case nodes.Operator("START_TIME", argument, 0):
            return not _LINE_BREAK.search(argument)
        case nodes.Operator(name, "", 0):
            return name in PLAIN
        case nodes.Operator("METADATA", argument, 0):
            return argument in _ORIGINS.values()
        case nodes.Operator(name, argument, _):
            return name in WITH_ARGUMENT and bool(argument and _HEADERS.fullmatch(argument))
