"""Releases of Envoy: reading them from a node, and comparing them."""

from typing import NamedTuple

from envoy.config.core.v3.base_pb2 import Node


class Release(NamedTuple):
    """A release of Envoy, such as 1.40.2. Releases are ordered by number."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @staticmethod
    def of(node: Node) -> "Release | None":
        """The release that an xDS node reports (`user_agent_build_version`); None if it reports
        none."""
        found = node.user_agent_build_version.version
        said = Release(found.major_number, found.minor_number, found.patch)
        return said if said > Release(0, 0) else None


def written(release: Release | None) -> str:
    """The release as text; empty if it is not known."""
    return "" if release is None else str(release)
