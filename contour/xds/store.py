"""The resources that a fleet is served now, and their dependencies.

The cost of a change depends only on the change. A resource whose removal was published stays as
long as a part needs it that is served, or that may be served again because its newest value is
refused: a cluster stays until the last route to it is gone. Elsewhere: what one Envoy has
(`envoy`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contour.xds import resources
from contour.xds.clusters import Clusters
from contour.xds.resources import Change, Name, Origin, Part, PartKey, Resource
from contour.xds.users import UsersByName


@dataclass(slots=True)
class Edit:
    """The change that one publication made to one resource."""

    resource: Resource  # as it is now; as it was if it is gone
    before: dict[str, Part | None] = field(default_factory=dict)  # the changed parts as they were
    is_new: bool = False
    is_gone: bool = False

    @property
    def name(self) -> Name:
        return self.resource.name


class Store:
    """The resources of one fleet by type and name."""

    def __init__(self) -> None:
        self.types: defaultdict[str, dict[str, Resource]] = defaultdict(dict)
        self.users = UsersByName()
        self.clusters = Clusters(self.types[resources.CLUSTER], self.users)
        self.lacking: set[Name] = set()  # missing resources that parts need
        # The resources of which some Envoys or clients get another value.
        self.varied: defaultdict[str, set[str]] = defaultdict(set)
        self._versions: dict[str, dict[str, str]] = {}  # of types that have not changed since
        self.unwanted: set[Name] = set()  # removed by publication, but still needed
        # The parts that no Envoy has accepted yet, each with the value that was accepted last.
        self.last_accepted: dict[Name, dict[str, Part | None]] = {}
        self._pins: Counter[Name] = Counter()  # what the last accepted values need
        self._loose: set[Name] = set()  # those that have lost a user or a pin since `settled`
        self._edits: dict[Name, Edit] = {}

    def resource(self, name: Name) -> Resource | None:
        return self.types[name.type_url].get(name.name)

    def versions(self, type_url: str, names: Sequence[str]) -> Mapping[str, str]:
        """The versions of at least the existing ones of these resources, by name. If many are
        requested, those of all resources are returned, and cached for the next request."""
        known, resources = self._versions.get(type_url), self.types[type_url]
        if known is not None:
            return known
        if len(names) * 2 < len(resources):
            return {it: resources[it].version() for it in names if it in resources}
        known = {name: it.version() for name, it in resources.items()}
        self._versions[type_url] = known
        return known

    def apply(self, changes: Iterable[Change]) -> list[Edit]:
        """Applies a publication; returns the changes in the order in which Envoys get them."""
        newest = {(name, part): value for name, part, value in changes}
        removals: defaultdict[Name, list[str]] = defaultdict(list)
        wanted_again: defaultdict[Name, set[str]] = defaultdict(set)
        for (name, part), value in newest.items():
            if value is None:
                removals[name].append(part)
                continue
            if name in self.unwanted or name in wanted_again:
                self.unwanted.discard(name)
                wanted_again[name].add(part)
            self._put(name, part, value)
        for name, parts in wanted_again.items():
            removals[name] = [
                it for it in self.types[name.type_url][name.name].parts if it not in parts
            ]
        # A resource is removed before the ones that it needs.
        for name in sorted(removals, key=lambda it: -resources.RANK.get(it.type_url, 0)):
            self._remove(name, removals[name])
        return self.settled()

    def mark_accepted(self, name: Name, part: str) -> None:
        """Notes that an Envoy has accepted what is served; the former value is forgotten."""
        accepted = self.last_accepted[name].pop(part)
        if not self.last_accepted[name]:
            del self.last_accepted[name]
        self._unpin(accepted)

    def withdraw(
        self, name: Name, part: str, kept: Part | None, stand_in: Part | None = None
    ) -> list[Edit]:
        """Serves the last accepted value instead of a refused part, or its stand-in; `kept`, the
        value of the refusing Envoy, takes precedence."""
        instead = kept or self.last_accepted.get(name, {}).get(part) or stand_in
        resource = self.types[name.type_url][name.name]
        if instead is None and len(resource.parts) == 1:
            self._drop(name)
        else:
            self._replace(resource, part, instead)
        if kept is not None and part in self.last_accepted.get(name, ()):
            self.mark_accepted(name, part)
        return self.settled()

    def has_all(self, part: Part | None) -> bool:
        """Whether everything that a part needs, directly or not, is served."""
        found = [self.resource(need) for need in part.needs] if part else []
        return all(it and all(self.has_all(own) for own in it.parts.values()) for it in found)

    def bring_back(self, resource: Resource) -> None:
        """Serves a removed resource again, for as long as it is needed."""
        name = resource.name
        if self.resource(name) is not None:
            return
        self.types[name.type_url][name.name] = resource
        self._appear(resource)
        self.unwanted.add(name)
        self._loose.add(name)
        self._edits[name] = Edit(resource, is_new=True)
        for part, value in resource.parts.items():
            self._rewire((name, part), None, value)

    def settled(self) -> list[Edit]:
        """Removes resources that are no longer needed; returns the changes since the last call."""
        while self._loose:
            name = self._loose.pop()
            if name in self.unwanted and not self._is_needed(name):
                self._drop(name)
        edits, self._edits = self._edits, {}
        for name in edits if self._versions else ():
            self._versions.pop(name.type_url, None)
        return sorted(edits.values(), key=_order)

    def _put(self, name: Name, part: str, value: Part) -> None:
        resource = self.resource(name)
        if resource is None:
            resource = self.types[name.type_url][name.name] = Resource(name)
            self._appear(resource)
            self._edits[name] = Edit(resource, is_new=True)
        self._replace(resource, part, value)

    def _appear(self, resource: Resource) -> None:
        """Notes a new resource."""
        self.lacking.discard(resource.name)
        self._note_varied(resource)

    def _note_varied(self, resource: Resource) -> None:
        varied = self.varied[resource.name.type_url]
        if resource.varied:
            varied.add(resource.name.name)
        else:
            varied.discard(resource.name.name)

    def _remove(self, name: Name, parts: list[str]) -> None:
        resource = self.resource(name)
        if resource is None or name in self.unwanted:
            return
        there = [part for part in parts if part in resource.parts]
        if len(there) < len(resource.parts):
            for part in there:
                self._replace(resource, part, None)
        elif self._is_needed(name):
            self.unwanted.add(name)
        else:
            self._drop(name)

    def _replace(self, resource: Resource, part: str, value: Part | None) -> None:
        before = resource.put(part, value)
        self._note_varied(resource)
        self._rewire((resource.name, part), before, value)
        if not resources.is_same(before, value):
            edit = self._edits.setdefault(resource.name, Edit(resource))
            edit.before.setdefault(part, before)
            self._remember(resource.name, part, before, value)

    def _remember(self, name: Name, part: str, before: Part | None, value: Part | None) -> None:
        accepted = self.last_accepted.setdefault(name, {})
        if part not in accepted:
            accepted[part] = before
            self._pins.update(before.needs if before else ())
        elif resources.is_same(accepted[part], value):
            self.mark_accepted(name, part)

    def _unpin(self, part: Part | None) -> None:
        for name in part.needs if part else ():
            self._pins[name] -= 1
            if not self._pins[name]:
                del self._pins[name]
                self._loose.add(name)

    def _drop(self, name: Name) -> None:
        """Removes a whole resource; the object keeps its parts, for Envoys that still have it."""
        resource = self.types[name.type_url].pop(name.name)
        self.unwanted.discard(name)
        self.varied[name.type_url].discard(name.name)
        if name in self.users:
            self.lacking.add(name)
        self._edits[name] = Edit(resource, is_gone=True)
        for part, value in resource.parts.items():
            self._rewire((name, part), value, None)
        for accepted in self.last_accepted.pop(name, {}).values():
            self._unpin(accepted)

    def _rewire(self, user: PartKey, before: Part | None, now: Part | None) -> None:
        if user[0].type_url == resources.CLUSTER:
            self.clusters.forget()
        had, has = before.needs if before else (), now.needs if now else ()
        if had == has:
            return
        for name in {*has}.difference(had):
            self.users.add(name, user)
            if self.resource(name) is None:
                self.lacking.add(name)
        for name in {*had}.difference(has):
            self.users.discard(name, user)
            if name not in self.users:
                self.lacking.discard(name)
                self._loose.add(name)

    def origins(self, name: Name, part: str) -> tuple[Origin, ...]:
        """The objects whose statuses show a refusal of a part: its own, and those of its users."""
        concerned = {(name, part), *self.users.of(name)}
        found = ((self.resource(it), of) for it, of in concerned)
        parts = (resource.parts.get(of) for resource, of in found if resource)
        return tuple(sorted({origin for it in parts if it for origin in it.origins}))

    def _is_needed(self, name: Name) -> bool:
        return name in self.users or name in self._pins


def _order(edit: Edit) -> tuple[bool, int]:
    """Sorts changes: additions first, a resource before its users; then removals in reverse
    order."""
    rank = resources.RANK.get(edit.name.type_url, len(resources.ORDER))
    return (True, -rank) if edit.is_gone else (False, rank)
