"""What an API server calls a resource, and the paths below which it is found.

For everybody who asks an API server for something (Kubernetes API concepts, "Resource URIs"). Which
kinds there are is known elsewhere: to this package a resource is four words.
"""

from typing import NamedTuple


class Resource(NamedTuple):
    """A collection of objects of one kind, in one version."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As objects of it say of themselves."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """Where all resources of its group and version are."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Of the collection, of an object in it, or of a part of that object.

        Without a namespace the collection is that of all namespaces.
        """
        where = ("namespaces", namespace) if self.namespaced and namespace else ()
        return "/".join((self.root, *where, self.plural, *filter(None, (name, subresource))))

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural
