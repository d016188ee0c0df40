"""What a ClientTrafficPolicy says of requests and connections, as nodes.

A field that is not served has no effect, and is reported; if that would open something, it closes
the listeners of the policy.
"""

from collections.abc import Iterator
from typing import TypeVar

from crds.envoygateway import clientheaders
from crds.envoygateway import clienttrafficpolicy as crd
from crds.records import replace
from dag import nodes
from dag.gateway.envoypolicies import clientmatches, connectionvalues
from dag.gateway.envoypolicies.connectionvalues import LEAST_WINDOW, byte_count, seconds
from dag.problems import Refused
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place
from dag.values import addresses, headers

_MOST_HEADERS = 8192
"""KiB; Envoy takes no more."""
_SLASHES: dict[str, nodes.EscapedSlashes] = {
    "KeepUnchanged": "Keep",
    "RejectRequest": "Reject",
    "UnescapeAndForward": "UnescapeAndForward",
    "UnescapeAndRedirect": "UnescapeAndRedirect",
}
_UNDERSCORES: dict[str, nodes.Underscores] = {
    "Allow": "Allow",
    "RejectRequest": "Reject",
    "DropHeader": "Drop",
}


def traffic(spec: crd.ClientTrafficPolicySpec, own: Place) -> Findings[nodes.ClientTraffic]:
    """How requests are read. Raises Refused if they cannot be, as safely as asked for."""
    made = nodes.ClientTraffic(address=_address(spec.client_ip_detection, own))
    paths = spec.path or crd.ClientPaths()
    merges = paths.disable_merge_slashes
    made = replace(
        made,
        escaped_slashes=_SLASHES.get(paths.escaped_slashes_action or ""),
        merge_slashes=None if merges is None else not merges,
        health_path=_health_path(spec.health_check, own),
        backend_scheme=None if spec.scheme is None else spec.scheme == "MatchBackend",
    )
    made = yield from _headers(made, spec.headers or clientheaders.ClientHeaders(), own)
    made = _timeouts(made, spec.timeout or crd.ClientTimeouts())
    made = _connections(made, spec.connection)
    made = _http1(made, spec.http1 or crd.ClientHTTP1(), own)
    return (yield from _http2(made, spec.http2 or crd.ClientHTTP2(), own.at("http2")))


def _health_path(written: crd.ClientHealthCheck | None, own: Place) -> str:
    """The path of health checks; empty if there is none. Raises Refused."""
    if written is None:
        return ""
    if not written.path.startswith("/") or any(it in written.path for it in "\r\n\0"):
        at = own.at("healthCheck").at("path")
        text = f"{written.path[:60]!r} is no path"
        raise Refused(complaints.policy_closes_listeners(at, text))
    return written.path


def sockets(spec: crd.ClientTrafficPolicySpec, own: Place) -> Findings[nodes.Sockets]:
    """How connections are accepted."""
    limits = spec.connection or crd.ClientConnections()
    tcp = (spec.timeout.tcp if spec.timeout is not None else None) or crd.ClientTCPTimeouts()
    at = own.at("connection")
    return nodes.Sockets(
        keepalive=connectionvalues.keepalive(spec.tcp_keepalive),
        proxy_protocol=_proxy_protocol(spec),
        buffer_limit=(yield from byte_count(limits.buffer_limit, at.at("bufferLimit"), 0)),
        kernel_buffer=(
            yield from byte_count(limits.socket_buffer_limit, at.at("socketBufferLimit"), 1)
        ),
        accepts_per_event=limits.max_accept_per_socket_event or None,
        inspection=seconds(tcp.connection_inspection_timeout),
        fingerprints=spec.tls.fingerprints if spec.tls is not None else (),
        http3=spec.http3 is not None,
    )


def _proxy_protocol(spec: crd.ClientTrafficPolicySpec) -> nodes.ProxyProtocol | None:
    """Whether connections begin with it; None if that is as the settings say."""
    if spec.proxy_protocol is not None:
        return "optional" if spec.proxy_protocol.optional else "required"
    if spec.enable_proxy_protocol is None:
        return None
    return "required" if spec.enable_proxy_protocol else "off"


def _address(written: crd.ClientIPDetection | None, own: Place) -> nodes.ClientAddress | None:
    if written is None:
        return None
    if written.custom_header is not None:
        name = written.custom_header.name.lower()
        return nodes.ClientAddress(
            header=name, fails_closed=bool(written.custom_header.fail_closed)
        )
    if written.x_forwarded_for is None:
        return nodes.ClientAddress()
    found = written.x_forwarded_for
    at = own.at("clientIPDetection").at("xForwardedFor").at("trustedCIDRs")
    return nodes.ClientAddress(
        hops=found.num_trusted_hops or 0,
        proxies=tuple(_ranges(found.trusted_cidrs, at)),
        is_appended=not found.disable_x_forwarded_for_append,
    )


def _ranges(written: tuple[str, ...], at: Place) -> Iterator[str]:
    for index, text in enumerate(written):
        network = addresses.network(text)
        if network is None:
            told = f"{text[:60]!r} is not a range in CIDR notation"
            raise Refused(complaints.policy_closes_listeners(at.item(index), told))
        yield network


def _headers(
    made: nodes.ClientTraffic, written: clientheaders.ClientHeaders, own: Place
) -> Findings[nodes.ClientTraffic]:
    at = own.at("headers")
    told = written.x_forwarded_client_cert
    most = yield from byte_count(
        written.max_request_header_limit,
        at.at("maxRequestHeaderLimit"),
        1,
        _MOST_HEADERS * 1024,
    )
    kept = written.preserve_x_request_id
    preserved: nodes.RequestId = "PreserveOrGenerate" if kept else "Generate"
    requests, answers = written.early_request_headers, written.late_response_headers
    return replace(
        made,
        envoy_headers=written.enable_envoy_headers,
        hides_limits=bool(written.disable_rate_limit_headers),
        underscores=_UNDERSCORES.get(written.with_underscores_action or ""),
        certificate_mode=_one_of(told.mode or "Sanitize", nodes.CERTIFICATE_MODES)
        if told is not None
        else None,
        certificate_details=told.cert_details_to_add if told is not None else (),
        request_id=_one_of(written.request_id, nodes.REQUEST_IDS)
        or (preserved if kept is not None else None),
        requests=clientmatches.changes(
            requests, at.at("earlyRequestHeaders"), headers.request_refusal
        ),
        answers=clientmatches.changes(
            answers, at.at("lateResponseHeaders"), headers.change_refusal
        ),
        header_kib=-(-most // 1024) if most is not None else None,
        strip_host_dot=written.host.strip_trailing_host_dot if written.host is not None else None,
    )


T = TypeVar("T", bound=str)


def _one_of(given: str | None, known: tuple[T, ...]) -> T | None:
    """The value, if it is a known one; an unknown one is reported elsewhere (`clientpolicies`)."""
    return next((it for it in known if it == given), None)


def _timeouts(made: nodes.ClientTraffic, written: crd.ClientTimeouts) -> nodes.ClientTraffic:
    http = written.http or crd.ClientHTTPTimeouts()
    tcp = written.tcp or crd.ClientTCPTimeouts()
    return replace(
        made,
        request=seconds(http.request_received_timeout),
        request_headers=seconds(http.request_headers_received_timeout),
        idle=seconds(http.idle_timeout),
        stream_idle=seconds(http.stream_idle_timeout),
        tls_handshake=seconds(tcp.tls_handshake_timeout),
    )


def _connections(
    made: nodes.ClientTraffic, written: crd.ClientConnections | None
) -> nodes.ClientTraffic:
    limit = written.connection_limit if written is not None else None
    if limit is None:
        return made
    return replace(
        made,
        connections=open_connections(limit),
        max_connection=seconds(limit.max_connection_duration),
        max_stream=seconds(limit.max_stream_duration),
        max_requests=limit.max_requests_per_connection or None,
    )


def open_connections(written: crd.ClientConnectionLimit | None) -> nodes.OpenConnections | None:
    """How many connections there may be at a time; None if that is not limited."""
    if written is None or written.value is None:
        return None
    return nodes.OpenConnections(written.value, seconds(written.close_delay) or 0.0)


def _http1(made: nodes.ClientTraffic, written: crd.ClientHTTP1, own: Place) -> nodes.ClientTraffic:
    at = own.at("http1").at("ignoredUpgradeTypes")
    return replace(
        made,
        trailers=written.enable_trailers,
        keeps_case=bool(written.preserve_header_case),
        abrupt_end=written.disable_safe_max_connection_duration,
        ignored_upgrades=tuple(
            clientmatches.of_name(it, at.item(index))
            for index, it in enumerate(written.ignored_upgrade_types)
        ),
    )


def _http2(
    made: nodes.ClientTraffic, written: crd.ClientHTTP2, at: Place
) -> Findings[nodes.ClientTraffic]:
    stream = yield from byte_count(
        written.initial_stream_window_size,
        at.at("initialStreamWindowSize"),
        LEAST_WINDOW,
    )
    connection = yield from byte_count(
        written.initial_connection_window_size,
        at.at("initialConnectionWindowSize"),
        LEAST_WINDOW,
    )
    ends = written.on_invalid_message
    return replace(
        made,
        stream_window=stream,
        connection_window=connection,
        max_streams=written.max_concurrent_streams,
        ends_stream_only=None if ends is None else ends == "TerminateStream",
        pings=(
            yield from connectionvalues.pings(
                written.connection_keepalive, at.at("connectionKeepalive")
            )
        ),
    )
