"""Gathers data from an instance in a cluster, with the user's rights, and notes what these do not
permit."""

import asyncio
import http.client
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from contour.collecting import redaction
from contour.collecting.archive import Archive
from contour.inspection import connections
from contour.remote import asking, instances, objects
from contour.remote.asking import Unanswered
from contour.remote.instances import Instance
from crds import raw
from crds.raw import Raw
from kube import errors, portforward
from kube.client import Client
from kube.portforward import PODS
from kube.resources import Resource

Progress = Callable[[str], None]

LINES = 5_000
"""The last lines of each container's log."""
_PAGES = ("version", "objects", "config", "replicas", "findings", "cluster")
_EVENTS = Resource("", "v1", "events")
_FAILURES = (errors.RequestError, Unanswered, OSError, http.client.HTTPException, UnicodeError)


async def gather(client: Client, of: Instance, into: Archive, progress: Progress) -> None:
    """Puts everything into the archive."""
    progress("objects")
    await _objects(client, of, into)
    for it in of.replicas:
        progress(str(it))
        await _replica(client, of, it, into)
    progress("pods and logs")
    async with _noted(into, f"pods of namespace {of.namespace}"):
        found = await client.list_page(PODS.path(of.namespace), {"labelSelector": instances.LABELS})
        for pod in filter(raw.is_mapping, raw.items(found.get("items"))):
            progress(str(raw.at(pod, "metadata", "name")))
            await _pod(client, pod, into)
    async with _noted(into, f"events of namespace {of.namespace}"):
        found = await client.list_page(_EVENTS.path(of.namespace))
        into.data("events.json", raw.items(found.get("items")))


async def _objects(client: Client, of: Instance, into: Archive) -> None:
    async with _noted(into, "objects"):
        async for it in objects.collections(client, of, without=frozenset({"Secret"})):
            where = it.source.collection.namespace
            name = f"{it.resource}.{where}" if where else str(it.resource)
            if it.refusal:
                into.lacks(name, it.refusal)
                continue
            kind = {"apiVersion": it.resource.api_version, "kind": it.source.kind.kind}
            into.data(f"objects/{name}.json", [redaction.thing({**kind, **x}) for x in it.items])


async def _replica(client: Client, of: Instance, replica: instances.Replica, into: Archive) -> None:
    async with _noted(into, str(replica)), asking.opened(client, of, replica) as conversation:
        for page in _PAGES:
            async with _noted(into, f"{replica}, /debug/{page}"):
                into.data(f"replicas/{replica.pod}/{page}.json", await conversation.ask(page))


async def _pod(client: Client, pod: Raw, into: Archive) -> None:
    namespace, name = (str(raw.at(pod, "metadata", it)) for it in ("namespace", "name"))
    into.data(f"pods/{name}/pod.json", redaction.thing({"kind": "Pod", **pod}))
    for container in raw.items(raw.at(pod, "spec", "containers")):
        shown = str(raw.at(container, "name"))
        async with _noted(into, f"log of {namespace}/{name}, container {shown}"):
            into.log(f"pods/{name}/{shown}.log", await _log(client, namespace, name, shown))
        for port in raw.items(raw.at(container, "ports")):
            number = raw.at(port, "containerPort")
            if raw.at(port, "name") == "metrics" and isinstance(number, int):
                path = "/metrics" if shown == "contour" else "/stats/prometheus"
                async with _noted(into, f"metrics of {namespace}/{name}"):
                    numbers = await _page(client, (namespace, name, number), path)
                    into.numbers(f"pods/{name}/metrics.txt", numbers)


async def _log(client: Client, namespace: str, pod: str, container: str) -> str:
    params = {"container": container, "tailLines": str(LINES), "timestamps": "true"}
    lines: list[bytes] = []
    async with client.stream(PODS.path(namespace, pod, "log"), params) as arrived:
        async for some in arrived:
            lines += some
    return b"\n".join(it.rstrip(b"\n") for it in lines).decode(errors="replace")


async def _page(client: Client, where: tuple[str, str, int], path: str) -> bytes:
    async with portforward.opened(client, *where) as connected:
        reply = await asyncio.to_thread(connections.Connection(connected).ask, path)
    if reply.status != http.client.OK:
        raise Unanswered(f"answers {reply.status} to {path}")
    return reply.body


@asynccontextmanager
async def _noted(into: Archive, what: str) -> AsyncGenerator[None]:
    """Within the context, errors are noted and do not end the collection: a bug report is most
    needed when not everything works."""
    try:
        yield
    except _FAILURES as error:
        into.lacks(what, error)
