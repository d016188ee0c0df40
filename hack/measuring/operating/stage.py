"""What rows of the operator and of fleets stand on: an API server, a home with rights, namespaces.

Rows of an operator's process are written as what blocks, like the tests whose rigs they use;
`blocking` makes scripts of them.
"""

import asyncio
import functools
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hack.measuring.faults.table import Turn
from tests.cluster import controlplane
from tests.cluster.cluster import Cluster
from tests.operator import operators
from tests.operator.operators import Rig

Raw = dict[str, Any]
Where = TypeVar("Where")


def blocking(script: Callable[[Turn, Where], None]) -> Callable[[Turn, Where], Awaitable[None]]:
    """A script in a thread of its own."""

    @functools.wraps(script)
    def called(turn: Turn, where: Where) -> Awaitable[None]:
        return asyncio.to_thread(script, turn, where)

    return called


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster without nodes."""

    cluster: Cluster
    folder: Path

    @contextmanager
    def home(self) -> Iterator[Rig]:
        """For operators of one run, which end with it, and a namespace for their instances."""
        with (
            operators.granted(self.cluster, self.folder) as found,
            operators.in_a_namespace(found) as rig,
        ):
            yield rig

    @contextmanager
    def namespace(self, prefix: str = "fleet") -> Iterator[str]:
        """One for a run."""
        name = self.cluster.namespace(prefix)
        yield name
        self.cluster.delete(operators.namespace(name))


@asynccontextmanager
async def clustered() -> AsyncIterator[Site]:
    """With our CRDs; nothing of ours runs."""
    with ExitStack() as stack:
        path = stack.enter_context(tempfile.TemporaryDirectory(prefix="faults-"))
        running = controlplane.ControlPlane(Path(path, "cluster"))
        cluster = Cluster((await asyncio.to_thread(stack.enter_context, running)).folder)
        cluster.install_crds()
        yield Site(cluster, Path(path))


@asynccontextmanager
async def operated() -> AsyncIterator[Rig]:
    """With an operator, for namespaces whose names begin as its rig says."""
    async with clustered() as site:
        with operators.granted(site.cluster, site.folder) as rig:
            rig.start(f"--watch-namespaces={rig.prefix}-*")
            yield rig


@contextmanager
def provisioned(operated: Rig, **spec: Any) -> Iterator[Rig]:
    """An instance in a namespace of its own, which is gone afterwards."""
    with operators.in_a_namespace(operated) as rig:
        rig.configure(**spec)
        rig.until_provisioned()
        yield rig
        remove(rig)


def remove(rig: Rig, name: str = "contour") -> float:
    """Deletes the configuration; the seconds until it is gone."""
    rig.cluster.delete(rig.configuration(name))
    return rig.until(lambda: rig.is_gone(rig.configuration(name)))


def merge(cluster: Cluster, obj: Raw, change: Raw, manager: str = "kubectl-edit") -> Raw:
    """A JSON merge patch, as somebody else."""
    path = cluster.path(obj)
    media = "application/merge-patch+json"
    return cluster.ask("PATCH", path, change, media, fieldManager=manager)


def essence(obj: Raw) -> Raw:
    """What people write of an object."""
    return {key: it for key, it in obj.items() if key not in {"metadata", "status"}}
