"""F66 to F68: an instance is removed while no operator runs, with parts gone, or against errors.

Nothing is left of the operator's children nor of the fleet, and nothing is stuck.
"""

import functools
import itertools
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from contour.infrastructure import desired as fleet_desired
from hack.measuring.faults.table import Limit, Turn, fault
from hack.measuring.operating import stage
from hack.measuring.operating.stage import Site, blocking, clustered, operated
from provisioning.ownership import Owner
from tests.cluster import controlplane
from tests.cluster.cluster import OURS, RefusedError
from tests.contour.infrastructure import crash_harness
from tests.contour.infrastructure import rig as fleets
from tests.operator import operators
from tests.operator.operators import Rig
from tests.operator.proxy import Proxy, Request

Raw = dict[str, Any]

GONE, LEFT = Limit("s", 20), Limit("", 0)
MANAGED = {"networkPublishing": {"type": "ClusterIPService"}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "contourconfigurations.projectcontour.io"},
}


@fault("f66", clustered, patience=120, gone=GONE, left=LEFT)
@blocking
def removed_while_no_operator_runs(turn: Turn, site: Site) -> None:
    """The operator ends or is killed, the configuration is deleted, another one starts."""
    with site.home() as rig:
        operator = rig.start()
        _provision(turn, rig)
        operator.stop(turn.chance.choice((signal.SIGTERM, signal.SIGKILL)))
        rig.operators.clear()
        if turn.chance.random() < 0.3:
            rig.configure(contour={"replicas": 5}, envoy=MANAGED)
        rig.cluster.delete(rig.configuration())
        turn.prove("waits", rig.cluster.get(rig.configuration())["metadata"]["deletionTimestamp"])
        _remove_some(turn.chance, rig)
        rig.start()
        turn.figures["gone"] = rig.until(lambda: rig.is_gone(rig.configuration()))
        turn.figures["left"] = len(rig.children())


@fault("f67", operated, patience=120, gone=GONE, left=LEFT)
@blocking
def removed_with_parts_gone(turn: Turn, site: Rig) -> None:
    """Children or a watched namespace are gone, its namespace goes, or everything at once."""
    with operators.in_a_namespace(site) as rig:
        watched = rig.cluster.namespace("watched")
        _provision(turn, rig, watchNamespaces=[watched])
        ways = turn.chance.sample(_WAYS, turn.chance.randint(1, len(_WAYS)))
        turn.prove("ways", ways)
        if "watched" in ways:
            rig.cluster.delete(operators.namespace(watched))
        if "namespace" in ways:
            rig.cluster.delete(operators.namespace(rig.namespace))
        start = time.monotonic()
        _deleted(rig, rig.configuration())
        if "children" in ways:
            _remove_some(turn.chance, rig, 1.0)
        rig.until(lambda: rig.is_gone(rig.configuration()))
        turn.figures["gone"] = time.monotonic() - start
        turn.figures["left"] = len(rig.children()) if "namespace" not in ways else 0
        if "namespace" in ways:
            rig.until(lambda: not rig.children())
        _deleted(rig, operators.namespace(watched))


_WAYS = ("children", "namespace", "watched")


@fault("f67-crd", operated, patience=120, gone=GONE, left=LEFT, back=Limit("s", 20))
@blocking
def crd_removed(turn: Turn, site: Rig) -> None:
    """The CRD is deleted with a configuration of it; when it is there again, all goes on."""
    with operators.in_a_namespace(site) as rig:
        _provision(turn, rig)
        rig.cluster.delete(CRD)
        turn.figures["gone"] = rig.until(lambda: rig.is_gone(CRD))
        turn.figures["left"] = len(rig.children())
        turn.prove("the CRD is gone", rig.is_gone(CRD))
        rig.cluster.install_crds(OURS)
        rig.configure()
        turn.figures["back"] = rig.until_provisioned()
        stage.remove(rig)


@fault("f68", clustered, patience=120, gone=Limit("s", 40), left=LEFT)
@blocking
def deletions_answered_with_errors(turn: Turn, site: Site) -> None:
    """500 at any deletion: once, several times in a row, or at random."""
    proxy = Proxy(site.cluster)
    with site.home() as rig, proxy.running():
        rig.start(proxy=proxy)
        _provision(turn, rig)
        refused: list[str] = []
        proxy.refuse = functools.partial(_refuses, _chosen(turn.chance), refused)
        turn.figures["gone"] = stage.remove(rig)
        turn.prove("refused", refused)
        turn.figures["left"] = len(rig.children())


@fault("f68-fleet", clustered, patience=120, gone=Limit("s", 40), left=LEFT)
async def deletions_of_a_fleet_answered_with_errors(turn: Turn, site: Site) -> None:
    """Likewise for the fleet of a Gateway that is gone, which its leader removes."""
    proxy = Proxy(site.cluster)
    with site.namespace() as namespace, proxy.running():
        rig = crash_harness.installed(site.cluster, namespace)
        await rig.live(rig.own, crash_harness.kept(rig.own))
        turn.prove("made", len(rig.made(rig.own)) >= 6)
        token = site.cluster.token(namespace, "leader")
        controlplane.write_kubeconfig(
            Path(rig.config), proxy.url, site.cluster.authority, token, namespace
        )
        refused: list[str] = []
        proxy.refuse = functools.partial(_refuses, _chosen(turn.chance, 3), refused)
        start = time.monotonic()
        await rig.live(rig.own, crash_harness.removed)
        await crash_harness.until_gone(rig, rig.own)
        turn.figures["gone"] = time.monotonic() - start
        turn.prove("refused", refused)
        turn.figures["left"] = len(rig.made(rig.own))


def _chosen(chance: Random, last: int = 11) -> Callable[[], bool]:
    """Which of the deletions are refused."""
    first, number, is_random = chance.randint(0, last), chance.randint(1, 4), chance.random() < 0.4
    count = itertools.count()
    refused = range(first, first + number)

    def is_next_refused() -> bool:
        at = next(count)
        return at < 40 and (at == first or (chance.random() < 0.3 if is_random else at in refused))

    return is_next_refused


def _refuses(is_next_refused: Callable[[], bool], refused: list[str], request: Request) -> bool:
    if request.method != "DELETE" or not is_next_refused():
        return False
    refused.append(request.path)
    return True


def _provision(turn: Turn, rig: Rig, **contour: Any) -> None:
    """An instance with a fleet that it has made."""
    rig.configure(contour=contour, envoy=MANAGED)
    rig.until_provisioned()
    for it in _fleet(rig):
        rig.cluster.apply(it, manager="contour")
    turn.prove("children", len(rig.children()) >= 15)


def _fleet(rig: Rig) -> Iterator[Raw]:
    """The documents that its leader applies."""
    release = fleet_desired.Release(Owner(rig.namespace, "contour"))
    yield from fleet_desired.documents(release, fleets.SHARED, "contour")


def _remove_some(chance: Random, rig: Rig, share: float = 0.0) -> None:
    """What somebody has removed meanwhile."""
    share = share or chance.choice((0.0, 0.3, 1.0))
    for it in rig.children().values():
        if chance.random() < share:
            _deleted(rig, it)


def _deleted(rig: Rig, obj: Raw) -> None:
    """Unless it is gone already."""
    try:
        rig.cluster.delete(obj)
    except RefusedError as error:
        if error.code != 404:
            raise
