"""The status of an EnvoyConfig."""

from collections.abc import Mapping, Sequence

from crds.meta import NamespacedName
from dag.engine.view import Query, View, query
from dag.problems.reasons import Marin3r, Own, Word
from dag.rawconfig import claims, references, revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.content import READINGS, Reading, Remark
from dag.rawconfig.revisions import Choice, EditionKey
from dag.statuses import Condition, EnvoyConfigStatus, RevisionReference

MOST_LISTED = 50
"""The most errors in one message; of others it has the number."""


@query
def status(view: View, key: NamespacedName) -> EnvoyConfigStatus | None:
    """The status of an EnvoyConfig."""
    reading = view.read(READINGS, key)
    if reading is None:
        return None
    node = NodeKey(key.namespace, reading.node)
    owner, choice = view.ask(claims.owner, node), view.ask(revisions.choice, key)
    if choice is None:
        text = f"spec.nodeID: the older EnvoyConfig {owner} has node ID {reading.node!r}"
        taken = _condition(Marin3r.Valid, False, Own.NodeIDTaken, text)
        return EnvoyConfigStatus((taken,), reading.version)
    acks = view.read(revisions.ACKNOWLEDGEMENTS, EditionKey(*node, reading.version))
    refused = _doubts(acks) if acks is not None else ()
    doubts = (*refused, *view.ask(references.left_out, key))
    return EnvoyConfigStatus(
        (_valid(reading), _out_of_sync(reading, choice, doubts), _rollback_failed(choice)),
        reading.version,
        choice.published.version if choice.published is not None else "",
        choice.state or "",
        tuple(RevisionReference(it.content.version, it.name) for it in choice.revisions),
    )


def _valid(reading: Reading) -> Condition:
    warnings = _listed(reading.warnings)
    if reading.errors:
        text = "; ".join((*_listed(reading.errors), *warnings))
        return _condition(Marin3r.Valid, False, Own.InvalidResources, text)
    text = "; ".join(("every resource can be read", *warnings))
    return _condition(Marin3r.Valid, True, Marin3r.Valid, text, warnings)


def _out_of_sync(reading: Reading, choice: Choice, doubts: tuple[str, ...]) -> Condition:
    type_ = Marin3r.CacheOutOfSync
    served = f"version {choice.published.version} is served" if choice.published else "nothing is"
    if reading.content is None:
        text = f"what is written is not valid; {served}"
        return _condition(type_, True, Marin3r.CantPublishDesiredVersion, text)
    newest = choice.revisions[-1]
    if newest.taint:
        text = f"Envoy refuses version {newest.content.version}; {served}: {newest.taint}"
        return _condition(type_, True, Marin3r.CantPublishDesiredVersion, text)
    if choice.missing:
        waits = "; ".join(choice.missing[:MOST_LISTED])
        is_served = choice.published is newest.content
        text = "what is missing is left out" if is_served else f"until then {served}"
        return _condition(type_, True, Own.WaitingForReferences, f"{waits}; {text}")
    text = "; ".join((served, *doubts))
    return _condition(type_, False, Marin3r.DesiredVersionPublished, text, doubts)


def _rollback_failed(choice: Choice) -> Condition:
    if choice.state == "RollbackFailed":
        text = "Envoy refuses every revision; the last one that it accepted is served, if any"
        return _condition(Marin3r.RollbackFailed, True, Marin3r.AllRevisionsTainted, text)
    return _condition(Marin3r.RollbackFailed, False, Marin3r.Recovered, "")


def _doubts(acks: revisions.Acknowledgements) -> tuple[str, ...]:
    """Warnings about refusals of some Envoys that do not taint a revision."""
    if not acks.refusing:
        return ()
    who = f"{acks.refusing} of {acks.connected} Envoys"
    return (f"{who} cannot apply it: {'; '.join(acks.words)}",)


def _condition(
    type_: Word, is_so: bool, reason: Word, text: str, warnings: tuple[str, ...] = ()
) -> Condition:
    return Condition(type_.value, "True" if is_so else "False", reason.value, text, warnings)


def _listed(found: Sequence[Remark]) -> tuple[str, ...]:
    told = tuple(f"{it.path}: {it.text}" for it in found[:MOST_LISTED])
    return (*told, f"and {len(found) - MOST_LISTED} more") if len(found) > MOST_LISTED else told


STATUSES: Mapping[str, Query[NamespacedName, EnvoyConfigStatus | None]] = {"EnvoyConfig": status}
