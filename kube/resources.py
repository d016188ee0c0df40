"""Resources of an API server, and their paths.

For all requests to an API server (Kubernetes API concepts, "Resource URIs"). The kinds are defined
elsewhere: in this package a resource is group, version, name and scope.
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
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path of all resources of its group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of the collection, of an object in it, or of a subresource of that object.

        Without a namespace the collection is that of all namespaces.
        """
        where = ("namespaces", namespace) if self.namespaced and namespace else ()
        return "/".join((self.root, *where, self.plural, *filter(None, (name, subresource))))

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural
