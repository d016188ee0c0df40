"""The tracked query for the listeners for probes and scrapes that the configuration asks for.

Each is named by its port, so that any other change replaces it in place. If the bootstrap of a
fleet already has the usual listener, Envoy keeps that one. Elsewhere: the forwarding of paths
(`contour.monitoring`).
"""

from collections.abc import Iterator

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2, tls_pb2

from contour import monitoring
from contour.envoy import encoding, extending, names
from contour.envoy.credentials import Pieces
from contour.envoy.fleets import FleetKey
from contour.xds import resources
from crds.meta import ObjectRef
from dag import nodes, tables
from dag.configuration import settings
from dag.configuration.monitoring import USUAL_PORT
from dag.engine.view import Kept, View, query

_PATHS = {
    "health": ("/ready",),
    "overload": ("/ready",),
    "metrics": ("/stats", "/stats/prometheus"),
    "admin": (
        "/certs",
        "/clusters",
        "/config_dump",
        "/listeners",
        "/memory",
        "/ready",
        "/runtime",
        "/server_info",
        "/stats",
        "/stats/prometheus",
        "/stats/recentlookups",
    ),
}
"""The paths that each page forwards; for `admin`, those of upstream Contour."""


@query
def monitors(view: View, _: FleetKey) -> Pieces:
    """The listeners of a fleet, and the certificates of those with TLS."""
    machine = view.read(tables.HOST_PORTS, ())
    usual = "0.0.0.0" if machine is None else machine.address
    origins = _origins(view)
    return tuple(
        resources.Change(name, "", resources.part(body, origins=origins))
        for it in view.ask(settings.monitors, ())
        for name, body in _resources(it, usual, is_exclusive=machine is not None)
    )


def _origins(view: View) -> tuple[ObjectRef, ...]:
    found = view.ask(settings.chosen_configuration, ())
    return (ObjectRef("ContourConfiguration", *found.metadata.key),) if found else ()


def _resources(
    node: nodes.Monitor, usual: str, *, is_exclusive: bool
) -> Iterator[tuple[resources.Name, bytes]]:
    paths = tuple(dict.fromkeys(path for page in node.pages for path in _PATHS[page]))
    name, address = _name(node), node.address or usual
    site = monitoring.MonitorListener(
        name, address, node.port, paths, is_shed="overload" in node.pages
    )
    result = monitoring.listener(site)
    if is_exclusive:
        result.enable_reuse_port.value = False  # as for the other listeners on one machine
    if node.tls is not None:
        yield from _secrets(node.tls)
        _write_tls(result, node.tls)
    yield names.listener(name), encoding.encoded(result)


def _name(node: nodes.Monitor) -> str:
    # A listener with TLS must not have the name of the plaintext one in a bootstrap.
    is_usual = node.port == USUAL_PORT and node.tls is None
    return monitoring.NAME if is_usual else f"{monitoring.NAME}-{node.port}"


def _write_tls(target: listener_pb2.Listener, node: nodes.MonitorTls) -> None:
    tls = tls_pb2.DownstreamTlsContext()
    tls.require_client_certificate.value = bool(node.authority)
    shared = tls.common_tls_context
    certificate = shared.tls_certificate_sds_secret_configs.add(name=names.METRICS_PAIR.name)
    certificate.sds_config.CopyFrom(encoding.aggregated())
    if node.authority:
        shared.validation_context_sds_secret_config.name = names.METRICS_TRUST.name
        shared.validation_context_sds_secret_config.sds_config.CopyFrom(encoding.aggregated())
    socket = target.filter_chains[0].transport_socket
    socket.name = "envoy.transport_sockets.tls"
    socket.typed_config.CopyFrom(encoding.packed(tls))


def _secrets(node: nodes.MonitorTls) -> Iterator[tuple[resources.Name, bytes]]:
    pair = secret_pb2.Secret(name=names.METRICS_PAIR.name)
    pair.tls_certificate.certificate_chain.filename = node.certificate
    pair.tls_certificate.private_key.filename = node.key
    pair.tls_certificate.watched_directory.path = _folder(node.certificate)
    yield names.METRICS_PAIR, encoding.encoded(pair)
    if node.authority:
        trust = secret_pb2.Secret(name=names.METRICS_TRUST.name)
        trust.validation_context.trusted_ca.filename = node.authority
        trust.validation_context.watched_directory.path = _folder(node.authority)
        yield names.METRICS_TRUST, encoding.encoded(trust)


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


KEPT = (Kept(monitors, extending.FLEETS),)
PUBLISHED = (monitors,)
