"""Listeners for health checks, metrics and the admin page, where the configuration asks for them.

Sites on one port share a listener if they can. A site whose TLS cannot be served is not served in
the clear instead. Source: Contour's configuration reference, "HealthConfig", "MetricsConfig",
"OMEnforcedHealthConfig", "NetworkParameters" (`adminPort`). Elsewhere: what the bootstrap of a
fleet opens by itself.
"""

from collections.abc import Iterator, Mapping

from crds.endpoints import Endpoint, MetricsTLS
from crds.envoysettings import Envoy
from crds.records import replace
from dag import nodes
from dag.problems import Problem
from dag.problems import configuration as problems
from dag.problems.places import Findings, Place

PAGES_PORT = 8000
"""The usual port of the control plane's pages."""
USUAL_PORT = 8002
_LOOPBACK = "127.0.0.1"


def monitors(
    spec: Place, envoy: Envoy, taken: Mapping[int, str]
) -> Findings[tuple[nodes.Monitor, ...]]:
    """The listeners, by port; `taken` are ports that are in use already, with their owners."""
    owners, found = dict(taken), dict[int, nodes.Monitor]()
    for it in _sites(spec.at("envoy"), envoy):
        if isinstance(it, Problem):
            yield it
            continue
        place, site = it
        other = found.get(site.port)
        if other is not None and _is_shareable(other, site):
            found[site.port] = replace(other, pages=(*other.pages, *site.pages))
        elif site.port in owners:
            text = f"port {site.port} is that of {owners[site.port]} already"
            yield problems.invalid_value(place, text)
        else:
            owners[site.port], found[site.port] = place.path, site
    return tuple(it for _, it in sorted(found.items()))


def taken_in_pods(spec: Place, envoy: Envoy) -> Iterator[Problem]:
    """Tells of ports that something else has in the pods of managed fleets and of our manifests. Of
    several sites with one port only the first is told of: the others are errors, or share it."""
    at = spec.at("envoy")
    listeners = (("http", envoy.http), ("https", envoy.https))
    found = [(at.at(name).at("port"), it.port, False) for name, it in listeners if it is not None]
    for it in _sites(at, envoy):
        if not isinstance(it, Problem):
            place, site = it
            found.append((_port(place, site), site.port, _is_as_in_bootstrap(site)))
    seen: set[int] = set()
    for place, port, is_same in found:
        if port in _IN_PODS and port not in seen and not is_same:
            text = f"in pods of managed fleets and of our manifests {port} is the port of "
            yield problems.ignored_field(place, text + _IN_PODS[port])
        seen.add(port or 0)


def unprobed_in_pods(spec: Place, health: Endpoint | None) -> Iterator[Problem]:
    """Tells of a port of the control plane's health pages that no probe of its pods asks."""
    if health is not None and health.port and health.port != PAGES_PORT:
        text = f"in pods of our manifests the probes ask port {PAGES_PORT}, so they never succeed"
        yield problems.ignored_field(spec.at("health").at("port"), text)


_IN_PODS = {
    USUAL_PORT: "/ready and the metrics, which the bootstrap opens",
    8090: "the shutdown manager",
}


def _port(place: Place, site: nodes.Monitor) -> Place:
    return place if site.pages == ("admin",) else place.at("port")


def _is_as_in_bootstrap(site: nodes.Monitor) -> bool:
    """Whether the listener of the bootstrap, which Envoy keeps, has the pages of a site."""
    is_plain = site.tls is None and site.port == USUAL_PORT
    return is_plain and {*site.pages} <= {"health", "metrics"}


def _sites(at: Place, envoy: Envoy) -> Iterator[tuple[Place, nodes.Monitor] | Problem]:
    """The sites in the order of precedence: one that clashes with an earlier one is not served."""
    if (health := envoy.health) is not None:
        port = health.port or USUAL_PORT
        yield at.at("health"), nodes.Monitor(port, health.address or "", ("health",))
    if (metrics := envoy.metrics) is not None:
        place, port = at.at("metrics"), metrics.port or USUAL_PORT
        tls = _tls(place.at("tls"), metrics.tls)
        if isinstance(tls, Problem):
            yield tls
        else:
            yield place, nodes.Monitor(port, metrics.address or "", ("metrics",), tls)
    if (enforced := envoy.om_enforced_health) is not None:
        place = at.at("omEnforcedHealth")
        if enforced.port:
            yield place, nodes.Monitor(enforced.port, enforced.address or "", ("overload",))
        else:
            yield problems.invalid_value(place.at("port"), "needs a port")
    if envoy.network and envoy.network.admin_port:
        place = at.at("network").at("adminPort")
        yield place, nodes.Monitor(envoy.network.admin_port, _LOOPBACK, ("admin",))


def _is_shareable(one: nodes.Monitor, other: nodes.Monitor) -> bool:
    is_plain = one.tls is None and other.tls is None
    is_told_to_all = {*one.pages, *other.pages} == {"health", "metrics"}
    return is_plain and is_told_to_all and one.address == other.address


def _tls(place: Place, given: MetricsTLS | None) -> nodes.MonitorTls | Problem | None:
    """How metrics are encrypted; None if they are not."""
    if given is None:
        return None
    if not (given.cert_file and given.key_file):
        return problems.invalid_value(place, "certFile and keyFile are needed for TLS")
    return nodes.MonitorTls(given.cert_file, given.key_file, given.ca_file or "")
