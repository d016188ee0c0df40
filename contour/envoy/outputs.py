"""All queries of this package, and what a changed answer changes in a fleet.

Every answer is a set of parts, each with its place in a fleet. So one rule serves all of them:
parts that are only in the old answer are removed. `PLAN` is added to the rules of the graph.
"""

from collections.abc import Callable, Iterator

from contour.envoy import (
    authenticating,
    credentials,
    extending,
    http3,
    limits,
    listenershaping,
    listening,
    monitors,
    patching,
    routing,
    runtime,
    shaping,
    streamshaping,
    translating,
    virtual_hosts,
)
from contour.envoy.grpcclients import queries as grpcclients
from contour.envoy.grpcclients import spellings
from contour.envoy.hooks import questions
from contour.xds import resources
from dag import exports
from dag.engine.view import Change, Plan
from dag.refusals import Application

PLAN = Plan(
    indexes=(
        routing.INDEXES
        + extending.INDEXES
        + authenticating.INDEXES
        + listening.INDEXES
        + http3.INDEXES
        + limits.INDEXES
        + translating.INDEXES
    ),
    kept=(
        runtime.KEPT
        + extending.KEPT
        + authenticating.KEPT
        + routing.KEPT
        + listening.KEPT
        + http3.KEPT
        + monitors.KEPT
        + grpcclients.KEPT
        + limits.KEPT
        + patching.KEPT
        + translating.KEPT
    ),
    published=(
        runtime.PUBLISHED
        + credentials.PUBLISHED
        + routing.PUBLISHED
        + extending.PUBLISHED
        + authenticating.PUBLISHED
        + listening.PUBLISHED
        + http3.PUBLISHED
        + monitors.PUBLISHED
        + grpcclients.PUBLISHED
        + shaping.PUBLISHED
        + listenershaping.PUBLISHED
        + streamshaping.PUBLISHED
        + limits.PUBLISHED
        + patching.PUBLISHED
        + translating.PUBLISHED
    ),
)
"""What the engine maintains for Envoy, on top of the graph."""


def stand_in(name: resources.Name, part: str) -> resources.Part | None:
    """What is served in place of a part that Envoy refuses and never had."""
    if name.type_url != resources.ROUTE or not part:
        return None
    return resources.part(virtual_hosts.closed(part))


_OURS = frozenset(PLAN.published) - frozenset(
    (
        *shaping.PUBLISHED,
        *listenershaping.PUBLISHED,
        *streamshaping.PUBLISHED,
        questions.translated,
    )
)


def is_opening(change: Change) -> bool:
    """Whether a fleet is served from now on, even if it is empty."""
    return change.query is grpcclients.grpc_clients and change.new is not None


def asked_by(fleet: str) -> Callable[[resources.Name], Application] | None:
    """The function that names the client that asks for a resource, if each client refuses for
    itself; None for a fleet of Envoys."""
    return spellings.asked_by if fleet == exports.FLEET else None


def changes(change: Change) -> Iterator[tuple[str, resources.Change]]:
    """The changed parts, each with its fleet; nothing for an answer that Envoy never sees."""
    if change.query not in _OURS:
        return
    fleet = change.key[0]
    was = {(name, part): value for name, part, value in change.old or ()}
    now = {(name, part): value for name, part, value in change.new or ()}
    for name, part in was:
        if (name, part) not in now:
            yield fleet, resources.Change(name, part, None)
    for (name, part), value in now.items():
        if was.get((name, part)) != value:
            yield fleet, resources.Change(name, part, value)
