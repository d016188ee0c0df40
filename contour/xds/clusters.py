"""Which clusters need which resources, found once for all Envoys that report the same resources.

Envoys that reconnect report thousands of names at once, nearly all of them the same ones. The
result for many names is cached, by type, until a cluster changes; for few names it is computed each
time.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from contour.xds.resources import CLUSTER, Name, Part, Resource
from contour.xds.users import UsersByName

_MANY = 256

_T = TypeVar("_T")


class Split(NamedTuple):
    """Clusters, split by whether Envoy warms them before it uses them."""

    warming: tuple[Name, ...]
    others: tuple[Name, ...]


class Users(NamedTuple):
    """Clusters that need some of the resources, split by whether they need nothing else."""

    alone: tuple[Name, ...]
    others: tuple[Name, ...]


class Clusters:
    """The clusters of one fleet."""

    def __init__(self, published: Mapping[str, Resource], users: UsersByName) -> None:
        self._published = published
        self._users = users
        self._splits = _Newest[Split]()
        self._found = _Newest[Users]()

    def split(self, names: Collection[str]) -> Split:
        """The existing ones of these clusters."""
        return self._splits.get(CLUSTER, names, self._split)

    def users(self, type_url: str, names: Collection[str]) -> Users:
        """The clusters that need some of these resources; those with health checks are left out,
        because what they need does not tell when they are ready."""
        return self._found.get(type_url, names, lambda it: self._using(type_url, it))

    def forget(self) -> None:
        """Drops cached results, because a cluster changes."""
        self._splits.forget()
        self._found.forget()

    def parts(self, names: Iterable[str]) -> Iterator[tuple[Name, Part]]:
        """The existing ones of these clusters, each with its only part."""
        for it in names:
            resource = self._published.get(it)
            part = resource.parts.get("") if resource else None
            if resource and part:
                yield resource.name, part

    def _split(self, names: Collection[str]) -> Split:
        warming: list[Name] = []
        others: list[Name] = []
        for name, part in self.parts(names):
            (warming if part.warms else others).append(name)
        return Split(tuple(warming), tuple(others))

    def _using(self, type_url: str, names: Collection[str]) -> Users:
        needs = [Name(type_url, it) for it in names]
        users = {user for it in needs for user, _ in self._users.of(it)}
        clusters = sorted(it.name for it in users if it.type_url == CLUSTER)
        known = frozenset(needs)
        alone: list[Name] = []
        others: list[Name] = []
        for name, part in self.parts(clusters):
            if not part.health_checked:
                (alone if known.issuperset(part.needs) else others).append(name)
        return Users(tuple(alone), tuple(others))


class _Newest(Generic[_T]):
    """The result of the last request with many names, for each type."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[frozenset[str], _T]] = {}

    def get(
        self, type_url: str, names: Collection[str], found: Callable[[Collection[str]], _T]
    ) -> _T:
        if len(names) < _MANY:
            return found(names)
        asked = frozenset(names)
        known = self._known.get(type_url)
        if known is None or known[0] != asked:
            known = self._known[type_url] = (asked, found(names))
        return known[1]

    def forget(self) -> None:
        if self._known:
            self._known = {}
