"""Reads the objects that an instance reads, once, with the rights of the user.

Collections, selectors and excerpts are the same as in `contour serve`; but nothing is watched, and
what may not be read is reported and left out.
"""

from collections.abc import AsyncIterator
from typing import NamedTuple

from contour.events import Batch
from contour.kubernetes import scope
from contour.kubernetes.objects import Objects
from contour.kubernetes.scope import Scope, Source
from contour.remote.instances import Instance
from crds import raw
from crds.kinds import IN_CLUSTERS
from crds.raw import Raw
from kube import errors, listing
from kube.client import LIST_TIMEOUT, Client
from kube.discovery import Discovery
from kube.resources import Resource
from kube.versioncache import Delta, Key

_PAGE = 500  # objects


class Found(NamedTuple):
    """The objects of a cluster."""

    batch: Batch
    left_out: tuple[str, ...]
    """A line for each collection that could not be read."""
    refused: frozenset[str] = frozenset()
    """The kinds of which a collection could not be read."""


class Collected(NamedTuple):
    """One collection, or why it could not be read."""

    source: Source
    resource: Resource
    items: tuple[Raw, ...]
    refusal: str = ""


async def read(client: Client, of: Instance | None) -> Found:
    """All objects that an instance reads; without an instance, all that it might read. Raises
    `errors.RequestError`."""
    objects, left_out, refused = Objects(), list[str](), set[str]()
    async for it in collections(client, of):
        if it.refusal:
            left_out.append(_told(it))
            refused.add(it.source.kind.kind)
        deltas = [Delta(_key(found), found) for found in it.items]
        objects.take(it.source.kind, deltas)
    return Found(objects.batch(), tuple(left_out), frozenset(refused))


async def collections(
    client: Client, of: Instance | None, without: frozenset[str] = frozenset()
) -> AsyncIterator[Collected]:
    """Each served collection, as in the API server, without some kinds. Raises
    `errors.RequestError`."""
    within = Scope(of.watched, of.namespace) if of is not None else Scope()
    discovery = Discovery(client, good_for=60.0)
    kinds = [it for it in IN_CLUSTERS if it.kind not in without]
    for it in scope.sources(within, kinds):
        wanted = it.collection.wanted
        try:
            resource = await discovery.resource(wanted)
        except errors.Refused as error:
            if error.code != 403:
                raise
            resource = wanted.resources[0]
        if resource is None:
            continue
        try:
            items = [item async for item in _listed(client, it, resource)]
            yield Collected(it, resource, tuple(items))
        except errors.Refused as error:
            if error.code not in {401, 403, 404}:
                raise
            if error.code != 404:
                yield Collected(it, resource, (), error.message or str(error))


async def _listed(client: Client, of: Source, resource: Resource) -> AsyncIterator[Raw]:
    """All objects, page by page; if a page expires, all at once from the beginning."""
    for limit in (_PAGE, 0):
        path = resource.path(of.collection.namespace)
        options = listing.ListOptions(path, of.collection.params, limit, LIST_TIMEOUT)
        found: list[Raw] = []
        try:
            page = await listing.page(client, options)
            found += filter(raw.is_mapping, page.items)
            while page.token:
                page = await listing.page(client, options, page.token)
                found += filter(raw.is_mapping, page.items)
        except errors.Refused as error:
            if error.code != 410 or not limit:
                raise
            continue
        for it in found:
            yield it
        return


def _key(found: Raw) -> Key:
    metadata = raw.mapping(found.get("metadata"))
    return Key(str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))


def _told(it: Collected) -> str:
    namespace = it.source.collection.namespace
    where = f" of namespace {namespace}" if namespace else ""
    what = f"warning: {it.resource}{where} may not be read, so there are none here: {it.refusal}"
    if it.source.kind.kind == "Secret":
        return f"{what}; hosts with TLS are answered as if their Secrets were missing"
    return what
