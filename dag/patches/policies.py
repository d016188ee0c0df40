"""The fleet that an EnvoyPatchPolicy is for, whether it may be served, and what it changes.

Whoever may write patches controls a fleet. So no policy is served unless the configuration allows
the kind. Then policies for a Gateway with its own Envoys are served, and for the Envoys of Ingress
and HTTPProxy those of the namespaces that the configuration names.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crds.envoygateway.patchpolicy import EnvoyPatchPolicy, ResourcePatch
from crds.gateway.references import GROUP, ParentReference
from crds.meta import NamespacedName
from crds.records import dataclass
from dag import tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import selection
from dag.patches import naming
from dag.patches.naming import PatchPlace, Unplaced
from dag.problems import Problem
from dag.problems import patches as problems
from dag.seniority import Senior, senior


class Operation(NamedTuple):
    """An operation on a place, and its number in the policy."""

    number: int
    patch: ResourcePatch


class Patch(NamedTuple):
    """What a policy changes at a place. Patches sort in the order in which they are applied."""

    priority: int
    senior: Senior
    operations: tuple[Operation, ...]

    @property
    def policy(self) -> NamespacedName:
        """The policy."""
        return self.senior.key


@dataclass(frozen=True, slots=True)
class Patching:
    """What a policy changes, and where."""

    ancestor: ParentReference
    """Its target."""
    patches: tuple[tuple[PatchPlace, Patch], ...] = ()
    problems: tuple[Problem, ...] = ()


class _Target(NamedTuple):
    """The target of a policy, and the fleet that it is for."""

    ancestor: ParentReference
    fleet: str | None = None
    problems: tuple[Problem, ...] = ()


@query
def patching(view: View, key: NamespacedName) -> Patching | None:
    """What a policy changes; None if it is not for this controller."""
    found = view.read(tables.PATCH_POLICIES, key)
    if found is None:
        return None
    target = _target(view, found)
    if target is None or target.fleet is None or target.problems:
        return Patching(target.ancestor, (), target.problems) if target is not None else None
    placed: dict[PatchPlace, list[Operation]] = {}
    told: list[Problem] = []
    for index, it in enumerate(found.spec.json_patches):
        place = naming.place(view, target.fleet, it)
        if isinstance(place, Unplaced):
            at = problems.policy(key).at("jsonPatches", index).at("name")
            tell = problems.not_found if place.is_missing else problems.not_applied
            told.append(tell(at, place.why))
        else:
            placed.setdefault(place, []).append(Operation(index, it))
    rank = (found.spec.priority, senior(found.metadata))
    patches = ((place, Patch(*rank, tuple(its))) for place, its in placed.items())
    return Patching(target.ancestor, tuple(patches), tuple(told))


def _target(view: View, found: EnvoyPatchPolicy) -> _Target | None:
    """The target of a policy; None if that is of another controller."""
    it, key = found.spec.target_ref, found.metadata.key
    own, at = problems.policy(key), problems.policy(key).at("targetRef")
    if it.group == GROUP and it.kind == "GatewayClass":
        return _of_class(view, found)
    ancestor = ParentReference(group=it.group, kind=it.kind, namespace=key.namespace, name=it.name)
    if it.group != GROUP or it.kind != "Gateway":
        why = f"{it.group}/{it.kind} is no kind that policies are for; use Gateway or GatewayClass"
        return _Target(ancestor, problems=(problems.target_not_found(at, why),))
    gateway = NamespacedName(key.namespace, it.name)
    if view.read(tables.GATEWAYS, gateway) is None:
        why = f"Gateway {gateway} not found"
        return _Target(ancestor, problems=(problems.target_not_found(at, why),))
    if not view.ask(selection.is_ours, gateway):
        return None
    fleet = view.ask(selection.fleet, gateway)
    told = tuple(_refusals(view, key, fleet))
    if fleet is None and not told:
        told = (problems.target_not_valid(own, f"Gateway {gateway} is not served"),)
    return _Target(ancestor, fleet, told)


def _of_class(view: View, found: EnvoyPatchPolicy) -> _Target | None:
    """The target of a policy for all Gateways of a class, if they share their Envoys."""
    it, key = found.spec.target_ref, found.metadata.key
    ours = view.ask(selection.accepted_class, ())
    if ours is None or ours.name != it.name:
        return None
    ancestor = ParentReference(kind=it.kind, name=it.name)
    if view.ask(settings.gateway_mode, ()) == "PerGateway":
        why = "every Gateway of the class has Envoys of its own, so a Gateway has to be the target"
        at = problems.policy(key).at("targetRef")
        return _Target(ancestor, problems=(problems.target_not_valid(at, why),))
    fleet = DEFAULT_FLEET
    return _Target(ancestor, fleet, tuple(_refusals(view, key, fleet)))


def _refusals(view: View, key: NamespacedName, fleet: str | None) -> Iterator[Problem]:
    allowed = view.ask(settings.patching, ())
    if allowed is None:
        yield problems.disabled(problems.policy(key))
    elif fleet == DEFAULT_FLEET and key.namespace not in allowed:
        yield problems.namespace_not_allowed(problems.policy(key))


def _placed(_: NamespacedName, found: Patching) -> Iterable[tuple[PatchPlace, Patch]]:
    return found.patches


def _adding(_: NamespacedName, found: Patching) -> Iterable[tuple[PatchPlace, None]]:
    return ((place, None) for place, it in found.patches if _is_adding(place, it))


def _is_adding(place: PatchPlace, found: Patch) -> bool:
    """Whether a patch adds a cluster of its own."""
    first = found.operations[0].patch.operation
    is_whole = first.path == "" and first.json_path is None
    return place.kind == "cluster" and first.op == "add" and is_whole


PATCHES: Index[PatchPlace, Patch] = Index("patches of a place", patching, _placed)
ADDED: Index[PatchPlace, None] = Index("clusters that patches add", patching, _adding)


@query
def are_allowed(view: View, _: tuple[()]) -> bool:
    """Whether the configuration allows any."""
    return view.ask(settings.patching, ()) is not None


def at(view: View, *places: PatchPlace) -> tuple[Patch, ...]:
    """The patches of one or more places, in the order in which they are applied.

    If none are allowed, which is usual, the index is not read: there are two places for each host,
    and the engine would remember each read.
    """
    if not view.ask(are_allowed, ()):
        return ()
    return _in_order(it for place in places for it in view.bucket(PATCHES, place))


def _in_order(found: Iterable[Patch]) -> tuple[Patch, ...]:
    """Patches in the order in which they are applied."""
    return tuple(sorted(found, key=lambda it: it[:2]))


INDEXES = (PATCHES, ADDED)
KEPT = (Kept(patching, tables.PATCH_POLICIES),)
