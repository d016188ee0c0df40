"""Statuses as Kubernetes stores them: the `status` field of an object.

The rules answer values without times (`dag.statuses`), which get the field names of each kind's
schema here. `observedGeneration` is the generation that the rules saw. `lastTransitionTime` is set
by the writer, because only it knows the stored condition.
"""

from collections.abc import Iterable, Sequence

from crds.gateway.references import ParentReference
from crds.kinds import KINDS, MARIN3R
from crds.raw import Raw
from dag import statuses


def status(found: statuses.Status, generation: int = 0) -> Raw:
    """The `status` field for an object of this generation (0: unknown, so left out)."""
    match found:
        case statuses.ContourStatus():
            return _contour(found, generation)
        case statuses.EventStatus():
            return {"loadBalancer": {}}
        case statuses.GatewayClassStatus():
            return {
                "conditions": _conditions(found.conditions, generation),
                "supportedFeatures": [{"name": name} for name in found.supported_features],
            }
        case statuses.GatewayStatus():
            return _gateway(found, generation)
        case statuses.ListenerSetStatus():
            return {
                "conditions": _conditions(found.conditions, generation),
                "listeners": [_listener(it, generation) for it in found.listeners],
            }
        case statuses.PolicyStatus():
            return {"ancestors": [_ancestor(it, generation) for it in found.ancestors]}
        case statuses.BackendStatus():
            return {"conditions": _conditions(found.conditions, generation)}
        case statuses.EnvoyConfigStatus():
            return _envoy_config(found, generation)
        case statuses.RouteStatus():
            return {"parents": [_parent(it, generation) for it in found.parents]}


def _contour(found: statuses.ContourStatus, generation: int) -> Raw:
    condition = _condition(found.valid, generation)
    if found.errors:
        condition["errors"] = _sub_conditions(found.errors)
    if found.warnings:
        condition["warnings"] = _sub_conditions(found.warnings)
    return {
        "currentStatus": found.current_status,
        "description": _description(found),
        "conditions": [condition],
    }


def _envoy_config(found: statuses.EnvoyConfigStatus, generation: int) -> Raw:
    return {
        "cacheState": found.cache_state,
        "publishedVersion": found.published_version,
        "desiredVersion": found.desired_version,
        "revisions": [_revision(it) for it in found.revisions],
        "conditions": _conditions(found.conditions, generation),
    }


def _revision(found: statuses.RevisionReference) -> Raw:
    if not found.name:
        return {"version": found.version}
    kind = KINDS[MARIN3R, "EnvoyConfigRevision"]
    named = {"apiVersion": kind.api_version, "kind": kind.kind, "name": found.name}
    return {"version": found.version, "ref": named}


def _description(found: statuses.ContourStatus) -> str:
    """The message of the condition, which says whether the object is an orphan."""
    is_orphan = found.current_status == "orphaned" and found.errors
    return found.errors[0].message if is_orphan else found.valid.message


def _gateway(found: statuses.GatewayStatus, generation: int) -> Raw:
    told: Raw = {
        "conditions": _conditions(found.conditions, generation),
        "listeners": [_listener(it, generation) for it in found.listeners],
        "attachedListenerSets": found.attached_listener_sets,
    }
    if found.addresses is not None:
        told["addresses"] = [_address(it) for it in found.addresses[:MOST_ADDRESSES]]
    return told


def _address(found: statuses.Address) -> Raw:
    return {name: it for name, it in found._asdict().items() if it is not None}


MOST_ADDRESSES = 16
"""The maximum number of addresses of a Gateway."""


def _listener(found: statuses.ListenerStatus, generation: int) -> Raw:
    return {
        "name": found.name,
        "supportedKinds": [{"group": it.group, "kind": it.kind} for it in found.supported_kinds],
        "attachedRoutes": found.attached_routes,
        "conditions": _conditions(found.conditions, generation),
    }


def _parent(found: statuses.ParentStatus, generation: int) -> Raw:
    return {
        "parentRef": _reference(found.parent),
        "controllerName": found.controller_name,
        "conditions": _conditions(found.conditions, generation),
    }


def _ancestor(found: statuses.AncestorStatus, generation: int) -> Raw:
    return {
        "ancestorRef": _reference(found.ancestor),
        "controllerName": found.controller_name,
        "conditions": _conditions(found.conditions, generation),
    }


def _reference(parent: ParentReference) -> Raw:
    """An object as a status names it. The core group is empty: the schema takes a reference without
    a group as one to a kind of the Gateway API."""
    named = {
        "group": parent.group,
        "kind": parent.kind,
        "namespace": parent.namespace,
        "name": parent.name,
        "sectionName": parent.section_name,
        "port": parent.port,
    }
    return {field: value for field, value in named.items() if value is not None}


def _conditions(found: Iterable[statuses.Condition], generation: int) -> list[Raw]:
    return [_condition(it, generation) for it in found]


def _condition(found: statuses.Condition, generation: int) -> Raw:
    condition: Raw = {
        "type": found.type,
        "status": found.status,
        "reason": found.reason,
        "message": found.message[:MAX_MESSAGE],
    }
    if generation:
        condition["observedGeneration"] = generation
    return condition


MAX_MESSAGE = 32760
"""Characters; longer messages are cut, as upstream does."""

MOST_LISTED = 100
"""The maximum number of errors, and of warnings, of one object; the others are only counted."""


def _sub_conditions(found: Sequence[statuses.SubCondition]) -> list[Raw]:
    told = [_sub_condition(it) for it in found[:MOST_LISTED]]
    rest = len(found) - len(told)
    if rest:
        told.append({**told[-1], "message": f"and {rest} more"})
    return told


def _sub_condition(found: statuses.SubCondition) -> Raw:
    return {
        "type": found.type,
        "status": "True",
        "reason": found.reason,
        "message": found.message[:MAX_MESSAGE],
    }
