"""The rate limit service that an instance is to make or run.

It exists while a route of ours names a RateLimitFilter, or a BackendTrafficPolicy in use has global
limits, and in a cluster only if the configuration asks for it. Its pods, and our own process, read
their certificates and the password and authority of Redis only when they start: so the contents of
these are part of the answers. Elsewhere: how Envoys call the service
(`ratelimitclient`), its objects (`contour.infrastructure`), its process (`contour.ratelimits`).
"""

import hashlib
import hmac
from collections.abc import Iterator

from crds.meta import NamespacedName
from crds.ratelimitservice import RateLimitService, Redis
from crds.records import dataclass
from dag import fleets, nodes, ratelimitclient, tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.gateway import ratelimitstatus
from dag.gateway.envoypolicies import trafficlimits
from dag.problems import Problem
from dag.problems import configuration as problems
from dag.problems.places import Place
from dag.references import redisaccess, secrets, trust
from dag.statuses import PolicyStatus


@dataclass(frozen=True, slots=True)
class Wanted:
    """The service as it is to be in a cluster."""

    settings: RateLimitService
    redis: Redis | None
    """None: the replica that leads counts in memory, and there are no pods."""
    state: str
    """A digest of what its pods read when they start; empty while some of that is missing."""


@dataclass(frozen=True, slots=True)
class Process:
    """The settings of the rate limit process beside this one."""

    redis: redisaccess.Redis | None = None
    """None: it counts in memory."""
    pair: nodes.Secret | None = None
    """Its certificate and key; None: it answers on a socket of this machine."""
    authorities: bytes = b""
    """The PEM of the authorities of its clients; only with a certificate."""


@query
def wanted(view: View, _: tuple[()]) -> Wanted | None:
    """The service in a cluster; None if there is to be none."""
    found = view.ask(settings.chosen_configuration, ())
    written = view.ask(settings.settings, ()).limit_filters
    names = view.read(ratelimitclient.PROVISIONED, ())
    is_leaving = found is None or found.metadata.deletion_timestamp is not None
    if is_leaving or names is None or written.service is None:
        return None
    return Wanted(written.service, written.redis, _state(view, names, written.redis))


def _state(view: View, names: ratelimitclient.Provisioned, of: Redis | None) -> str:
    """A digest that tells nothing of the password: its key is in the service's own certificate."""
    pair = view.ask(secrets.certificate, names.certificate)
    own = names.certificate.namespace
    if isinstance(pair, Problem) or next(redisaccess.missing(view, of, own), None) is not None:
        return ""
    found = hmac.new(pair.key, pair.chain, hashlib.sha256)
    for it in redisaccess.content(view, of, own) if of is not None else ():
        found.update(it)
    return found.hexdigest()[:16]


@query
def process(view: View, _: tuple[()]) -> Process | None:
    """The rate limit process that is to run beside this one: on one machine, or on the leader. None
    if there is to be none, or while something that it needs is missing."""
    written = view.ask(settings.settings, ()).limit_filters.redis
    if view.read(ratelimitclient.SOCKET, ()) is not None:
        if written is None:
            return Process()
        found = redisaccess.reached(view, written, ratelimitclient.home(view))
        return Process(found) if found is not None else None
    asked, names = view.ask(wanted, ()), view.read(ratelimitclient.PROVISIONED, ())
    if asked is None or names is None or asked.redis is not None:
        return None
    pair = view.ask(secrets.secret, names.certificate)
    bundle = view.ask(trust.bundle, ratelimitclient.trusted(names.certificate))
    if pair is None or bundle is None:
        return None
    return Process(pair=pair, authorities=bundle.authorities)


def problems_of(view: View, spec: Place) -> Iterator[Problem]:
    """What is wrong with the service, or with what it needs, for the configuration's author."""
    written, at = view.ask(settings.settings, ()).limit_filters, spec.at("rateLimitFilters")
    names = view.read(ratelimitclient.PROVISIONED, ())
    is_one_machine = view.read(tables.HOST_PORTS, ()) is not None
    if is_one_machine or (names is not None and written.service is not None):
        home = names.service.namespace if names is not None else ratelimitclient.home(view)
        for field, why in redisaccess.missing(view, written.redis, home):
            yield problems.unresolved(at.at("redis").at(field), why)
    for it in view.read(fleets.PROBLEMS, ratelimitclient.FLEET) or ():
        yield problems.counter_not_provisioned(at.at("service"), it.message, it.is_error)
    if is_one_machine and written.service is not None:
        text = "has no effect on one machine, where a process beside Envoy counts"
        yield problems.ignored_field(at.at("service"), text)
    elif names is not None and written.service is not None and written.redis is None:
        yield problems.counted_by_leader(at.at("service"))
        yield from _unused(written.service, at.at("service"))


def _unused(service: RateLimitService, at: Place) -> Iterator[Problem]:
    """Problems of fields that are for pods: without a Redis there are none."""
    usual = RateLimitService()
    for name in ("image", "replicas", "resources", "placement", "pod_annotations"):
        if getattr(service, name) != getattr(usual, name):
            field = "podAnnotations" if name == "pod_annotations" else name
            yield problems.ignored_field(at.at(field), "has no effect without a Redis")


def _used(key: NamespacedName, _: PolicyStatus) -> Iterator[tuple[tuple[()], NamespacedName]]:
    yield (), key


USED: Index[tuple[()], NamespacedName] = Index(
    "RateLimitFilters in use", ratelimitstatus.rate_limit_filter, _used
)
"""The RateLimitFilters that a route of ours names."""

INDEXES = (USED,)
KEPT = tuple(Kept(it, used) for it in (wanted, process) for used in (USED, trafficlimits.USED))
