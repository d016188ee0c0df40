"""What the configuration says of every listener: how connections and requests are read.

Absent does not mean `false`: hardening is on unless a field switches it off. Source: Contour's
configuration reference, "EnvoyListenerConfig"; ours are marked in the model. Elsewhere: traces,
whose collector has to be looked up (`defaults`).
"""

from typing import Literal

from crds.envoysettings import (
    Compression,
    Envoy,
    Fingerprint,
    ListenerSettings,
    ListenerTLS,
    SocketOptions,
)
from dag import nodes
from dag.configuration import logs
from dag.configuration.readings import all_of, one_of
from dag.problems.places import Findings, Place

CIPHERS = (
    "[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]",
    "[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
    "AES128-GCM-SHA256",
    "AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-RSA-AES256-SHA",
    "AES256-GCM-SHA384",
    "AES256-SHA",
)
"""The ciphers of TLS 1.2 that may be set, as in upstream Contour."""
CURVES = ("X25519", "P-256", "P-384", "P-521", "X25519MLKEM768", "MLKEM1024")

ServerHeader = Literal["overwrite", "append_if_absent", "pass_through"]


_MOST_STREAMS = 2**31 - 1
"""RFC 9113, section 5.1.1; Envoy takes no larger number, and it would mean the same."""


def edge(spec: Place, envoy: Envoy) -> Findings[nodes.Edge]:
    """How every listener is read."""
    at = spec.at("envoy").at("listener")
    given = envoy.listener or ListenerSettings()
    tls, sockets = given.tls or ListenerTLS(), given.socket_options or SocketOptions()
    prints = tls.fingerprint or Fingerprint()
    http_log, https_log = yield from logs.access_logs(spec, envoy)
    ciphers = yield from all_of(at.at("tls").at("cipherSuites"), CIPHERS, tls.cipher_suites)
    curves = yield from all_of(at.at("tls").at("ecdhCurves"), CURVES, tls.ecdh_curves)
    balancer = at.at("connectionBalancer")
    return nodes.Edge(
        use_proxy_protocol=bool(given.use_proxy_protocol),
        compression=(given.compression or Compression()).algorithm or "gzip",
        allow_chunked_length=given.disable_allow_chunked_length is False,
        server_header=(yield from _server_header(at, given)),
        exact_balance=(yield from one_of(balancer, ("exact",), given.connection_balancer))
        == "exact",
        max_requests_per_connection=given.max_requests_per_connection,
        max_concurrent_streams=_streams(given.http_max_concurrent_streams),
        max_headers=given.max_headers_count,
        stream_window=given.http2_stream_window_bytes,
        connection_window=given.http2_connection_window_bytes,
        normalize_path=not given.disable_path_normalization,
        escaped_slashes=given.escaped_slashes,
        underscores=given.headers_with_underscores,
        buffer_limit=given.per_connection_buffer_limit_bytes,
        max_connections_per_event=given.max_connections_to_accept_per_socket_event,
        tos=sockets.tos,
        traffic_class=sockets.traffic_class,
        ciphers=ciphers,
        curves=curves,
        ja3=bool(prints.ja3),
        ja4=bool(prints.ja4),
        http_log=http_log,
        https_log=https_log,
        http3=bool(given.http3),
    )


def _streams(given: int | None) -> int | None:
    return None if given is None else min(given, _MOST_STREAMS)


def _server_header(at: Place, given: ListenerSettings) -> Findings[ServerHeader]:
    known: tuple[ServerHeader, ...] = ("overwrite", "append_if_absent", "pass_through")
    place = at.at("serverHeaderTransformation")
    read: Findings[ServerHeader | None] = one_of(place, known, given.server_header_transformation)
    return (yield from read) or "overwrite"
