"""Values of Secrets that are requested by name, whatever they contain.

Only few entries of Secrets are kept (`entries`), so for a value that is wanted later, its Secret
has to be listed again. The watch goes on meanwhile: if it reports the Secret while the list is
under way, the Secret is listed once more. A later report that is older than the list is not taken,
but the Secret is listed again: an API server that was restored from a backup has older versions.
"""

from collections.abc import Callable, Mapping, Sequence

from contour.kubernetes import scope
from crds.meta import NamespacedName
from crds.raw import at, is_mapping, items
from kube.client import Client
from kube.resources import Resource
from kube.versioncache import Delta, Key, number
from kube.workqueue import Requeue, WorkQueue

_SECRETS = Resource("", "v1", "secrets")


class Values:
    """The wanted values, and whether they have been read."""

    def __init__(
        self, client: Client, within: scope.Scope, take: Callable[[Sequence[Delta]], None]
    ) -> None:
        self._client = client
        self._within = within
        self._take = take
        self._wanted: dict[Key, frozenset[str]] = {}
        self._told: dict[Key, int] = {}
        # How often the watch has reported a wanted Secret.
        self._read: dict[Key, int] = {}
        # The resourceVersion of what was listed here.
        self._queue = WorkQueue[Key]()

    @property
    def wanted(self) -> Mapping[Key, frozenset[str]]:
        """The keys whose values are wanted, by Secret."""
        return self._wanted

    def want(self, secret: NamespacedName, keys: frozenset[str]) -> None:
        """Sets which keys of a Secret are wanted from now on."""
        key = Key(*secret)
        before = self._wanted.get(key, frozenset())
        if keys:
            self._wanted[key] = keys
        else:
            for kept in (self._wanted, self._told, self._read):
                kept.pop(key, None)
        if keys - before and self._is_within(key.namespace):
            self._queue.add(key)

    def heard(self, news: Sequence[Delta]) -> Sequence[Delta]:
        """The reports of a watch of Secrets, without those that are older than a list."""
        if not self._wanted:
            return news
        return [it for it in news if it.key not in self._wanted or self._is_news(it)]

    async def run(self) -> None:
        """Lists what is wanted. Never ends."""
        await self._queue.run(self._list)

    def _is_within(self, namespace: str) -> bool:
        return not self._within.namespaces or namespace in {
            *self._within.namespaces,
            self._within.own,
        }

    def _is_news(self, found: Delta) -> bool:
        self._told[found.key] = self._told.get(found.key, 0) + 1
        if found.object is None:
            self._read.pop(found.key, None)
            return True
        version = number(str(at(found.object, "metadata", "resourceVersion")))
        is_newest = version >= self._read.get(found.key, 0)
        if not is_newest:
            self._queue.add(found.key)
        return is_newest

    async def _list(self, key: Key) -> bool:
        if key not in self._wanted:
            return False
        told = self._told.get(key, 0)
        params = {"fieldSelector": f"metadata.name={key.name},type=Opaque"}
        found = await self._client.get(_SECRETS.path(key.namespace), params)
        if told != self._told.get(key, 0):
            raise Requeue("it has changed meanwhile")
        for it in filter(is_mapping, items(found.get("items"))):
            if key in self._wanted:
                self._read[key] = number(str(at(it, "metadata", "resourceVersion")))
                self._take([Delta(key, it)])
        return False
