"""A virtual host for older Envoys: without what they would refuse, route by route.

They would refuse a whole RouteConfiguration for one such route. Elsewhere: which release a feature
needs, and the messages (`dag.releases`).
"""

from functools import lru_cache

from contour.xds.releases import Release
from crds.records import replace
from dag import nodes, releases

BUILT_FOR = Release(*releases.BUILT_FOR)

SINCE = Release(*releases.NEWER_SINCE)
"""Envoys from this release on load everything."""


def for_older(host: nodes.VirtualHost) -> nodes.VirtualHost | None:
    """The host without what needs a newer Envoy; None if nothing does."""
    if not _is_new(host.policies) and not any(_is_new(it.policies) for it in host.routes):
        return None
    routes = tuple(replace(it, policies=_without(it.policies)) for it in host.routes)
    return replace(host, policies=_without(host.policies), routes=routes)


def _is_new(found: nodes.Policies | None) -> bool:
    return found is not None and any(getattr(found, it) is not None for it in releases.NEWER)


@lru_cache(maxsize=4096)
def _without(found: nodes.Policies | None) -> nodes.Policies | None:
    """Without each of `releases.NEWER`."""
    return replace(found, error_pages=None, compressors=None) if found is not None else None
