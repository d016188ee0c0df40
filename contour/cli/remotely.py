"""Asks instances in a cluster, through its API server, for commands."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypedDict, TypeVar

import click

from contour.cli import output
from contour.cli.source import Source, require_cluster
from contour.remote import asking, instances
from contour.remote.asking import Unanswered
from contour.remote.instances import Instance, NoInstance
from kube import access
from kube.client import Client
from kube.credentials import AccessError
from kube.errors import RequestError
from observability import failures

T = TypeVar("T")

FAILURES = (AccessError, NoInstance, RequestError, Unanswered)
"""What can go wrong, each with one line for the user."""


def asked(source: Source, name: str, question: str | None = None) -> Any:
    """The answer of the leader of the instance; ends the program if there is none."""

    async def ask(client: Client) -> object:
        instance = await instances.one(client, source.namespace, source.instance)
        found = await instances.leader(client, instance)
        _tell(source, instance, found)
        return await asking.asked(client, instance, found.replica, name, question)

    return connected(source, ask)


def everywhere(source: Source, name: str) -> Mapping[str, Any]:
    """The same page of each ready replica, by its pod; says which do not answer.

    Ends the program if none does.
    """

    async def ask(client: Client) -> dict[str, object]:
        instance = await instances.one(client, source.namespace, source.instance)
        _tell(source, instance, await instances.leader(client, instance))
        found: dict[str, object] = {}
        failed: Exception | None = None
        for it in (it for it in instance.replicas if it.is_ready):
            try:
                found[it.pod] = await asking.asked(client, instance, it, name, None)
            except (RequestError, Unanswered) as error:
                failed = error
                output.say(f"contour: {it} is left out: {error}", err=True)
        if not found and failed is not None:
            raise failed
        return found

    return connected(source, ask)


def connected(source: Source, work: Callable[[Client], Awaitable[T]]) -> T:
    """Does some work with an API server; ends the program if that is not possible."""

    async def run() -> T:
        found = access.found(source.kubeconfig, source.kube_context or None)
        async with Client(found, "contour-cli") as client:
            return await work(client)

    with failures.fatal(*FAILURES):
        return asyncio.run(run())
    raise AssertionError  # the process has ended


def _tell(source: Source, instance: Instance, found: instances.Leader) -> None:
    """Says which instance is asked, unless an option names it, and what may be missing in the
    answer."""
    if not source.is_cluster:
        click.echo(
            f"contour: no `contour run` runs here; this is the instance {instance} of the "
            "kubeconfig's cluster",
            err=True,
        )
        require_cluster(click.get_current_context())  # so that it is said only once
    if not found.is_certain:
        click.echo(
            f"contour: which replica leads cannot be told; {found.replica} is asked, which may "
            "not know what Envoys of other replicas say",
            err=True,
        )


class Versions(TypedDict):
    """The versions of packages of a replica."""

    instance: str
    namespace: str
    pod: str
    image: str
    versions: dict[str, str]
    why: str
    """Why they are not known, if they are not."""


def versions(source: Source) -> list[Versions]:
    """The versions of each replica of the chosen instances, ready or not."""

    async def ask(client: Client) -> list[Versions]:
        found = await instances.every(client, source.namespace)
        chosen = [it for it in found if source.instance in {"", it.name}]
        return [await _versions(client, it, replica) for it in chosen for replica in it.replicas]

    return connected(source, ask)


async def _versions(client: Client, of: Instance, replica: instances.Replica) -> Versions:
    found: dict[str, str] = {}
    why = ""
    try:
        async with asking.opened(client, of, replica) as conversation:
            found = await conversation.version()
            why = "" if found else "it is of a version that does not tell"
    except (RequestError, Unanswered) as error:
        why = str(error)
    return {
        "instance": str(of),
        "namespace": replica.namespace,
        "pod": replica.pod,
        "image": replica.image,
        "versions": found,
        "why": why,
    }
