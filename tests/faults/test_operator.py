"""F65, F67 to F70: operators are frozen, killed, refused, and work on what others have changed.

The operator is a process with the rights that are shipped, the API server a real one without nodes;
Leases last 4 s, and what each operator asks for is seen by a proxy. Scripts block, like the tests
whose rigs they use, and so each has a thread. What the suite proves is not here: README.md.
"""

import asyncio
import functools
import itertools
import signal
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from tests.cluster import prepared
from tests.cluster.cluster import Cluster, default_crds
from tests.contour.infrastructure import crash_harness
from tests.faults.rows import Limit, Run, fault
from tests.operator import operators
from tests.operator.operators import Rig
from tests.operator.proxy import Proxy, Request
from tests.testbed.apiserver import RefusedError
from tests.testbed.commands import write_kubeconfig
from tests.testbed.processes import Process
from tests.testbed.programs import is_frozen

Raw = dict[str, Any]
Where = TypeVar("Where")

NOTHING = Limit("", 0)
GONE, TAKEN, COMPLETE = Limit("s", 20), Limit("s", 12), Limit("s", 20)


class Site(NamedTuple):
    """A cluster without nodes, with our CRDs."""

    cluster: Cluster
    folder: Path

    @contextmanager
    def home(self) -> Iterator[Rig]:
        """For the operators of one run, and a namespace for their instances."""
        with (
            operators.granted(self.cluster, self.folder) as found,
            operators.in_a_namespace(found) as rig,
        ):
            yield rig


@asynccontextmanager
async def clustered() -> AsyncIterator[Site]:
    """Nothing of ours runs."""
    with ExitStack() as stack:
        path = stack.enter_context(tempfile.TemporaryDirectory(prefix="faults-"))
        starting = prepared.running(Path(path, "cluster"), *default_crds())
        cluster = await asyncio.to_thread(stack.enter_context, starting)
        yield Site(cluster, Path(path))


@asynccontextmanager
async def operated() -> AsyncIterator[Rig]:
    """With an operator, for namespaces whose names begin as its rig says."""
    async with clustered() as site:
        with operators.granted(site.cluster, site.folder) as rig:
            rig.start(f"--watch-namespaces={rig.prefix}-*")
            yield rig


def blocking(script: Callable[[Run, Where], None]) -> Callable[[Run, Where], Awaitable[None]]:
    """A script in a thread of its own."""

    @functools.wraps(script)
    def called(run: Run, where: Where) -> Awaitable[None]:
        return asyncio.to_thread(script, run, where)

    return called


@fault("f65-later", operated, patience=120, changed=NOTHING, left=NOTHING)
@blocking
def name_of_a_child_taken(run: Run, site: Rig) -> None:
    """While the operator is frozen a child is replaced by somebody else's object of that name."""
    with operators.in_a_namespace(site) as rig:
        rig.configure()
        rig.until_provisioned()
        child = run.chance.choice([*rig.children().values()])
        metadata = child["metadata"]
        their = child | {
            "metadata": {it: metadata[it] for it in ("name", "namespace") if it in metadata}
        }
        (process,) = rig.operators
        process.send(signal.SIGSTOP)
        try:
            rig.until(lambda: is_frozen(process.pid))
            rig.cluster.delete(child)
            rig.until(lambda: rig.is_gone(child))
            their = rig.cluster.create(their)
        finally:
            process.send(signal.SIGCONT)
        rig.until(lambda: rig.reason() == "NotOwned")
        message = rig.condition("Provisioned")["message"]
        run.prove("told", message)
        run.expect(f"{their['kind']} " in message and metadata["name"] in message, "not named")
        # The certificates of an instance are renewed together: with one that is taken, all wait.
        waiting = "Secret" if child["kind"] == "Secret" else ""
        others = [it for it in rig.children().values() if it["kind"] != waiting]
        other = run.chance.choice(others)
        run.prove("removed", f"{other['kind']} {other['metadata']['name']}")
        rig.cluster.delete(other)
        rig.until(lambda: not rig.is_gone(other))
        _remove(rig)
        run.figures["changed"] = _essence(their) != _essence(rig.cluster.get(their))
        run.figures["left"] = len(rig.children())


def _essence(obj: Raw) -> Raw:
    """What anybody but the controllers of the cluster, who write statuses, can change."""
    metadata = obj["metadata"]
    kept = {it: metadata.get(it) for it in ("uid", "labels", "ownerReferences", "finalizers")}
    notes = {**metadata.get("annotations", {})}
    notes.pop("deployment.kubernetes.io/revision", None)
    entries = (it for it in metadata["managedFields"] if it.get("subresource") != "status")
    writers = {it["manager"] for it in entries} - {"kube-controller-manager"}
    content = {key: it for key, it in obj.items() if key not in {"metadata", "status"}}
    return content | kept | {"annotations": notes, "writers": writers}


@fault("f67", operated, patience=120, gone=GONE, left=NOTHING)
@blocking
def removed_with_parts_gone(run: Run, site: Rig) -> None:
    """Children or a watched namespace are gone, its namespace goes, or everything at once."""
    with operators.in_a_namespace(site) as rig:
        watched = rig.cluster.namespace("watched")
        rig.configure(contour={"watchNamespaces": [watched]})
        rig.until_provisioned()
        ways = run.chance.sample(_WAYS, run.chance.randint(1, len(_WAYS)))
        run.prove("ways", ways)
        if "watched" in ways:
            rig.cluster.delete(operators.namespace(watched))
        if "namespace" in ways:
            rig.cluster.delete(operators.namespace(rig.namespace))
        start = time.monotonic()
        _deleted(rig, rig.configuration())
        if "children" in ways:
            for it in rig.children().values():
                _deleted(rig, it)
        rig.until(lambda: rig.is_gone(rig.configuration()))
        run.figures["gone"] = time.monotonic() - start
        if "namespace" in ways:
            rig.until(lambda: not rig.children())
        run.figures["left"] = len(rig.children())
        _deleted(rig, operators.namespace(watched))


_WAYS = ("children", "namespace", "watched")


@fault("f68-fleet", clustered, patience=120, gone=Limit("s", 40), left=NOTHING)
async def deletions_of_a_fleet_answered_with_errors(run: Run, site: Site) -> None:
    """500 at deletions of the fleet of a Gateway that is gone: once, in a row, or at random."""
    proxy, namespace = Proxy(site.cluster), site.cluster.namespace("fleet")
    with proxy.running():
        rig = crash_harness.installed(site.cluster, namespace)
        await rig.live(rig.own, crash_harness.kept(rig.own))
        run.prove("made", len(rig.made(rig.own)) >= 6)
        token = site.cluster.token(namespace, "leader")
        authority = site.cluster.authority
        write_kubeconfig(Path(rig.config), proxy.url, token, namespace, authority)
        refused: list[str] = []
        proxy.refuse = functools.partial(_refuses, _chosen(run.chance, 3), refused)
        start = time.monotonic()
        await rig.live(rig.own, crash_harness.removed)
        await crash_harness.until_gone(rig, rig.own)
        run.figures["gone"] = time.monotonic() - start
        run.prove("refused", refused)
        run.figures["left"] = len(rig.made(rig.own))
    site.cluster.delete(operators.namespace(namespace))


def _chosen(chance: Random, last: int) -> Callable[[], bool]:
    """Which of the deletions are refused."""
    first, number, is_random = chance.randint(0, last), chance.randint(1, 4), chance.random() < 0.4
    count, refused = itertools.count(), range(first, first + number)

    def is_next_refused() -> bool:
        at = next(count)
        return at < 40 and (at == first or (chance.random() < 0.3 if is_random else at in refused))

    return is_next_refused


def _refuses(is_next_refused: Callable[[], bool], refused: list[str], request: Request) -> bool:
    if request.method != "DELETE" or not is_next_refused():
        return False
    refused.append(request.path)
    return True


@fault(
    "f69",
    clustered,
    patience=120,
    taken_over=TAKEN,
    complete=COMPLETE,
    written_by_both=NOTHING,
)
@blocking
def operator_frozen(run: Run, site: Site) -> None:
    """Within its writes, for longer than its Lease; awake again it writes nothing."""
    one, two = Proxy(site.cluster), Proxy(site.cluster)
    with site.home() as rig, one.running(), two.running():
        first = _stopped_within_writes(run, rig, (one, two), signal.SIGSTOP)
        written = _writes(one)
        _taken_over(run, rig, two)
        run.prove("frozen", is_frozen(first.pid))
        first.send(signal.SIGCONT)
        asked = len(one.requests)
        rig.until(lambda: len(one.requests) > asked)  # it is awake
        rig.configure(contour={"replicas": run.chance.randint(3, 9)})
        rig.until(lambda: _is_told(rig))
        rig.until(lambda: len(one.requests) > asked + 3)
        run.figures["written_by_both"] = _writes(one) - written


@fault("f69-killed", clustered, patience=120, taken_over=TAKEN, complete=COMPLETE)
@blocking
def operator_killed(run: Run, site: Site) -> None:
    """Within its writes, without a goodbye."""
    one, two = Proxy(site.cluster), Proxy(site.cluster)
    with site.home() as rig, one.running(), two.running():
        first = _stopped_within_writes(run, rig, (one, two), signal.SIGKILL)
        _taken_over(run, rig, two)
        run.prove("killed", first.wait() == -signal.SIGKILL)


def _stopped_within_writes(
    run: Run, rig: Rig, proxies: tuple[Proxy, Proxy], number: signal.Signals
) -> Process:
    """The one that acts; the other one waits for its Lease."""
    first = rig.start(proxy=proxies[0])
    rig.until(
        lambda: any("/leases" in it.path and it.method != "GET" for it in proxies[0].requests)
    )
    rig.start(proxy=proxies[1])
    rig.until(lambda: any("/leases" in it.path for it in proxies[1].requests))
    left, stopped = run.chance.randint(1, 12), threading.Event()

    def answered(request: Request, code: int) -> None:
        nonlocal left
        left -= request.is_write and code < 400
        if not left and not stopped.is_set():
            first.send(number)
            stopped.set()

    proxies[0].answered = answered
    rig.configure()
    rig.until(stopped.is_set)
    run.expect(not _writes(proxies[1]), "both have acted")
    return first


def _taken_over(run: Run, rig: Rig, proxy: Proxy) -> None:
    start = time.monotonic()
    run.figures["taken_over"] = rig.until(lambda: _writes(proxy))
    rig.until(lambda: _is_told(rig))
    run.figures["complete"] = time.monotonic() - start


def _writes(proxy: Proxy) -> int:
    return sum(it.is_write for it in proxy.requests)


def _is_told(rig: Rig) -> bool:
    """All is there, as the configuration has it now."""
    generation = rig.cluster.get(rig.configuration())["metadata"]["generation"]
    condition = rig.condition("Provisioned")
    is_newest = condition.get("observedGeneration") == generation
    return is_newest and condition.get("status") == "True"


@fault("f70", operated, patience=120, touched=NOTHING, made_anew=NOTHING, resumed=Limit("s", 10))
@blocking
def instance_handed_over(run: Run, site: Rig) -> None:
    """Without `spec.contour` the operator has no say, until that is there again."""
    with operators.in_a_namespace(site) as rig:
        rig.configure()
        rig.until_provisioned()
        made = rig.children()
        _merge(rig, rig.configuration(), {"spec": {"contour": None}})
        rig.until(lambda: not rig.finalizers())
        edited, removed = run.chance.sample(sorted(made), 2)
        _merge(rig, made[edited], {"metadata": {"annotations": {"example.com/mine": "1"}}})
        rig.cluster.delete(made[removed])
        before = rig.children()
        run.prove("removed", removed not in before)
        _wait_for_another(rig)
        run.figures["touched"] = _differing(before, rig.children())
        rig.configure()
        run.figures["resumed"] = rig.until_provisioned()
        kept = {key: it for key, it in rig.children().items() if key != removed}
        run.figures["made_anew"] = sum(_uid(it) != _uid(made[key]) for key, it in kept.items())
        run.expect(rig.children().keys() == made.keys(), "not all is there again")
        _remove(rig)


def _wait_for_another(rig: Rig) -> None:
    """Another configuration, which the operator gets after all that was before."""
    with operators.in_a_namespace(rig) as other:
        other.configure()
        other.until_provisioned()
        _remove(other)


def _differing(before: dict[Any, Raw], after: dict[Any, Raw]) -> int:
    """Objects that were made, removed or written to."""
    keys = before.keys() & after.keys()
    written = sum(_essence(before[it]) != _essence(after[it]) for it in keys)
    return written + len(before.keys() ^ after.keys())


def _uid(obj: Raw) -> str:
    return str(obj["metadata"]["uid"])


def _remove(rig: Rig) -> None:
    """Deletes the configuration, and waits until it is gone."""
    rig.cluster.delete(rig.configuration())
    rig.until(lambda: rig.is_gone(rig.configuration()))


def _deleted(rig: Rig, obj: Raw) -> None:
    """Unless it is gone already."""
    try:
        rig.cluster.delete(obj)
    except RefusedError as error:
        if error.code != 404:
            raise


def _merge(rig: Rig, obj: Raw, change: Raw) -> None:
    """A JSON merge patch, as somebody else."""
    media, path = "application/merge-patch+json", rig.cluster.path(obj)
    rig.cluster.ask("PATCH", path, change, media, fieldManager="kubectl-edit")
