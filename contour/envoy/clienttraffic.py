"""The settings of a ClientTrafficPolicy for the clients of a listener, instead of the defaults.

They are written last, after the changes of extensions, because the owner of the listener decides.
"""

from collections.abc import Iterable, Iterator

from envoy.config.common.mutation_rules.v3 import mutation_rules_pb2
from envoy.config.core.v3 import base_pb2, extension_pb2
from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2 as late_pb2
from envoy.extensions.filters.http.health_check.v3 import health_check_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.listener.proxy_protocol.v3 import proxy_protocol_pb2
from envoy.extensions.filters.listener.tls_inspector.v3 import tls_inspector_pb2
from envoy.extensions.filters.network.connection_limit.v3 import connection_limit_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as pb,
)
from envoy.extensions.http.early_header_mutation.header_mutation.v3 import (
    header_mutation_pb2 as early_pb2,
)
from envoy.extensions.http.original_ip_detection.custom_header.v3 import custom_header_pb2
from envoy.extensions.http.original_ip_detection.xff.v3 import xff_pb2
from google.protobuf.message import Message

from contour.envoy import (
    connection_manager,
    encoding,
    filters,
    headers,
    http1,
    http2,
    matches,
    socket_options,
)
from contour.envoy.policy import Downstream
from dag import nodes

LIMIT = "envoy.filters.network.connection_limit"
_PROXY_PROTOCOL = "envoy.filters.listener.proxy_protocol"
_INSPECTOR = "envoy.filters.listener.tls_inspector"
_HEALTH = "envoy.filters.http.health_check"
_ANSWERS = "envoy.filters.http.header_mutation"
_ADDRESS = "contour.client.address"

Pb = pb.HttpConnectionManager


def handshake(policy: Downstream) -> float:
    """The seconds that a client may take for the TLS handshake."""
    traffic = policy.traffic
    if traffic is None or traffic.tls_handshake is None:
        return policy.timeouts.tls_handshake
    return traffic.tls_handshake


def limit(
    stat_prefix: str, node: nodes.OpenConnections | None
) -> Iterator[tuple[str, connection_limit_pb2.ConnectionLimit]]:
    """The filter that closes connections above the limit; none if there is no limit."""
    if node is None:
        return
    content = connection_limit_pb2.ConnectionLimit(stat_prefix=stat_prefix)
    content.max_connections.value = node.most
    if node.close_delay:
        content.delay.CopyFrom(encoding.seconds(node.close_delay))
    yield LIMIT, content


def write_limit(
    target: listener_components_pb2.FilterChain,
    stat_prefix: str,
    node: nodes.OpenConnections | None,
) -> None:
    """Adds that filter to a chain."""
    for name, content in limit(stat_prefix, node):
        added = target.filters.add(name=name)
        added.typed_config.CopyFrom(encoding.packed(content))


def write_sockets(target: listener_pb2.Listener, node: nodes.Sockets) -> None:
    """Fills in the settings for connections of a port."""
    if node.buffer_limit is not None:
        target.per_connection_buffer_limit_bytes.value = node.buffer_limit
    if node.accepts_per_event is not None:
        target.max_connections_to_accept_per_socket_event.value = node.accepts_per_event
    if node.inspection is not None:
        target.listener_filters_timeout.CopyFrom(encoding.seconds(node.inspection))
    _write_options(target, node)
    _write_listener_filters(target, node)


def _options(node: nodes.Sockets) -> Iterator[socket_options.Option]:
    if node.keepalive is not None:
        yield from socket_options.of_keepalive(node.keepalive)
    if node.kernel_buffer is not None:
        yield from socket_options.of_buffers(node.kernel_buffer)


def _write_options(target: listener_pb2.Listener, node: nodes.Sockets) -> None:
    wanted = tuple(_options(node))
    replaced = {(level, name) for level, name, _ in wanted}
    kept = [it for it in target.socket_options if (it.level, it.name) not in replaced]
    del target.socket_options[:]
    target.socket_options.extend([*kept, *map(socket_options.message, wanted)])


def _write_listener_filters(target: listener_pb2.Listener, node: nodes.Sockets) -> None:
    found = list(target.listener_filters)
    if node.proxy_protocol is not None:
        others = (it for it in found if it.name != _PROXY_PROTOCOL)
        found = [*_proxy_protocol(node.proxy_protocol), *others]
    for it in found:
        if it.name == _INSPECTOR and node.fingerprints:
            inspector = tls_inspector_pb2.TlsInspector()
            it.typed_config.Unpack(inspector)
            if "JA3" in node.fingerprints:
                inspector.enable_ja3_fingerprinting.value = True
            if "JA4" in node.fingerprints:
                inspector.enable_ja4_fingerprinting.value = True
            it.typed_config.CopyFrom(encoding.packed(inspector))
    copies = [
        listener_components_pb2.ListenerFilter.FromString(it.SerializeToString()) for it in found
    ]
    del target.listener_filters[:]
    target.listener_filters.extend(copies)


def _proxy_protocol(
    wanted: nodes.ProxyProtocol,
) -> Iterator[listener_components_pb2.ListenerFilter]:
    """The filter that reads it; none where it is off."""
    if wanted == "off":
        return
    is_optional = wanted == "optional"
    told = proxy_protocol_pb2.ProxyProtocol(allow_requests_without_proxy_protocol=is_optional)
    added = listener_components_pb2.ListenerFilter(name=_PROXY_PROTOCOL)
    added.typed_config.CopyFrom(encoding.packed(told))
    yield added


def write_manager(target: Pb, node: nodes.ClientTraffic) -> None:
    """Fills in the settings for requests of a chain."""
    if node.address is not None:
        _write_address(target, node.address)
    _write_paths(target, node)
    _write_headers(target, node)
    _write_timeouts(target, node)
    _write_http1(target, node)
    http2.write(target.http2_protocol_options, node)
    _write_filters(target, node)


def _write_address(target: Pb, node: nodes.ClientAddress) -> None:
    target.xff_num_trusted_hops = node.hops
    target.skip_xff_append = not node.is_appended
    if not _is_detected(node):
        return
    target.use_remote_address.value = False
    removed = [mutation_rules_pb2.HeaderMutation(remove=it) for it in _KEPT_OF_CLIENTS]
    _prepend(target, "contour.clients", removed)
    target.xff_num_trusted_hops = 0
    name, content = _detection(node)
    added = target.original_ip_detection_extensions.add(name=name)
    added.typed_config.CopyFrom(encoding.packed(content))


def _is_detected(node: nodes.ClientAddress | None) -> bool:
    """Whether an extension of Envoy finds the address; then Envoy takes every client for a proxy of
    ours."""
    return node is not None and bool(node.proxies or node.header)


_KEPT_OF_CLIENTS = (
    "x-envoy-decorator-operation",
    "x-envoy-downstream-service-cluster",
    "x-envoy-downstream-service-node",
)
"""Headers that Envoy keeps, and obeys, from what it takes for a proxy. It keeps the address that
clients say, too, which a filter replaces (`_of_address`)."""


def _of_address() -> late_pb2.HeaderMutation:
    """Tells backends the address that was found, as Envoy does elsewhere."""
    result = late_pb2.HeaderMutation()
    told = result.mutations.request_mutations.add().append
    told.header.key = "x-envoy-external-address"
    told.header.value = "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"
    told.append_action = _OVERWRITE
    return result


def _detection(node: nodes.ClientAddress) -> tuple[str, Message]:
    if node.header:
        header = custom_header_pb2.CustomHeaderConfig(
            header_name=node.header, allow_extension_to_set_address_as_trusted=True
        )
        if node.fails_closed:
            header.reject_with_status.code = 403  # type: ignore[assignment]
        return "envoy.http.original_ip_detection.custom_header", header
    forwarded = xff_pb2.XffConfig()
    forwarded.skip_xff_append.value = not node.is_appended
    for text in node.proxies:
        address, _, length = text.partition("/")
        range_ = forwarded.xff_trusted_cidrs.cidrs.add(address_prefix=address)
        range_.prefix_len.value = int(length)
    return "envoy.http.original_ip_detection.xff", forwarded


_CERTIFICATES = {
    "Sanitize": Pb.SANITIZE,
    "ForwardOnly": Pb.FORWARD_ONLY,
    "AppendForward": Pb.APPEND_FORWARD,
    "SanitizeSet": Pb.SANITIZE_SET,
    "AlwaysForwardOnly": Pb.ALWAYS_FORWARD_ONLY,
}


def _write_paths(target: Pb, node: nodes.ClientTraffic) -> None:
    if node.escaped_slashes is not None:
        target.path_with_escaped_slashes_action = connection_manager.SLASHES[node.escaped_slashes]
    if node.merge_slashes is not None:
        target.merge_slashes = node.merge_slashes
    if node.strip_host_dot is not None:
        target.strip_trailing_host_dot = node.strip_host_dot
    if node.backend_scheme is not None:
        target.scheme_header_transformation.match_upstream = node.backend_scheme


def _write_headers(target: Pb, node: nodes.ClientTraffic) -> None:
    if node.underscores is not None:
        action = connection_manager.UNDERSCORES[node.underscores]
        target.common_http_protocol_options.headers_with_underscores_action = action
    if node.header_kib is not None:
        target.max_request_headers_kb.value = node.header_kib
    if node.certificate_mode is not None:
        target.forward_client_cert_details = _CERTIFICATES[node.certificate_mode]
        _write_details(target, node.certificate_details)
    if node.request_id is not None:
        target.preserve_external_request_id = node.request_id != "Generate"
        target.generate_request_id.value = node.request_id in ("PreserveOrGenerate", "Generate")
    if node.requests is not None:
        _prepend(target, "contour.requests", _mutations(node.requests))


def _prepend(target: Pb, name: str, mutations: Iterable[mutation_rules_pb2.HeaderMutation]) -> None:
    """Adds changes of requests before all others: the last ones name the table of a request."""
    kept = list(target.early_header_mutation_extensions)
    added = extension_pb2.TypedExtensionConfig(name=name)
    changed = early_pb2.HeaderMutation(mutations=mutations)
    added.typed_config.CopyFrom(encoding.packed(changed))
    del target.early_header_mutation_extensions[:]
    target.early_header_mutation_extensions.extend([added, *kept])


def _write_details(target: Pb, details: tuple[str, ...]) -> None:
    told = target.set_current_client_cert_details
    told.Clear()
    told.subject.value = "Subject" in details
    told.cert = "Cert" in details
    told.chain = "Chain" in details
    told.dns = "DNS" in details
    told.uri = "URI" in details


_OVERWRITE = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
_APPEND = base_pb2.HeaderValueOption.APPEND_IF_EXISTS_OR_ADD
_ADD = base_pb2.HeaderValueOption.ADD_IF_ABSENT


def _mutations(node: nodes.HeaderChanges) -> Iterator[mutation_rules_pb2.HeaderMutation]:
    for values, action in ((node.set, _OVERWRITE), (node.add, _APPEND), (node.add_if_absent, _ADD)):
        for name, value in values:
            made = mutation_rules_pb2.HeaderMutation()
            made.append.header.key, made.append.header.value = name, headers.literal(value)
            made.append.append_action = action
            yield made
    for name in node.remove:
        yield mutation_rules_pb2.HeaderMutation(remove=name)
    for matching in node.remove_matching:
        made = mutation_rules_pb2.HeaderMutation()
        matches.write_value(made.remove_on_match.key_matcher, matching)
        yield made


def _write_timeouts(target: Pb, node: nodes.ClientTraffic) -> None:
    connection = target.common_http_protocol_options
    for field, number in (
        (target.request_timeout, node.request),
        (target.request_headers_timeout, node.request_headers),
        (target.stream_idle_timeout, node.stream_idle),
        (connection.idle_timeout, node.idle),
    ):
        http2.write_duration(field, number)
    if node.max_connection is not None:
        connection.ClearField("max_connection_duration")
        http2.write_duration(connection.max_connection_duration, node.max_connection or None)
    http2.write_duration(connection.max_stream_duration, node.max_stream or None)
    if node.max_requests is not None:
        connection.max_requests_per_connection.value = node.max_requests


def _write_http1(target: Pb, node: nodes.ClientTraffic) -> None:
    if node.trailers is not None:
        target.http_protocol_options.enable_trailers = node.trailers
    if node.keeps_case:
        http1.keep_case(target.http_protocol_options)
    if node.abrupt_end is not None:
        target.http1_safe_max_connection_duration = not node.abrupt_end
    for it in node.ignored_upgrades:
        matches.write_value(target.http_protocol_options.ignore_http_11_upgrade.add(), it)


def _write_filters(target: Pb, node: nodes.ClientTraffic) -> None:
    added = [
        pb.HttpFilter(name=name, typed_config=encoding.packed(it)) for name, it in _added(node)
    ]
    kept = list(target.http_filters)
    if node.envoy_headers is not None:
        for it in kept:
            if it.name == filters.ROUTER:
                router = router_pb2.Router()
                it.typed_config.Unpack(router)
                router.suppress_envoy_headers = not node.envoy_headers
                it.typed_config.CopyFrom(encoding.packed(router))
    if added:
        copies = [pb.HttpFilter.FromString(it.SerializeToString()) for it in kept]
        del target.http_filters[:]
        target.http_filters.extend([*added, *copies])


def _added(node: nodes.ClientTraffic) -> Iterable[tuple[str, Message]]:
    """The filters before all others, which are the last to see an answer."""
    if node.answers is not None:
        changed = late_pb2.HeaderMutation()
        changed.mutations.response_mutations.extend(_mutations(node.answers))
        yield _ANSWERS, changed
    if _is_detected(node.address):
        yield _ADDRESS, _of_address()
    if node.health_path:
        asked = health_check_pb2.HealthCheck()
        asked.pass_through_mode.value = False
        path = route_components_pb2.HeaderMatcher(name=":path")
        path.string_match.exact = node.health_path
        asked.headers.append(path)
        yield _HEALTH, asked
