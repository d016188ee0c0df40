"""Where Envoy tells how it is: the listeners for probes and scrapes that are asked for.

Sites on one port share a listener if they can. A site over TLS that cannot be is not opened in the
clear instead. Source: Contour's configuration reference, "HealthConfig", "MetricsConfig",
"OMEnforcedHealthConfig", "NetworkParameters" (`adminPort`). Elsewhere: what the bootstrap of a
fleet opens by itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from crds.endpoints import MetricsTLS
from crds.envoysettings import Envoy
from dag import nodes
from dag.configuration.readings import Errors, tell

USUAL_PORT = 8002
_LOOPBACK = "127.0.0.1"


def monitors(envoy: Envoy, taken: Mapping[int, str], errors: Errors) -> tuple[nodes.Monitor, ...]:
    """The listeners, by port; `taken` are ports that are somebody's already."""
    owners, found = dict(taken), dict[int, nodes.Monitor]()
    for path, site in _sites(envoy, errors):
        other = found.get(site.port)
        if other is not None and _is_shareable(other, site):
            found[site.port] = replace(other, pages=(*other.pages, *site.pages))
        elif site.port in owners:
            tell(errors, path, f"port {site.port} is that of {owners[site.port]} already")
        else:
            owners[site.port], found[site.port] = path, site
    return tuple(it for _, it in sorted(found.items()))


def _sites(envoy: Envoy, errors: Errors) -> Iterator[tuple[str, nodes.Monitor]]:
    """Health first: what clashes with it is not served."""
    if (health := envoy.health) is not None:
        port, path = health.port or USUAL_PORT, "spec.envoy.health"
        yield path, nodes.Monitor(port, health.address or "", ("health",))
    if (metrics := envoy.metrics) is not None:
        path = "spec.envoy.metrics"
        tls, is_valid = _tls(metrics.tls or MetricsTLS(), path, errors)
        port = metrics.port or USUAL_PORT
        if is_valid:
            yield path, nodes.Monitor(port, metrics.address or "", ("metrics",), tls)
    if (enforced := envoy.om_enforced_health) is not None:
        path = "spec.envoy.omEnforcedHealth"
        if enforced.port:
            yield path, nodes.Monitor(enforced.port, enforced.address or "", ("overload",))
        else:
            tell(errors, f"{path}.port", "needs a port")
    if envoy.network and envoy.network.admin_port:
        path = "spec.envoy.network.adminPort"
        yield path, nodes.Monitor(envoy.network.admin_port, _LOOPBACK, ("admin",))


def _is_shareable(one: nodes.Monitor, other: nodes.Monitor) -> bool:
    is_plain = one.tls is None and other.tls is None
    is_told_to_all = {*one.pages, *other.pages} == {"health", "metrics"}
    return is_plain and is_told_to_all and one.address == other.address


def _tls(given: MetricsTLS, path: str, errors: Errors) -> tuple[nodes.MonitorTls | None, bool]:
    """How metrics are encrypted, if at all; and whether that makes sense."""
    if not (given.cert_file or given.key_file or given.ca_file):
        return None, True
    if not (given.cert_file and given.key_file):
        tell(errors, f"{path}.tls", "certFile and keyFile are needed for TLS")
        return None, False
    return nodes.MonitorTls(given.cert_file, given.key_file, given.ca_file or ""), True
