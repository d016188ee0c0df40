"""What a BackendTrafficPolicy says of the connections to backends (Envoy Gateway 1.9)."""

from crds.envoygateway import backendconnections as connections
from crds.envoygateway import backendtrafficpolicy as crd
from dag import nodes
from dag.gateway.envoypolicies import connectionvalues
from dag.gateway.envoypolicies.connectionvalues import LEAST_WINDOW, byte_count, seconds
from dag.problems import shared
from dag.problems.places import Findings, Place

_TOO_OFTEN = 0.001
"""Seconds: Envoy resolves no name that often."""
_MOST_AHEAD = 300
"""Percent: Envoy opens no more connections ahead."""


def connected(spec: crd.BackendTrafficPolicySpec, own: Place) -> Findings[nodes.Connections | None]:
    """How connections are opened, kept and closed; None if the policy says nothing of it."""
    http = spec.timeout.http if spec.timeout is not None else None
    breaker, buffers = spec.circuit_breaker, spec.connection
    limit = buffers.buffer_limit if buffers is not None else None
    kernel = buffers.socket_buffer_limit if buffers is not None else None
    found = nodes.Connections(
        keepalive=connectionvalues.keepalive(spec.tcp_keepalive),
        buffer_limit=(yield from byte_count(limit, own.at("connection").at("bufferLimit"), 0)),
        max_requests=breaker.max_requests_per_connection if breaker is not None else None,
        max_age=seconds(http.max_connection_duration) or None if http is not None else None,
        max_stream=seconds(http.max_stream_duration) or None if http is not None else None,
        preconnect=(yield from _preconnect(buffers, own.at("connection").at("preconnect"))),
        proxy_protocol=spec.proxy_protocol.version if spec.proxy_protocol is not None else None,
        http2=(yield from _http2(spec.http2, own.at("http2"))),
        dns=(yield from _dns(spec.dns, own.at("dns"))),
        kernel_buffer=(
            yield from byte_count(kernel, own.at("connection").at("socketBufferLimit"), 1)
        ),
        follows_client=bool(spec.use_client_protocol),
    )
    return found if found != nodes.Connections() else None


def _preconnect(
    buffers: connections.BackendConnections | None, at: Place
) -> Findings[nodes.Preconnect | None]:
    if buffers is None or buffers.preconnect is None:
        return None
    each, ahead = buffers.preconnect.per_endpoint_percent, buffers.preconnect.predictive_percent
    if ahead is not None and ahead > _MOST_AHEAD:
        why = f"{ahead} is more than {_MOST_AHEAD}"
        yield shared.no_effect(at.at("predictivePercent"), why)
        ahead = None
    return nodes.Preconnect(
        each / 100 if each is not None else None, ahead / 100 if ahead is not None else None
    )


def _http2(found: connections.BackendHTTP2 | None, at: Place) -> Findings[nodes.Http2 | None]:
    if found is None:
        return None
    stream, connection = found.initial_stream_window_size, found.initial_connection_window_size
    ends = found.on_invalid_message
    return nodes.Http2(
        stream_window=(
            yield from byte_count(stream, at.at("initialStreamWindowSize"), LEAST_WINDOW)
        ),
        connection_window=(
            yield from byte_count(connection, at.at("initialConnectionWindowSize"), LEAST_WINDOW)
        ),
        max_streams=found.max_concurrent_streams,
        ends_stream_only=None if ends is None else ends == "TerminateStream",
        pings=(
            yield from connectionvalues.pings(
                found.connection_keepalive, at.at("connectionKeepalive")
            )
        ),
    )


def _dns(found: connections.BackendDNS | None, at: Place) -> Findings[nodes.DnsSettings | None]:
    if found is None:
        return None
    refresh = seconds(found.dns_refresh_rate)
    if refresh is not None and refresh <= _TOO_OFTEN:
        why = "must be more than 1ms"
        yield shared.no_effect(at.at("dnsRefreshRate"), why)
        refresh = None
    return nodes.DnsSettings(refresh, bool(found.respect_dns_ttl), found.lookup_family)
