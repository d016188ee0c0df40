"""Which rate limit service an instance in a cluster is to make, for whoever makes it.

It is there while the configuration asks for it and a route of ours names a RateLimitFilter. The
service reads its certificates, and the password and authority of Redis, only when it starts: so
what they are is part of the answer. Elsewhere: who asks the service (`counting`), its objects
(`contour.infrastructure`).
"""

import hashlib
import hmac
from collections.abc import Iterator

from crds.meta import NamespacedName, ObjectRef
from crds.ratelimitservice import PASSWORD, RateLimitService, Redis
from crds.records import dataclass
from dag import counting, fleets, nodes, tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.gateway import ratelimitstatus
from dag.problems import Problem
from dag.problems import configuration as problems
from dag.problems.places import Place
from dag.references import secrets, trust
from dag.statuses import PolicyStatus


@dataclass(frozen=True, slots=True)
class Wanted:
    """The service as it is to be."""

    settings: RateLimitService
    redis: Redis
    state: str
    """Changes with what its pods read when they start; empty while some of that is missing."""


@query
def wanted(view: View, _: tuple[()]) -> Wanted | None:
    """The service; None if there is to be none."""
    found = view.ask(settings.chosen_configuration, ())
    written = view.ask(settings.settings, ()).limit_filters
    names = view.read(counting.PROVISIONED, ())
    is_leaving = found is None or found.metadata.deletion_timestamp is not None
    if is_leaving or names is None or written.service is None or written.redis is None:
        return None
    return Wanted(written.service, written.redis, _state(view, names, written.redis))


def _state(view: View, names: counting.Provisioned, redis: Redis) -> str:
    """A digest that tells nothing of the password: its key is in the service's own certificate."""
    pair = view.ask(secrets.certificate, names.certificate)
    own = names.certificate.namespace
    if isinstance(pair, Problem) or next(_missing(view, redis, own), None) is not None:
        return ""
    found = hmac.new(pair.key, pair.chain, hashlib.sha256)
    for name, key in _read(redis):
        secret = view.read(tables.SECRETS, NamespacedName(own, name))
        found.update(secret.data[key] if secret is not None else b"")
    return found.hexdigest()[:16]


def _read(redis: Redis) -> Iterator[tuple[str, str]]:
    """The Secrets of Redis, and what is read in them."""
    if redis.tls is not None and redis.tls.ca_secret is not None:
        yield redis.tls.ca_secret, "ca.crt"
    if redis.password_secret is not None:
        yield redis.password_secret, PASSWORD


def _missing(view: View, redis: Redis, namespace: str) -> Iterator[tuple[str, str]]:
    """What of the Secrets of Redis cannot be used: the field of `redis`, and why."""
    if redis.tls is not None and redis.tls.ca_secret is not None:
        ref = ObjectRef("Secret", namespace, redis.tls.ca_secret)
        if refusal := view.ask(trust.refusal, nodes.Trust((ref,))):
            yield "tls.caSecret", refusal.message
    if (password := redis.password_secret) is not None:
        name = NamespacedName(namespace, password)
        found = view.read(tables.SECRETS, name)
        if found is None:
            yield "passwordSecret", f"Secret {name} not found"
        elif not found.data.get(PASSWORD):
            yield "passwordSecret", f"Secret {name} has no {PASSWORD}"


def told(view: View, spec: Place) -> Iterator[Problem]:
    """What is wrong with the service, or with what it needs, for the configuration's author."""
    written, at = view.ask(settings.settings, ()).limit_filters, spec.at("rateLimitFilters")
    names = view.read(counting.PROVISIONED, ())
    if names is not None and written.service is not None and written.redis is not None:
        for field, why in _missing(view, written.redis, names.service.namespace):
            yield problems.unresolved(at.at("redis").at(field), why)
    for it in view.read(fleets.PROBLEMS, counting.FLEET) or ():
        yield problems.counter_not_provisioned(at.at("service"), it.message, it.is_error)
    if view.read(tables.HOST_PORTS, ()) is not None:
        for field, found in (("redis", written.redis), ("service", written.service)):
            if found is not None:
                text = "has no effect on one machine, where a process beside Envoy counts in memory"
                yield problems.ignored_field(at.at(field), text)


def _used(key: NamespacedName, _: PolicyStatus) -> Iterator[tuple[tuple[()], NamespacedName]]:
    yield (), key


USED: Index[tuple[()], NamespacedName] = Index(
    "RateLimitFilters in use", ratelimitstatus.rate_limit_filter, _used
)
"""Those that a route of ours names."""

INDEXES = (USED,)
KEPT = (Kept(wanted, USED),)
